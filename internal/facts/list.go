package facts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"agentd/builtins"
	"agentd/hookpoints/payload"
)

const (
	maxListed = 10_000  // names in one list
	maxWalked = 200_000 // entries that are looked at for one
)

// files lists the files of the workspace that a glob matches, links among them, without following
// any. A list that would be cut short is absent, as a rule can't tell what it doesn't show.
func (s *source) files(ctx context.Context, glob string) (payload.Value, error) {
	key := "files:" + glob
	if glob == "" {
		return payload.Value{}, absent("files: needs a glob")
	}
	if s.opts.Workspace == "" {
		return payload.Value{}, absent("there is no workspace")
	}
	if !s.allowed(key) {
		return payload.Value{}, notAllowed(key)
	}
	match, err := builtins.Glob(glob)
	if err != nil {
		return payload.Value{}, absent("%s", short(err.Error()))
	}
	root, err := os.OpenRoot(s.opts.Workspace)
	if err != nil {
		return payload.Value{}, absent("the workspace can't be opened")
	}
	defer root.Close()
	l := listing{source: s, match: match, whole: slices.Contains(s.patterns, key)}
	err = fs.WalkDir(root.FS(), beginning(glob), func(name string, d fs.DirEntry, err error) error { return l.visit(ctx, name, d, err) })
	if err != nil {
		return payload.Value{}, err
	}
	slices.Sort(l.found)
	return payload.NewStrings(l.found), nil
}

// beginning is the folder that all names which a glob matches lie in.
func beginning(glob string) string {
	end := strings.IndexAny(glob, `*?[{\`)
	if end < 0 {
		end = len(glob)
	}
	if slash := strings.LastIndexByte(glob[:end], '/'); slash > 0 && fs.ValidPath(glob[:slash]) {
		return glob[:slash]
	}
	return "."
}

type listing struct {
	*source
	match  func(string) bool
	whole  bool // the very glob is allowed, and so is all that it matches
	found  []string
	walked int
}

func (l *listing) visit(ctx context.Context, name string, d fs.DirEntry, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if name == "." || !errors.Is(err, fs.ErrNotExist) {
			return unreadable(cut(name, 200), err)
		}
		return nil // it went while we looked, or the glob begins in a folder that isn't there
	}
	if l.walked++; l.walked > maxWalked {
		return absent("there are more than %d files to look at", maxWalked)
	}
	if d.IsDir() {
		if name == ".git" || strings.HasSuffix(name, "/.git") || l.private(name) {
			return fs.SkipDir
		}
		return nil
	}
	if !l.match(name) {
		return nil
	}
	if !l.whole && !l.allowed("files:"+name) {
		return absent("it also matches %s, and facts.allow doesn't include that", cut(name, 200))
	}
	if l.found = append(l.found, strings.ToValidUTF8(name, "\ufffd")); len(l.found) > maxListed {
		return absent("it matches more than %d files", maxListed)
	}
	return nil
}
