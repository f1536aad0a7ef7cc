//go:build unix

package main

import (
	"os"
	"syscall"
)

// heldOnDisk is a file that has no name any more, with the event in it.
func heldOnDisk(event []byte) (int, error) {
	f, err := os.CreateTemp("", "agentd-hook-")
	if err != nil {
		return 0, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return 0, err
	}
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	return fd, fill(fd, event)
}

// fill writes the event and goes back to its beginning.
func fill(fd int, event []byte) error {
	if err := writeAll(fd, event); err != nil {
		return err
	}
	_, err := syscall.Seek(fd, 0, 0)
	return err
}

func writeAll(fd int, text []byte) error {
	for len(text) > 0 {
		n, err := again(func() (int, error) { return syscall.Write(fd, text) })
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}
