//go:build unix && !linux

package main

import "syscall"

func held(event []byte) (int, error) { return heldOnDisk(event) }

// stdin makes a file standard input.
func stdin(fd int) error { return syscall.Dup2(fd, 0) }
