//go:build unix && (!linux || !(amd64 || arm64))

package worker

import (
	"fmt"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"
)

// Missing lists the walls that this machine can't build. Some limits hold everywhere, but none on the memory.
func Missing() []Wall { return []Wall{Privileges, Files, Calls, Memory} }

// confineAndExec has nothing to build in the parent's place: the limits below hold for the process that is.
func confineAndExec(_ []string, without []Wall) error {
	for _, w := range Missing() {
		if !slices.Contains(without, w) {
			return fmt.Errorf("%w: this system has no %s", ErrNoWalls, w)
		}
	}
	return nil
}

// shut does what can be done.
func shut(without []Wall) error {
	if err := confineAndExec(nil, without); err != nil {
		return err
	}
	for _, what := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE} {
		if err := unix.Setrlimit(what, &unix.Rlimit{}); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoWalls, Memory, err)
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 32}); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoWalls, Memory, err)
	}
	debug.SetMemoryLimit(memoryCap * 3 / 4)
	debug.SetMaxStack(64 << 20)
	return nil
}
