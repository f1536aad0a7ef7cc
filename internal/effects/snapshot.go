package effects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// snapshotRefs is where snapshots are kept: commits that no branch knows, which git doesn't collect.
const snapshotRefs = "refs/agentd/snapshots/"

var snapshotID = regexp.MustCompile(`^[a-z][0-9a-f]{16}$`)

// createSnapshot keeps the workspace's files as they are, untracked ones too, ignored ones not: {id,
// commit}. Neither the work tree nor the index changes.
func (r *Registry) createSnapshot(ctx context.Context, key string, a payload.Value) result {
	return r.inRepository(ctx, func(ctx context.Context, g *repository) result {
		id := "s" + digest(key)[:16]
		had, err := g.resolve(ctx, snapshotRefs+id+"^{commit}")
		if err != nil {
			return ended(ctx, err)
		}
		if had != "" {
			return success(text("id", id), text("commit", had))
		}
		now, err := g.filesNow(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		defer now.close()
		title := "snapshot"
		if label := strings.TrimSpace(a.Get("label").Text()); label != "" {
			title += ": " + strings.ReplaceAll(label, "\x00", "")
		}
		commit, err := g.keep(ctx, func(string) string { return id }, now.tree, title+"\n\n"+keyTrailer+": "+headerKey(key))
		if err != nil {
			later, cancel := look(ctx)
			defer cancel()
			if had, lost := g.resolve(later, snapshotRefs+id+"^{commit}"); lost != nil {
				return failure(operation.UnknownStat, errors.New("git was ended, and whether it kept the snapshot can't be seen"))
			} else if had == "" {
				return ended(ctx, err)
			}
		}
		return success(text("id", id), text("commit", commit))
	})
}

// files is the workspace as a tree of git, with an index of its own that knows it.
type files struct {
	*repository // with that index
	tree        string
	tmp         string
}

func (f *files) close() { os.RemoveAll(f.tmp) }

// filesNow writes the workspace's files into git's objects. It begins with a copy of the user's
// index, so that what hasn't changed needn't be read.
func (g *repository) filesNow(ctx context.Context) (_ *files, err error) {
	index, err := g.line(ctx, "rev-parse", "--git-path", "index")
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(index) {
		index = filepath.Join(g.dir, index)
	}
	tmp, err := os.MkdirTemp("", "agentd-index-")
	if err != nil {
		return nil, err
	}
	own := *g
	own.env = append(own.env[:len(own.env):len(own.env)], "GIT_INDEX_FILE="+filepath.Join(tmp, "index"))
	f := &files{repository: &own, tmp: tmp}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	text, err := os.ReadFile(index)
	if err == nil {
		err = os.WriteFile(filepath.Join(tmp, "index"), text, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the index can't be copied: %w", err)
	}
	specs := []string{"."}
	for _, p := range g.private() {
		ignored, err := f.ignored(ctx, p)
		if err != nil {
			return nil, err
		}
		if !ignored { // else add would complain about a name that it needn't be told
			specs = append(specs, ":(exclude,literal)"+p)
		}
	}
	if _, err := f.plumb(ctx, append([]string{"add", "--all", "--"}, specs...)...); err != nil {
		return nil, err
	}
	for _, p := range g.private() { // somebody may have committed it
		if _, err := f.plumb(ctx, "rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", ":(literal)"+p); err != nil {
			return nil, err
		}
	}
	f.tree, err = f.line(ctx, "write-tree")
	return f, err
}

func (g *repository) ignored(ctx context.Context, name string) (bool, error) {
	_, err := g.plumb(ctx, "check-ignore", "--quiet", "--no-index", "--", name)
	var said *gitError
	if errors.As(err, &said) && said.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// keep makes a commit of a tree under the id that is made of the commit.
func (g *repository) keep(ctx context.Context, id func(commit string) string, tree, message string) (commit string, err error) {
	own := *g
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		own.env = append(own.env[:len(own.env):len(own.env)], "GIT_"+who+"_NAME=agentd", "GIT_"+who+"_EMAIL=agentd@localhost")
	}
	args := []string{"commit-tree", tree, "-m", message}
	head, err := g.head(ctx)
	if err != nil {
		return "", err
	}
	if head != "" {
		args = append(args, "-p", head)
	}
	if commit, err = own.line(ctx, args...); err != nil {
		return "", err
	}
	_, err = own.plumb(ctx, "update-ref", snapshotRefs+id(commit), commit, "")
	return commit, err
}

func checkRestore(a payload.Value) error {
	if !snapshotID.MatchString(a.Get("id").Text()) {
		return fmt.Errorf("id %.50q isn't one that snapshot.create gave", a.Get("id").Text())
	}
	return nil
}

// restoreSnapshot makes the workspace's files what they were: {id, before, written, removed}. Files
// made since are removed, ignored ones aren't touched, and the index and HEAD stay. What there was is
// kept first, as the snapshot before. Where a file is in the way that this snapshot can't hold,
// because git ignores it, nothing is done.
func (r *Registry) restoreSnapshot(ctx context.Context, key string, a payload.Value) result {
	return r.inRepository(ctx, func(ctx context.Context, g *repository) result {
		id := a.Get("id").Text()
		commit, err := g.resolve(ctx, snapshotRefs+id+"^{commit}")
		if err == nil && commit == "" {
			err = fmt.Errorf("there is no snapshot %s in this repository", id)
		}
		if err != nil {
			return ended(ctx, err)
		}
		now, err := g.filesNow(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		defer now.close()
		then, err := now.asIn(ctx, commit)
		if err != nil {
			return ended(ctx, err)
		}
		c, err := g.between(ctx, now.tree, then)
		if err != nil {
			return ended(ctx, err)
		}
		if err := c.unhindered(g.top); err != nil {
			return failure(operation.Failed, err)
		}
		fields := []payload.Field{text("id", id), integer("written", int64(len(c.added)+c.changed)), integer("removed", int64(len(c.removed)))}
		if now.tree == then {
			return success(fields...)
		}
		var before string
		_, err = g.keep(ctx, func(commit string) string { before = "b" + commit[:16]; return before }, now.tree, "before restoring "+id+"\n\n"+keyTrailer+": "+headerKey(key))
		if err != nil {
			return ended(ctx, err)
		}
		fields = append(fields, text("before", before))
		if _, err := now.plumb(ctx, "read-tree", "-m", "-u", now.tree, then); err != nil {
			return g.halfway(ctx, err, now.tree, then, before, fields)
		}
		return success(fields...)
	})
}

// halfway looks how far a restoring came that failed or was ended.
func (g *repository) halfway(ctx context.Context, failed error, from, to, before string, fields []payload.Field) result {
	later, cancel := look(ctx)
	defer cancel()
	is, err := g.filesNow(later)
	if err != nil {
		return failure(operation.UnknownStat, fmt.Errorf("the restoring was cut off, and how far it came can't be seen; what there was is in snapshot %s", before))
	}
	defer is.close()
	switch is.tree {
	case to:
		return success(fields...)
	case from:
		return ended(ctx, failed)
	}
	status := ended(ctx, failed).status
	return failure(status, fmt.Errorf("only a part was restored; what there was is in snapshot %s: %s", before, short(failed.Error())), text("before", before))
}

// asIn is the tree now with the workspace's part of a commit: the rest of the repository stays.
func (f *files) asIn(ctx context.Context, commit string) (string, error) {
	part := strings.TrimSuffix(f.prefix, "/")
	if part == "" {
		return f.line(ctx, "rev-parse", "--verify", commit+"^{tree}")
	}
	own := *f.repository
	own.dir = f.top
	own.env = append(own.env[:len(own.env):len(own.env)], "GIT_INDEX_FILE="+filepath.Join(f.tmp, "then"))
	if _, err := own.plumb(ctx, "read-tree", f.tree); err != nil {
		return "", err
	}
	if _, err := own.plumb(ctx, "rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", ":(top,literal)"+part); err != nil {
		return "", err
	}
	entry, err := own.line(ctx, "ls-tree", "-d", "-z", "--full-tree", commit, "--", part)
	if err != nil {
		return "", err
	}
	if f := strings.Fields(entry); len(f) > 2 { // else the workspace was empty
		if _, err := own.plumb(ctx, "read-tree", "--prefix="+part+"/", f[2]); err != nil {
			return "", err
		}
	}
	return own.line(ctx, "write-tree")
}

// changes are what differs between two trees, by names from the top.
type changes struct {
	added   []string
	removed map[string]bool
	changed int
}

func (g *repository) between(ctx context.Context, from, to string) (c changes, err error) {
	out, err := g.plumb(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to)
	if err != nil {
		return c, err
	}
	c.removed = map[string]bool{}
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		switch name := parts[i+1]; parts[i] {
		case "A":
			c.added = append(c.added, name)
		case "D":
			c.removed[name] = true
		default:
			c.changed++
		}
	}
	return c, nil
}

// unhindered makes sure that nothing which isn't in the tree now lies where a file will be.
func (c changes) unhindered(top string) error {
	hindered := func(name string) error {
		return fmt.Errorf("git ignores %s, which is in the way and would be lost: move it away first", name)
	}
	for _, name := range c.added {
		gone := false // what lies above goes
		for i := 0; i < len(name) && !gone; i++ {
			if name[i] != '/' {
				continue
			}
			info, err := os.Lstat(filepath.Join(top, name[:i]))
			if err != nil {
				gone = true
			} else if !info.IsDir() {
				if gone = c.removed[name[:i]]; !gone {
					return hindered(name[:i])
				}
			}
		}
		if gone {
			continue
		}
		err := filepath.WalkDir(filepath.Join(top, name), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			rel, err := filepath.Rel(top, p)
			if err == nil && !d.IsDir() && !c.removed[filepath.ToSlash(rel)] {
				err = hindered(filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
