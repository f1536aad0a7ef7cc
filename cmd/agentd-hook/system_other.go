//go:build unix && !linux

package main

import "syscall"

func held(event []byte) (int, error) { return heldOnDisk(event) }

// stdin makes a file standard input.
func stdin(fd int) error { return syscall.Dup2(fd, 0) }

// choose is the system's select, which leaves in the sets what is ready.
func choose(n int, read, written *syscall.FdSet, limit *syscall.Timeval) error {
	return syscall.Select(n, read, written, nil, limit)
}
