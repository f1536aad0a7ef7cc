//go:build linux || darwin

package charges

import "golang.org/x/sys/unix"

// Now is the time of the processor that this process has used, the collector's included, in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}
