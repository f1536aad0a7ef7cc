package tool

import (
	"os"
	"time"
)

// reader takes in what a program writes to a pipe. A nil reader has nothing to read.
type reader struct {
	from *os.File
	capture
}

// run reads until nobody holds the other end any more, or until finish.
func (r *reader) run() {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.from.Read(buf)
		r.write(buf[:n])
		if err != nil {
			return
		}
	}
}

// finish ends run although somebody may still hold the other end: a process that got away would
// otherwise keep the call from returning.
func (r *reader) finish() {
	if r != nil {
		r.from.SetReadDeadline(time.Unix(1, 0))
	}
}

// drain takes in what was written before finish and not read yet, and closes the pipe.
func (r *reader) drain() {
	if r == nil {
		return
	}
	r.from.SetReadDeadline(time.Time{})
	readReady(r.from, r.write)
	r.from.Close()
}

func (r *reader) close() {
	if r != nil {
		r.from.Close()
	}
}

func (r *reader) captured() Captured {
	if r == nil {
		return Captured{}
	}
	return r.capture.captured()
}
