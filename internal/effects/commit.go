package effects

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

const (
	keyTrailer  = "Agentd-Key"
	keySearched = 2000 // commits that are looked at for a key
	maxPaths    = 1000
)

func checkCommit(a payload.Value) error {
	paths, all := a.Get("paths"), a.Get("all").IsTrue()
	switch {
	case all && paths.Exists():
		return errors.New("it takes paths or all, not both")
	case !all && paths.Len() == 0:
		return errors.New("it doesn't say what to commit: give paths, or all")
	case paths.Len() > maxPaths:
		return fmt.Errorf("paths has %d items, and may have %d", paths.Len(), maxPaths)
	case strings.ContainsRune(a.Get("message").Text(), 0) || strings.TrimSpace(a.Get("message").Text()) == "":
		return errors.New("message is no text")
	}
	for _, p := range paths.Strings() {
		clean := path.Clean(p)
		switch {
		case p == "" || strings.ContainsRune(p, 0):
			return errors.New("paths holds one that is none")
		case path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../"):
			return fmt.Errorf("the path %.200q isn't one of the workspace: write it relative to that", p)
		}
	}
	return nil
}

// commit commits files as they are in the work tree, and nothing else that is staged: {committed,
// commit}, the former false if they don't differ. The repository's hooks run. If the commit fails,
// the index is as it was.
func (r *Registry) commit(ctx context.Context, key string, a payload.Value) result {
	return r.inRepository(ctx, func(ctx context.Context, g *repository) result {
		if hash, err := g.committed(ctx, key); err != nil {
			return ended(ctx, err)
		} else if hash != "" {
			return success(flag("committed", true), text("commit", hash))
		}
		specs := []string{"."}
		if !a.Get("all").IsTrue() {
			specs = nil
			for _, p := range a.Get("paths").Strings() {
				specs = append(specs, ":(literal)"+path.Clean(p))
			}
		}
		specs = append(specs, g.without()...)
		changes, err := g.plumb(ctx, append([]string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--"}, specs...)...)
		if err != nil {
			return ended(ctx, err)
		}
		if changes == "" {
			return success(flag("committed", false))
		}
		return g.commitFiles(ctx, key, a.Get("message").Text(), specs, untracked(changes))
	})
}

func (g *repository) commitFiles(ctx context.Context, key, message string, specs, fresh []string) result {
	if err := g.announce(ctx, fresh); err != nil {
		g.forget(ctx, fresh)
		return ended(ctx, err)
	}
	args := []string{"commit", "--quiet", "--only", "--cleanup=whitespace", "-m", message, "--trailer", keyTrailer + ": " + headerKey(key), "--"}
	_, failed := g.git(ctx, nil, append(args, specs...)...)
	later, cancel := look(ctx)
	defer cancel()
	// Also of a git that failed or was ended: it may have come so far, and then only a hook after the
	// commit did.
	hash, err := g.committed(later, key)
	if err == nil && hash == "" && failed == nil { // a hook of the repository took the key out
		hash, err = g.head(later)
	}
	switch {
	case err != nil:
		return failure(operation.UnknownStat, fmt.Errorf("git was asked to commit, and whether it did can't be seen: %s", short(err.Error())))
	case hash != "":
		return success(flag("committed", true), text("commit", hash))
	}
	g.forget(ctx, fresh)
	return ended(ctx, failed)
}

// untracked are the files that git doesn't know yet, by their names from the top.
func untracked(status string) (names []string) {
	for line := range strings.SplitSeq(status, "\x00") {
		if name, ok := strings.CutPrefix(line, "?? "); ok {
			names = append(names, name)
		}
	}
	return names
}

// announce makes git know files whose content is still to come: it commits known ones only.
func (g *repository) announce(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var list strings.Builder
	for _, name := range names {
		list.WriteString(":(top,literal)" + name + "\x00")
	}
	_, err := g.git(ctx, []byte(list.String()), append(slices.Clone(quiet), "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")...)
	return err
}

// forget takes announce back.
func (g *repository) forget(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	later, cancel := look(ctx)
	defer cancel()
	at := *g
	at.dir = g.top
	// Where that fails, say because somebody holds the index, the names stay announced: git status
	// shows them as new files, and nothing is lost.
	_, _ = at.git(later, []byte(strings.Join(names, "\x00")+"\x00"), append(slices.Clone(quiet), "update-index", "-z", "--force-remove", "--stdin")...)
}

// committed finds the commit that was made under a key on any branch, "" if there is none among the
// last.
func (g *repository) committed(ctx context.Context, key string) (string, error) {
	head, err := g.head(ctx)
	if head == "" || err != nil {
		return "", err
	}
	out, err := g.plumb(ctx, "log", fmt.Sprintf("--max-count=%d", keySearched), "--format=%H%x1f%(trailers:key="+keyTrailer+",valueonly,unfold,separator=%x1f)%x1e", "--branches", "HEAD", "--")
	if err != nil {
		return "", err
	}
	want := headerKey(key)
	for record := range strings.SplitSeq(out, "\x1e") {
		parts := strings.Split(strings.TrimSpace(record), "\x1f")
		if slices.Contains(parts[1:], want) {
			return parts[0], nil
		}
	}
	return "", nil
}
