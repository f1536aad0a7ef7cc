package main

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// memfd is the number of memfd_create, which package syscall doesn't have everywhere.
var memfd = map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]

// held is a file in memory with the event in it: no pipe is as large, and no disk can be full.
func held(event []byte) (int, error) {
	if memfd == 0 {
		return heldOnDisk(event)
	}
	name := [...]byte{'e', 'v', 'e', 'n', 't', 0}
	fd, _, errno := syscall.Syscall(memfd, uintptr(unsafe.Pointer(&name)), 1 /* MFD_CLOEXEC */, 0)
	if errno != 0 {
		return heldOnDisk(event)
	}
	return int(fd), fill(int(fd), event)
}

// stdin makes a file standard input.
func stdin(fd int) error { return syscall.Dup3(fd, 0, 0) }

// ready waits until a file can be read, or written to, or the time is over.
func ready(fd int, write bool, within time.Duration) (bool, error) {
	limit := syscall.NsecToTimeval(int64(within))
	var set syscall.FdSet
	set.Bits[0] = 1 << fd
	read, written := &set, (*syscall.FdSet)(nil)
	if write {
		read, written = nil, &set
	}
	n, err := syscall.Select(fd+1, read, written, nil, &limit)
	return n > 0, err
}
