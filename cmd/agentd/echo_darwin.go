package main

import "golang.org/x/sys/unix"

const getTermios, setTermios, setTermiosFlushed = unix.TIOCGETA, unix.TIOCSETA, unix.TIOCSETAF
