//go:build unix && !linux

package main

import (
	"syscall"
	"time"
)

func held(event []byte) (int, error) { return heldOnDisk(event) }

// stdin makes a file standard input.
func stdin(fd int) error { return syscall.Dup2(fd, 0) }

// readable waits until a file can be read, or the time is over.
func readable(fd int, within time.Duration) (bool, error) {
	limit := syscall.NsecToTimeval(int64(within))
	var set syscall.FdSet
	set.Bits[0] = 1 << fd
	err := syscall.Select(fd+1, &set, nil, nil, &limit)
	return set.Bits[0] != 0, err
}
