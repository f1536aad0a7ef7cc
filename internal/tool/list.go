package tool

import (
	"context"
	"io/fs"
	"path"

	"agentd/hookpoints/payload"
)

const (
	maxEntries   = 2000
	defaultDepth = 2
)

type listFiles struct{ ws *workspace }

func (t *listFiles) Spec() Spec {
	return Spec{
		Name: "list_files", ID: "list_files", Kind: KindRead, ReadOnly: true, Idempotent: true,
		Description: "Lists a folder of the workspace, sorted, each name relative to that folder. Folders end in /, symbolic links in @; what is inside .git isn't shown.",
		Parameters: parameters(0,
			stringParam("path", "the folder, relative to the workspace; default the workspace"),
			integerParam("depth", "how many levels of folders to show; default 2", atLeast(1), atMost(50))),
	}
}

// Call gives {path, entries} and, if there are more than 2,000 entries, cut.
func (t *listFiles) Call(ctx context.Context, call Invocation) Result {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	given := "."
	if p := call.Arguments.Get("path"); p.Exists() {
		given = p.Text()
	}
	real, err := t.ws.resolveToRead(given)
	if err != nil {
		return failure(Failed, err)
	}
	depth := int(intArgument(call.Arguments, "depth", defaultDepth))
	entries := []payload.Value{}
	cut := false
	err = t.ws.walk(ctx, real, func(name string, d fs.DirEntry, level int) error {
		if len(entries) == maxEntries {
			cut = true
			return fs.SkipAll
		}
		shown := name
		switch {
		case d.IsDir():
			shown += "/"
		case d.Type()&fs.ModeSymlink != 0:
			shown += "@"
		}
		entries = append(entries, payload.NewString(shown))
		if d.IsDir() && (level >= depth || d.Name() == ".git") {
			return fs.SkipDir
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case err != nil:
		return failure(Failed, err)
	}
	fields := []payload.Field{text("path", real), {Name: "entries", Value: payload.NewArray(entries)}}
	if cut {
		fields = append(fields, flag("cut", true), text("note", "there is more: list a folder further down, or with a smaller depth"))
	}
	return success(fields...)
}

// walk visits what is below a folder in the order of names, depth first, without following links.
// Names are relative to the folder and levels count from 1. Private folders and folders that can't
// be read are passed over.
func (ws *workspace) walk(ctx context.Context, dir string, visit func(name string, d fs.DirEntry, level int) error) error {
	info, err := ws.Lstat(dir)
	if err != nil {
		return ws.because(dir, err)
	}
	if !info.IsDir() {
		return errNotFolder{dir}
	}
	err = ws.walkDir(ctx, dir, "", 1, visit)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

type errNotFolder struct{ path string }

func (e errNotFolder) Error() string {
	return e.path + " is no folder: read_file shows what is in a file"
}

func (ws *workspace) walkDir(ctx context.Context, dir, prefix string, level int, visit func(string, fs.DirEntry, int) error) error {
	entries, err := fs.ReadDir(ws.FS(), dir)
	if err != nil && level == 1 {
		return ws.because(dir, err)
	}
	for _, d := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		real, name := path.Join(dir, d.Name()), path.Join(prefix, d.Name())
		if named(real, ws.private) != "" {
			continue
		}
		switch err := visit(name, d, level); {
		case err == fs.SkipDir:
			continue
		case err != nil:
			return err
		}
		if d.IsDir() {
			if err := ws.walkDir(ctx, real, name, level+1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
