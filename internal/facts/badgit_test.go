//go:build unix

package facts_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stub puts a program called git first on PATH. All that it starts holds a pipe, and gone waits until
// nobody does any more.
func stub(t *testing.T, script string) (gone func()) {
	t.Helper()
	bin := t.TempDir()
	pipe := filepath.Join(bin, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	both, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that the program needn't wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexec 9>"+pipe+"\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func() {
		end, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		both.Close()
		end.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := end.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("something of git is left: %v", err)
		}
	}
}

func TestAGitThatMisbehavesIsAnAbsentFact(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"hangs", "sleep 1000", "- reading it took longer than"},
		{"hangs and doesn't listen", "trap '' TERM; while :; do sleep 1; done", "- reading it took longer than"},
		{"hangs in a child", "sleep 1000 & wait", "- reading it took longer than"},
		{"floods for ever", "yes", "- reading it took longer than"},
		{"floods", "head -c 400000 /dev/zero", "- git says more than the 262144 bytes"},
		{"fails", "printf 'fatal: cannot\\nmore' >&2; exit 128", "- git failed: cannot"},
		{"fails quietly", "exit 1", "- git failed"},
		{"is killed", "kill -9 $$", "- git failed: it was ended by SIGKILL"},
		{"talks nonsense", "case \"$*\" in *show-prefix*) ;; *) echo nonsense;; esac", "- git's status can't be understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			gone := stub(t, c.script)
			o := options(t.TempDir())
			if strings.Contains(c.want, "longer") {
				o.Timeout = 200 * time.Millisecond
			} else {
				o.Timeout = time.Minute
			}
			if got := told(read(o, "git.status")); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			gone()
		})
	}
	t.Run("isn't there", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if got := told(read(options(t.TempDir()), "git.head")); got != "- git can't be started" {
			t.Error(got)
		}
	})
}
