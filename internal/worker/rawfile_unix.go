//go:build unix

package worker

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawFile is a descriptor that blocks, without the runtime's poller: the fewest system calls and the
// fewest threads between a question and its answer.
type rawFile int

// Read gives EAGAIN where there is nothing yet and somebody may want to look at the time: the descriptor has
// a timeout and it is over, or a signal came.
func (f rawFile) Read(p []byte) (int, error) {
	n, err := unix.Read(int(f), p)
	switch {
	case err != nil:
		return 0, waiting(err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write may write a part only, without an error.
func (f rawFile) Write(p []byte) (int, error) {
	n, err := unix.Write(int(f), p)
	if err != nil {
		return 0, waiting(err)
	}
	return n, nil
}

func waiting(err error) error {
	if err == unix.EINTR {
		return unix.EAGAIN
	}
	return err
}

// pair makes two connected descriptors, of which no other process inherits either.
func pair() (ours rawFile, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, nil, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return rawFile(fds[0]), os.NewFile(uintptr(fds[1]), "worker"), nil
}

// Close implements io.Closer.
func (f rawFile) Close() error { return unix.Close(int(f)) }

// patient makes a wait give up now and then, after stepTimeout.
func (f rawFile) patient() error {
	t := unix.NsecToTimeval(stepTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(int(f), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t); err != nil {
		return err
	}
	return unix.SetsockoptTimeval(int(f), unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t)
}
