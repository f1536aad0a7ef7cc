package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// system is the real disk.
type system struct{}

func (system) lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (system) readlink(name string) (string, error)   { return os.Readlink(name) }
func (system) procfs(dir string) bool                 { return isProc(dir) }

func (system) names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// remembering looks at each name once: working directory, path and root share most of their folders,
// and one answer should rest on one look.
type remembering struct {
	disk
	seen map[string]looked
}

type looked struct {
	info fs.FileInfo
	err  error
}

func (r *remembering) lstat(name string) (fs.FileInfo, error) {
	l, ok := r.seen[name]
	if !ok {
		l.info, l.err = r.disk.lstat(name)
		r.seen[name] = l
	}
	return l.info, l.err
}

// slashed is false where paths have other separators and volumes.
const slashed = filepath.Separator == '/'

// identity is what tells one file from another, and how many names it has.
type identity struct {
	dev, ino uint64
	links    int
}

func sameFile(a, b fs.FileInfo) bool { return identify(a) == identify(b) && identify(a).ino != 0 }

func errnoOf(err error) (errno syscall.Errno) {
	errors.As(err, &errno)
	return errno
}
