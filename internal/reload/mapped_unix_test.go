//go:build unix

package reload

import (
	"os"
	"syscall"
	"testing"
	"time"
)

func writeMapped(t *testing.T, path string, first byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(t, err)
	mem[0] = first
	must(t, syscall.Munmap(mem))
}

func TestAPipeInAFilesPlaceDoesNotBlock(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.star", "a")
	must(t, syscall.Mkfifo(dir+"/pipe.star", 0o600))
	if got := tree(scan(t, Root{Dir: dir})); len(got) != 1 {
		t.Errorf("files are %v, want only a.star", got)
	}

	list, err := walk([]Root{{Dir: dir}})
	must(t, err)
	must(t, os.Remove(dir+"/a.star"))
	must(t, syscall.Mkfifo(dir+"/a.star", 0o600)) // after it was listed, before it is opened
	if _, same, err := readFile(list.files[0]); same || err != nil {
		t.Errorf("a pipe was taken for the file that it replaced: %v", err)
	}
}

// A write to a mapped file is told by nobody; so is anything where watches have run out.
func TestPollingIsEnoughAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/hooks/a.star", "old")
	f := follow(t, []Root{{Dir: dir + "/hooks", Match: scripts}}, Options{Poll: 10 * time.Millisecond}, nil)
	f.until(files{"a.star": "old"})
	writeMapped(t, dir+"/hooks/a.star", 'O')
	f.until(files{"a.star": "Old"})
}
