package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// LockName is the file beside the database whose lock the writer holds.
const LockName = "agentd.lock"

// lockPoll is how often a waiting writer tries again.
const lockPoll = 10 * time.Millisecond

// lock takes the writer's lock of a folder. With wait it tries until ctx ends, else once. The file
// stays when the lock is let go: taking it away would let two writers hold two files.
func lock(ctx context.Context, dir string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w; make the folder writable for this user", err)
	}
	for {
		got, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if got {
			sign(f)
			return f, nil
		}
		if !wait || !pause(ctx) {
			err := fmt.Errorf("%w: %s%s; go through its socket or end it", ErrInUse, dir, holder(f))
			f.Close()
			return nil, err
		}
	}
}

// sign writes down who holds the lock, for the message of who doesn't get it. A full disk must not
// keep a writer out, so a failure is let pass.
func sign(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

func holder(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

func pause(ctx context.Context) bool {
	t := time.NewTimer(lockPoll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Held reports whether a process holds the writer's lock of a folder, and its id if it is known. It
// makes nothing.
func Held(dir string) (held bool, process string, err error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, "", nil
	}
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	got, err := tryLock(f)
	if err != nil || got {
		return false, "", err
	}
	return true, strings.Trim(holder(f), " ()"), nil
}
