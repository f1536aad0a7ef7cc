package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// entry is a path of the workspace that a rule may read: its name in it, free of links and dots.
type entry struct {
	root *os.Root
	name string
}

func (e entry) close() { e.root.Close() }

// find follows a path to what it names, and checks both the path as written and where it leads
// against what is allowed. Whole tells to follow a link at its end.
func (s *source) find(ctx context.Context, kind, written string, whole bool) (entry, error) {
	if written == "" || strings.ContainsRune(written, 0) {
		return entry{}, absent("%s: needs a path", kind)
	}
	if s.opts.Workspace == "" {
		return entry{}, absent("there is no workspace")
	}
	dir, err := filepath.EvalSymlinks(s.opts.Workspace)
	if err != nil {
		return entry{}, absent("the workspace can't be opened")
	}
	name, err := s.relative(written, dir)
	if err != nil {
		return entry{}, err
	}
	if !s.allowed(kind + ":" + name) {
		return entry{}, notAllowed(kind + ":" + name)
	}
	at := Real(ctx, name, dir, Options{Root: dir, Search: -1})
	real, inside := at.Entry, at.EntryInside
	if whole {
		real, inside = at.Real, at.Inside
	}
	switch {
	case real == "":
		return entry{}, absent("%s leads nowhere (%s)", cut(name, 200), at.Kernel)
	case !inside:
		return entry{}, absent("%s leads out of the workspace", cut(name, 200))
	}
	led := strings.TrimPrefix(strings.TrimPrefix(real, strings.TrimSuffix(dir, "/")), "/")
	if led == "" {
		led = "."
	}
	if led != name && !s.allowed(kind+":"+led) {
		return entry{}, absent("%s leads to %s, and facts.allow doesn't include that", cut(name, 200), cut(led, 200))
	}
	if s.private(led) {
		return entry{}, absent("%s is agentd's own", cut(led, 200))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return entry{}, absent("the workspace can't be opened")
	}
	return entry{root, led}, nil
}

// relative is a path without dots, as seen from the workspace. Dots are taken off the text, before
// links, so that what a pattern is held against is what is opened.
func (s *source) relative(written, dir string) (string, error) {
	name := path.Clean(written)
	if path.IsAbs(name) {
		name = ""
		for _, d := range []string{path.Clean(s.opts.Workspace), dir} {
			if path.Clean(written) == d {
				name = "."
			} else if rest, ok := strings.CutPrefix(path.Clean(written), strings.TrimSuffix(d, "/")+"/"); ok {
				name = rest
			}
		}
	}
	if name == "" || name == ".." || strings.HasPrefix(name, "../") {
		return "", absent("%s is outside of the workspace", cut(written, 200))
	}
	return name, nil
}

// private tells whether a name lies in a folder that is never read. Case doesn't count, as some file
// systems don't tell it apart.
func (s *source) private(name string) bool {
	return slices.ContainsFunc(s.opts.Private, func(p string) bool {
		p = path.Clean(p)
		return len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) && (len(name) == len(p) || name[len(p)] == '/')
	})
}

func (s *source) file(ctx context.Context, written string) (payload.Value, error) {
	e, err := s.find(ctx, "file", written, true)
	if err != nil {
		return payload.Value{}, err
	}
	defer e.close()
	shown := cut(e.name, 200)
	info, err := e.root.Lstat(e.name)
	if err != nil {
		return payload.Value{}, unreadable(shown, err)
	}
	if err := ordinary(shown, info); err != nil {
		return payload.Value{}, err
	}
	f, err := e.root.OpenFile(e.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return payload.Value{}, unreadable(shown, err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return payload.Value{}, unreadable(shown, err)
	}
	if err := ordinary(shown, opened); err != nil {
		return payload.Value{}, err
	}
	if !os.SameFile(info, opened) {
		return payload.Value{}, absent("%s changed while it was looked at", shown)
	}
	text, err := readUpTo(ctx, f, s.opts.MaxBytes)
	switch {
	case errors.Is(err, errTooLarge):
		return payload.Value{}, absent("%s has more than %d bytes, and a fact at most that", shown, s.opts.MaxBytes)
	case ctx.Err() != nil:
		return payload.Value{}, ctx.Err()
	case err != nil:
		return payload.Value{}, unreadable(shown, err)
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return payload.Value{}, absent("%s is no text", shown)
	}
	return payload.NewString(string(text)), nil
}

func ordinary(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return absent("%s is a folder", name)
	case !info.Mode().IsRegular():
		return absent("%s is no ordinary file", name)
	}
	return nil
}

var errTooLarge = errors.New("too large")

// readUpTo reads all of a file, piece by piece so that a deadline counts.
func readUpTo(ctx context.Context, f io.Reader, most int) ([]byte, error) {
	var text []byte
	buf := make([]byte, 64<<10)
	for ctx.Err() == nil {
		n, err := f.Read(buf)
		if text = append(text, buf[:n]...); len(text) > most {
			return nil, errTooLarge
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

func unreadable(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent("%s doesn't exist", name)
	case errors.Is(err, fs.ErrPermission):
		return absent("%s can't be read because its permissions don't allow it", name)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return absent("%s can't be read: %s", name, short(err.Error()))
}

// stat tells what an entry is, the link itself and not what it leads to. Times aren't told: the same
// tree has others on every machine, and a rule that is tried on recorded facts should see what it
// would see again.
func (s *source) stat(ctx context.Context, written string) (payload.Value, error) {
	e, err := s.find(ctx, "stat", written, false)
	if err != nil {
		return payload.Value{}, err
	}
	defer e.close()
	info, err := e.root.Lstat(e.name)
	if errors.Is(err, fs.ErrNotExist) {
		null := payload.NewNull()
		return payload.NewObject(field("exists", payload.NewBool(false)), field("kind", null), field("size", null), field("mode", null)), nil
	}
	if err != nil {
		return payload.Value{}, unreadable(cut(e.name, 200), err)
	}
	kind, size := "other", int64(0)
	switch mode := info.Mode(); {
	case mode.IsRegular():
		kind, size = "file", info.Size()
	case mode.IsDir():
		kind = "folder"
	case mode&fs.ModeSymlink != 0:
		kind = "link"
	}
	return payload.NewObject(field("exists", payload.NewBool(true)), field("kind", payload.NewString(kind)), field("size", number(size)),
		field("mode", payload.NewString(fmt.Sprintf("%04o", info.Mode().Perm())))), nil
}
