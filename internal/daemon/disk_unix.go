//go:build unix

package daemon

import (
	"errors"

	"golang.org/x/sys/unix"
)

// freeSpace is the bytes that this user can still write to a folder's disk.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

func noSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func refused(err error) bool {
	return errors.Is(err, unix.EROFS)
}
