//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hideInput keeps a terminal from showing what is typed, and drops what was typed before: it wasn't
// meant for what is asked now. Show undoes it.
func hideInput(f *os.File) (show func() error, err error) {
	var was unix.Termios
	err = control(f, func(fd int) error {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		was = *now
		now.Lflag &^= unix.ECHO
		now.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
		return unix.IoctlSetTermios(fd, setTermiosFlushed, now)
	})
	if err != nil {
		return nil, fmt.Errorf("the terminal can't hide what is typed: %w", err)
	}
	return func() error {
		return control(f, func(fd int) error { return unix.IoctlSetTermios(fd, setTermios, &was) })
	}, nil
}

// control uses a file's descriptor and leaves its mode as it is, which Fd doesn't.
func control(f *os.File, use func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = c.Control(func(fd uintptr) { inner = use(int(fd)) })
	return errors.Join(err, inner)
}
