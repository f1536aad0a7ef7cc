//go:build unix && !linux

package main

import (
	"syscall"
	"time"
)

func held(event []byte) (int, error) { return heldOnDisk(event) }

// stdin makes a file standard input.
func stdin(fd int) error { return syscall.Dup2(fd, 0) }

// ready waits until a file can be read, or written to, or the time is over.
func ready(fd int, write bool, within time.Duration) (bool, error) {
	limit := syscall.NsecToTimeval(int64(within))
	var set syscall.FdSet
	set.Bits[0] = 1 << fd
	read, written := &set, (*syscall.FdSet)(nil)
	if write {
		read, written = nil, &set
	}
	err := syscall.Select(fd+1, read, written, nil, &limit)
	return set.Bits[0] != 0, err
}
