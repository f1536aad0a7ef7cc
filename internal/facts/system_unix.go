//go:build unix

package facts

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPath is how long a path in a system call can be, with its end.
const maxPath = unix.PathMax

func identify(info fs.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(s.Dev), uint64(s.Ino), int(s.Nlink)}
}

func errnoName(err error) string {
	if name := unix.ErrnoName(errnoOf(err)); name != "" {
		return name
	}
	return Unknown
}
