package facts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestTheKernelAgreesOnTheCorpus opens every path, and makes those that aren't there.
func TestTheKernelAgreesOnTheCorpus(t *testing.T) {
	root := fixture(t)
	for _, c := range corpusPaths(t, root) {
		t.Chdir(c.Cwd)
		p := Real(t.Context(), c.Path, c.Cwd, Options{Root: root})
		compareWithKernel(t, root, c.Path, p)
	}
}

// compareWithKernel holds a place against what happens to a file in root that the process opens or
// makes under this path. The working directory is the process's own.
func compareWithKernel(t reporter, root, path string, p Place) {
	t.Helper()
	real, errno := kernelOpens(path, 0)
	switch {
	case errno == 0 && (p.Kernel != OK || p.Real != real || !p.Exists):
		t.Errorf("%.80q opens %s, not %+v", path, real, p)
	case errno != 0 && p.Kernel != errnoName(errno) && !(strings.ContainsRune(path, 0) && p.Kernel == NUL):
		t.Errorf("%.80q fails with %v, not %+v", path, errno, p)
	}
	if errno != syscall.ENOENT || !within(root, p.Real) {
		return
	}
	if first := firstMissing(filepath.Dir(p.Real)); first != "" {
		if err := os.MkdirAll(filepath.Dir(p.Real), 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(first)
	}
	real, errno = kernelOpens(path, syscall.O_CREAT)
	switch {
	case errno == 0 && !p.Exists:
		if real != p.Real || !p.Creatable {
			t.Errorf("%.80q makes %s, not %+v", path, real, p)
		}
		os.Remove(real)
	case errno != 0 && p.Creatable:
		t.Errorf("%.80q isn't made: %v, not %+v", path, errno, p)
	}
}

func kernelOpens(path string, flags int) (real string, errno syscall.Errno) {
	if flags == 0 {
		flags = unix.O_PATH // whatever it is, without reading
	}
	fd, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0o644)
	if errors.As(err, &errno); err != nil {
		return "", errno
	}
	defer syscall.Close(fd)
	return nameOf(fd), 0
}

func firstMissing(dir string) string {
	missing := ""
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			return missing
		}
		missing = dir
	}
}

func nameOf(fd int) string {
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err.Error()
	}
	return name
}

// reporter is what tests and drawn tests have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// TestTheKernelAgreesOnRandomTrees draws folders full of links, and paths through them. The names
// are few, so that most paths lead somewhere.
func TestTheKernelAgreesOnRandomTrees(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	top := base + "/1/2/3/4/5/6" // so deep that no steps up leave the test's own folder
	if err := os.MkdirAll(top, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(base) // and back when it ends
	trees := 0
	rapid.Check(t, func(t *rapid.T) {
		trees++
		root := fmt.Sprintf("%s/t%d", top, trees)
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		element := rapid.OneOf(name, rapid.SampledFrom([]string{".", "..", "", "a", "new", "/proc/self/cwd", strings.Repeat("n", 256)}))
		spelled := rapid.Custom(func(t *rapid.T) string {
			p := strings.Join(rapid.SliceOfN(element, 1, 6).Draw(t, "elements"), "/")
			if rapid.IntRange(0, 3).Draw(t, "absolute") == 0 {
				p = root + "/" + p
			}
			return p
		})
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		dirs := []string{root}
		for range rapid.IntRange(3, 14).Draw(t, "entries") {
			dir := rapid.SampledFrom(dirs).Draw(t, "dir")
			full := dir + "/" + name.Draw(t, "name")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				os.WriteFile(full, nil, 0o644)
			case 1, 2:
				if os.Mkdir(full, 0o755) == nil {
					dirs = append(dirs, full)
				}
			default:
				if target := strings.TrimLeft(spelled.Draw(t, "target"), "/"); target != "" {
					if len(target) > len(root) && "/"+target[:len(root)-1] == root {
						target = "/" + target
					}
					os.Symlink(target, full)
				}
			}
		}
		cwd := rapid.SampledFrom(dirs).Draw(t, "cwd")
		if err := os.Chdir(cwd); err != nil {
			t.Fatal(err)
		}
		defer os.Chdir(base)
		for range 8 {
			path := spelled.Draw(t, "path")
			if !strings.HasPrefix(path, root) && !strings.HasPrefix(path, "/proc") {
				path = strings.TrimLeft(path, "/")
			}
			compareWithKernel(t, root, path, Real(context.Background(), path, cwd, Options{}))
		}
	})
}
