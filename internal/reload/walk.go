package reload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"
)

// Limits of a set.
const (
	MaxFiles   = 4096
	MaxFolders = 1024
	MaxFile    = 1 << 20  // bytes
	MaxTotal   = 64 << 20 // bytes
)

// found is a file that counts or a folder, as it was when we came by.
type found struct {
	root int
	name string // below the root, with forward slashes
	path string
	info fs.FileInfo // of what a link leads to
}

func (f found) same(g found) bool {
	return f.root == g.root && f.name == g.name && os.SameFile(f.info, g.info) &&
		f.info.Size() == g.info.Size() && f.info.ModTime().Equal(g.info.ModTime())
}

// walker lists the files under the roots, and the folders whose changes matter.
type walker struct {
	files   []found
	listed  []found         // the folders that were looked into, in that order
	folders map[string]bool // to watch, by their real paths: a watch stays with what a link led to
}

// walk follows links. It returns what it found so far also with an error, so that the folders can be
// watched until the fault is mended.
func walk(roots []Root) (*walker, error) {
	w := &walker{folders: map[string]bool{}}
	var faults error
	for i, root := range roots {
		if err := w.root(i, root); err != nil && faults == nil {
			faults = err
		}
	}
	slices.SortFunc(w.files, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.name, b.name))
	})
	return w, faults
}

func (w *walker) root(index int, root Root) error {
	w.watchAbove(root.Dir)
	w.watchLinks(root.Dir)
	info, err := os.Stat(root.Dir)
	switch {
	case gone(err):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a folder", root.Dir)
	}
	real, err := filepath.EvalSymlinks(root.Dir)
	if err != nil {
		return ignoreGone(err)
	}
	w.watchAbove(real)
	return w.folder(index, root, "", real, nil)
}

// watchAbove adds the nearest folder above that exists: it sees dir made, removed and swapped.
func (w *walker) watchAbove(dir string) {
	for {
		above := filepath.Dir(dir)
		if real, err := filepath.EvalSymlinks(above); err == nil {
			w.folders[real] = true
			return
		}
		if above == dir {
			return
		}
		dir = above
	}
}

// watchLinks adds the folders of the links that the way to dir leads over, which may be swapped.
func (w *walker) watchLinks(dir string) {
	for at := dir; ; at = filepath.Dir(at) {
		above := filepath.Dir(at)
		if above == at {
			return
		}
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(above); err == nil {
			w.folders[real] = true
		}
	}
}

// folder lists one folder by its real path. above holds the real folders that it lies in, so that a
// link back to one of them ends there.
func (w *walker) folder(index int, root Root, rel, real string, above []string) error {
	if slices.Contains(above, real) {
		return nil
	}
	if len(w.listed) == MaxFolders {
		return fault(ErrTooMany, root, rel, fmt.Sprintf(": more than %d folders; leave out what holds no scripts", MaxFolders))
	}
	w.folders[real] = true
	info, err := os.Stat(real)
	if err != nil {
		return ignoreGone(err)
	}
	w.listed = append(w.listed, found{index, rel, real, info})
	entries, err := os.ReadDir(real)
	if err != nil {
		return ignoreGone(err)
	}
	above = append(above[:len(above):len(above)], real)
	var first error
	for _, e := range entries {
		if isDropping(e.Name()) {
			continue
		}
		if err := w.entry(index, root, path.Join(rel, e.Name()), filepath.Join(real, e.Name()), e, above); err != nil && first == nil {
			first = err
		}
		if errors.Is(first, ErrTooMany) {
			break
		}
	}
	return first
}

func (w *walker) entry(index int, root Root, rel, at string, e fs.DirEntry, above []string) error {
	if !utf8.ValidString(rel) {
		return fmt.Errorf("%q: the name is not UTF-8; rename it", at)
	}
	info, err := os.Stat(at)
	if err != nil {
		return ignoreGone(err) // also a link that leads nowhere, or to itself
	}
	isLink := e.Type()&fs.ModeSymlink != 0
	switch {
	case info.IsDir():
		if root.Descend != nil && !root.Descend(rel) {
			return nil
		}
		if isLink {
			if at, err = filepath.EvalSymlinks(at); err != nil {
				return ignoreGone(err)
			}
		}
		return w.folder(index, root, rel, at, above)
	case !info.Mode().IsRegular() || root.Match != nil && !root.Match(rel):
		return nil
	}
	if isLink {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			w.folders[filepath.Dir(real)] = true
		}
	}
	if len(w.files) == MaxFiles {
		return fault(ErrTooMany, root, rel, fmt.Sprintf(": more than %d; leave out what is no script", MaxFiles))
	}
	if info.Size() > MaxFile {
		return fault(ErrTooLarge, root, rel, fmt.Sprintf(": %d bytes, want at most %d", info.Size(), MaxFile))
	}
	w.files = append(w.files, found{index, rel, at, info})
	return nil
}

// gone reports that something isn't there, or was taken away while we looked.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

func ignoreGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}
