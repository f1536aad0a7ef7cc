package starlark

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long the thread of the caller has worked, whatever else the machine does.
func cpuTime() time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		panic(err)
	}
	return time.Duration(at.Nano())
}
