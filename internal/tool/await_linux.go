package tool

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit waits for the end of a program and leaves it to be reaped, so that its number stays
// taken until its group is dealt with.
func awaitExit(cmd *exec.Cmd) (reaped bool) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return false
		}
	}
}
