package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// maxFrame bounds a message, in bytes: a payload, what goes with it, and some room.
const maxFrame = 32 << 20

// The kinds of messages. Each frame is a length in four bytes, a kind, and what it says.
const (
	spoken  = 'j' // a JSON object, either way
	seated  = 's' // to the worker: a binding that it is going to be asked about; it answers nothing
	decides = 'd' // to the worker: what do these hooks decide?
	facts   = 'f' // to the worker: what does this one have to know?
	said    = 'r' // from it: the results of either
)

// errLong: a message has more than maxFrame bytes.
var errLong = fmt.Errorf("a message to or from the worker has more than %d bytes", maxFrame)

// begin appends the head of a frame, and end writes its length when the rest is there.
func begin(dst []byte, kind byte) []byte { return append(dst, 0, 0, 0, 0, kind) }

func end(dst []byte, from int) ([]byte, error) {
	n := len(dst) - from - 4
	if n > maxFrame {
		return dst, errLong
	}
	binary.LittleEndian.PutUint32(dst[from:], uint32(n))
	return dst, nil
}

// stream reads frames and writes them. It belongs to one caller at a time.
type stream struct {
	rw       io.ReadWriter
	buf      []byte
	from, to int // what was read and not taken
}

func newStream(rw io.ReadWriter) *stream { return &stream{rw: rw, buf: make([]byte, 16<<10)} }

// errLate: the context's time was up.
var errLate = errors.New("late")

// next reads one frame. What it says isn't used again by the stream, as values point into it. Where the
// connection gives up waiting now and then, the context is asked whether time is up: it has a clock and
// no timer.
func (s *stream) next(ctx context.Context) (kind byte, body []byte, err error) {
	for s.to-s.from < 4 {
		copy(s.buf, s.buf[s.from:s.to])
		s.to -= s.from
		s.from = 0
		n, err := s.rw.Read(s.buf[s.to:])
		if err := again(ctx, err); err != nil {
			return 0, nil, err
		}
		s.to += n
	}
	size := binary.LittleEndian.Uint32(s.buf[s.from:])
	if size > maxFrame {
		return 0, nil, errLong
	}
	if size == 0 {
		return 0, nil, errors.New("a message without a kind")
	}
	s.from += 4
	body = make([]byte, size)
	n := copy(body, s.buf[s.from:s.to])
	s.from += n
	for n < len(body) {
		more, err := s.rw.Read(body[n:])
		if err := again(ctx, err); err != nil {
			return 0, nil, err
		}
		n += more
	}
	return body[0], body[1:], nil
}

// quiet reports whether nothing was read that wasn't taken.
func (s *stream) quiet() bool { return s.from == s.to }

// send writes frames that end has ended.
func (s *stream) send(ctx context.Context, frames []byte) error {
	for len(frames) > 0 {
		n, err := s.rw.Write(frames)
		if err := again(ctx, err); err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// again is nil where the caller shall go on.
func again(ctx context.Context, err error) error {
	if !errors.Is(err, unix.EAGAIN) {
		return err
	}
	if ctx.Err() != nil {
		return errLate
	}
	return nil
}
