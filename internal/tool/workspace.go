package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

var (
	// ErrOutside is wrapped by errors about paths that lead out of the workspace.
	ErrOutside = errors.New("outside of the workspace")

	// ErrProtected is wrapped by errors about paths that file tools must leave alone.
	ErrProtected = errors.New("protected")
)

// maxLinks is how many symbolic links one path may take.
const maxLinks = 40

// workspace is the folder that tools are confined to.
type workspace struct {
	*os.Root
	dir                string   // as commands see it, links resolved
	spellings          []string // absolute names that dir goes by
	protected, private []string

	writing sync.Mutex // held from comparing a base to replacing it
}

func openWorkspace(dir string, opts Options) (*workspace, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s can't be opened: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s can't be opened: %w", dir, err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("the workspace %s can't be opened: %w", dir, err)
	}
	ws := &workspace{Root: root, dir: real, spellings: []string{given, real}, protected: opts.Protected, private: opts.Private}
	if ws.protected == nil {
		ws.protected = []string{".agentd"}
	}
	if ws.private == nil {
		ws.private = []string{".agentd/state"}
	}
	return ws, nil
}

// resolve turns a path that a model wrote into the path, within the workspace, of what it stands
// for: relative, slash-separated, and with no symbolic link in it, so that a rule about the path is
// a rule about the file. What doesn't exist yet keeps its name. The last links are taken as well.
func (ws *workspace) resolve(given string) (string, error) {
	if given == "" {
		return "", errors.New("the path is empty: name a file of the workspace")
	}
	if strings.ContainsRune(given, 0) {
		return "", fmt.Errorf("the path %q holds a zero byte", given)
	}
	todo, err := ws.relative(given)
	if err != nil {
		return "", err
	}
	rest := strings.Split(todo, "/")
	var done []string
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", fmt.Errorf("%q is %w: only files within %s can be used", given, ErrOutside, ws.dir)
			}
			done = done[:len(done)-1]
			continue
		}
		here := path.Join(path.Join(done...), name)
		info, err := ws.Lstat(here)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, name) // the use of the path will say what is wrong with it
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%q leads through more than %d symbolic links", given, maxLinks)
		}
		target, err := ws.Readlink(here)
		if err != nil {
			return "", fmt.Errorf("the symbolic link %s can't be read: %w", here, err)
		}
		if filepath.IsAbs(target) {
			done = done[:0]
		}
		if target, err = ws.relative(target); err != nil {
			return "", fmt.Errorf("%q leads through the symbolic link %s, which points %w", given, here, ErrOutside)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return path.Join(done...), nil
}

// relative takes an absolute name of the workspace off a path.
func (ws *workspace) relative(given string) (string, error) {
	if !filepath.IsAbs(given) {
		return filepath.ToSlash(given), nil
	}
	for _, dir := range ws.spellings {
		if given == dir {
			return ".", nil
		}
		if inside, ok := strings.CutPrefix(given, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator)); ok {
			return filepath.ToSlash(inside), nil
		}
	}
	return "", fmt.Errorf("%q is %w: only files within %s can be used", given, ErrOutside, ws.dir)
}

// resolveToRead is resolve for tools that show what they find.
func (ws *workspace) resolveToRead(given string) (string, error) {
	real, err := ws.resolve(given)
	if err == nil && ws.under(real, ws.private) != "" {
		return "", fmt.Errorf("%s is %w: %s holds agentd's own state and is not shown", given, ErrProtected, ws.under(real, ws.private))
	}
	return real, err
}

// resolveToWrite is resolve for tools that change files.
func (ws *workspace) resolveToWrite(given string) (string, error) {
	real, err := ws.resolve(given)
	switch {
	case err != nil:
		return "", err
	case real == ".":
		return "", fmt.Errorf("%q is the workspace itself: name a file in it", given)
	case ws.under(real, ws.protected) != "":
		return "", fmt.Errorf("%s is %w: %s decides what an agent may do, so the agent's file tools don't write there; ask the user to change it", given, ErrProtected, ws.under(real, ws.protected))
	case strings.HasSuffix(given, "/"):
		return "", fmt.Errorf("%q names a folder: name a file", given)
	}
	return real, nil
}

// under returns the entry of list that a resolved path lies in, or "": by name, and by identity, as
// a folder may be mounted twice.
func (ws *workspace) under(real string, list []string) string {
	if entry := named(real, list); entry != "" {
		return entry
	}
	for _, entry := range list {
		guarded, err := ws.Stat(path.Clean(filepath.ToSlash(entry)))
		if err != nil {
			continue
		}
		for here := real; here != "."; here = path.Dir(here) {
			if info, err := ws.Stat(here); err == nil && os.SameFile(info, guarded) {
				return entry
			}
		}
	}
	return ""
}

// named is under by name alone. Case doesn't count, as some file systems don't tell it apart.
func named(real string, list []string) string {
	parts := strings.Split(real, "/")
	for _, entry := range list {
		want := strings.Split(path.Clean(filepath.ToSlash(entry)), "/")
		if len(parts) >= len(want) && strings.EqualFold(strings.Join(parts[:len(want)], "/"), strings.Join(want, "/")) {
			return entry
		}
	}
	return ""
}

// openFile opens a regular file to read.
func (ws *workspace) openFile(real string) (*os.File, fs.FileInfo, error) {
	info, err := ws.Lstat(real)
	if err != nil {
		return nil, nil, ws.because(real, err)
	}
	if err := regular(real, info); err != nil {
		return nil, nil, err
	}
	f, err := ws.Open(real)
	if err != nil {
		return nil, nil, ws.because(real, err)
	}
	return f, info, nil
}

func regular(real string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder: list_files shows what is in it", real)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no ordinary file (%v) and is left alone", real, info.Mode().Type())
	}
	return nil
}

// because words a failure of the file system.
func (ws *workspace) because(real string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s doesn't exist: list_files shows what there is: %w", real, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s can't be used because its permissions don't allow it: %w", real, fs.ErrPermission)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s can't be used: %w", real, err)
}

// syncDir makes renames and creations in a folder last, where the system can be told to.
func (ws *workspace) syncDir(real string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := ws.Open(real)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
