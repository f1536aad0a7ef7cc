//go:build unix

package tool

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks the processes of a group to end, and wakes those that are stopped so that they can.
func endGroup(leader *os.Process) {
	syscall.Kill(-leader.Pid, syscall.SIGTERM)
	syscall.Kill(-leader.Pid, syscall.SIGCONT)
}

func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }

func endedBy(s *os.ProcessState) (number int, name string) {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, ""
	}
	return int(ws.Signal()), unix.SignalName(ws.Signal())
}

// maxReady bounds what readReady takes, in case somebody goes on writing; a pipe holds at most 1 MiB
// unless its owner is privileged.
const maxReady = 1 << 20

// readReady reads what is in a pipe without waiting for more.
func readReady(f *os.File, take func([]byte)) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 32<<10)
	conn.Read(func(fd uintptr) bool {
		for total := 0; total < maxReady; {
			n, err := syscall.Read(int(fd), buf)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				break
			}
			take(buf[:n])
			total += n
		}
		return true
	})
}
