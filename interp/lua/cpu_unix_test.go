//go:build unix

package lua

import "golang.org/x/sys/unix"

// processorTime is the time of the processor that this process has had, in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return t.Nano()
}
