package worker

import "errors"

// ErrNoWalls means that this machine can't confine a worker as it must be.
var ErrNoWalls = errors.New("the worker can't be confined here")

// Wall is one thing that confines a worker.
type Wall string

// The walls.
const (
	Privileges Wall = "no_new_privs" // no program gives it more than it has
	Files      Wall = "landlock"     // no file can be opened but the program's own
	Calls      Wall = "seccomp"      // a short list of system calls
	Memory     Wall = "rlimits"      // memory, open files, no core, no file grows
)

// memoryCap is what a worker may use beyond what it has when it starts, in bytes. The budget of a script
// is smaller: this is for what the budget misses.
const memoryCap = 256 << 20
