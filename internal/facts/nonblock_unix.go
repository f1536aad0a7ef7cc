//go:build unix

package facts

import "syscall"

// nonblock keeps the opening of a pipe that took a file's place from waiting for a writer.
const nonblock = syscall.O_NONBLOCK
