package main

import "golang.org/x/sys/unix"

const getTermios, setTermios, setTermiosFlushed = unix.TCGETS, unix.TCSETS, unix.TCSETSF
