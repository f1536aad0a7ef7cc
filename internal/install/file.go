package install

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// reader reads files as they are before anything is changed. It keeps its first error.
type reader struct {
	q   Request
	err error
}

// file reads a file that may be missing. A link is followed: what it leads to is changed.
func (r *reader) file(path string) Change {
	c := Change{Path: path, mode: 0o644}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		c.Path = real
	} else if st, lerr := os.Lstat(path); lerr == nil && st.Mode()&fs.ModeSymlink != 0 {
		r.fail(fmt.Errorf("%s is a link that leads nowhere; remove it, or make what it leads to", path))
		return c
	} else if dir := filepath.Dir(path); dir != path { // as it will be found once it is there
		if real := r.folder(dir); real != "" {
			c.Path = filepath.Join(real, filepath.Base(path))
		}
	}
	st, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return c
	case err != nil:
		r.fail(err)
		return c
	case !st.Mode().IsRegular():
		r.fail(fmt.Errorf("%s is no file; move it away", c.Path))
		return c
	}
	c.mode = st.Mode().Perm()
	c.before, err = os.ReadFile(c.Path)
	if err == nil && c.before == nil {
		c.before = []byte{}
	}
	r.fail(err)
	c.after = c.before
	return c
}

// folder is where a folder is, links followed as far as it is there; "" if that can't be told.
func (r *reader) folder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if st, err := os.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		r.fail(fmt.Errorf("%s is a link that leads nowhere; remove it, or make what it leads to", dir))
		return ""
	}
	up := filepath.Dir(dir)
	if up == dir {
		return ""
	}
	if real := r.folder(up); real != "" {
		return filepath.Join(real, filepath.Base(dir))
	}
	return ""
}

// missing is the uppermost folder that has to be made so that a folder is there; "" if it is.
func missing(dir string) (top string) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return top
		}
		top = dir
	}
}

// exactly is a file of ours that has to be just so, or, with nil, gone. No link is followed there: what it leads to is
// somebody else's.
func (r *reader) exactly(path string, text []byte, mode fs.FileMode) Change {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		r.fail(fmt.Errorf("%s is a link, and agentd writes a file of its own there; remove it; nothing was changed", path))
		return Change{Path: path}
	}
	c := r.file(path)
	c.remode = c.before != nil && c.mode != mode && mode&0o077 == 0 // what is for its owner alone
	c.after, c.mode = text, mode
	return c
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// do makes a change, with a backup before it where one is named.
func (c Change) do() error {
	if c.Backup != "" {
		if err := writeWhole(c.Backup, c.before, 0o600); err != nil {
			return fmt.Errorf("the backup of %s: %w", c.Path, err)
		}
	}
	if now, err := os.ReadFile(c.Path); (err == nil) != (c.before != nil) || err == nil && string(now) != string(c.before) {
		return fmt.Errorf("%s was changed by somebody else meanwhile; try again", c.Path)
	}
	if c.after == nil {
		err := os.Remove(c.Path)
		for dir := filepath.Dir(c.Path); err == nil && c.folder != "" && inside(dir, c.folder) && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
		return err
	}
	return writeWhole(c.Path, c.after, c.mode)
}

// writeWhole replaces a file at once: whoever reads it sees all of the old or all of the new one, also after a
// power cut.
func writeWhole(path string, text []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, folderMode(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".agentd-install-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// folderMode is that of folders which have to be made for a file: only their owner looks into ours.
func folderMode(path string) fs.FileMode {
	switch filepath.Base(path) {
	case programName, argvName, bookName:
		return 0o700
	}
	if filepath.Base(filepath.Dir(path)) == "backup" {
		return 0o700
	}
	return 0o755
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
