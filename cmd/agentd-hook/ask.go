//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"syscall"
	"time"
)

var (
	errLate   = errors.New("agentd didn't answer in time")
	errNobody = errors.New("no daemon answers") // or not with an answer for the client
)

// ask asks the daemon. It fails with errLate, or with anything else where agentd is to be asked.
func (c *call) ask(text []byte) (out []byte, code int, err error) {
	if len(text) > room+largest || !plain(c.client) || !plain(c.event) {
		return nil, 0, errNobody
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, 0, err
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	s := socket{c, fd}
	if _, err := s.try(syscall.SO_SNDTIMEO, func() (int, error) {
		return 0, syscall.Connect(fd, &syscall.SockaddrUnix{Name: c.path()})
	}); err != nil {
		return nil, 0, err
	}
	head := "POST /v1/hook/" + c.client + "?event=" + c.event + " HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nAgentd-Within: " + c.within().String() +
		"\r\nContent-Length: " + strconv.Itoa(len(text)-room) + "\r\n\r\n"
	from := room - len(head)
	if from < 0 {
		return nil, 0, errNobody
	}
	copy(text[from:], head)
	for rest := text[from:]; len(rest) > 0; {
		n, err := s.try(syscall.SO_SNDTIMEO, func() (int, error) { return syscall.Write(fd, rest) })
		if err != nil {
			return nil, 0, err
		}
		rest = rest[n:]
	}
	return s.readAnswer()
}

// mostSaid is more than any answer has.
const mostSaid = 8 * largest

// socket is a connection to the daemon.
type socket struct {
	*call
	fd int
}

// try does what may wait, as long as there is time left: sending or receiving, as the option says.
func (s socket) try(option int, do func() (int, error)) (int, error) {
	for {
		n, err := again(func() (int, error) {
			limit := syscall.NsecToTimeval(int64(atATime(s.left())))
			if limit == (syscall.Timeval{}) { // which would be for ever
				return 0, errLate
			}
			if err := syscall.SetsockoptTimeval(s.fd, syscall.SOL_SOCKET, option, &limit); err != nil {
				return 0, err
			}
			return do()
		})
		if err != syscall.EAGAIN {
			return n, err
		}
	}
}

// atATime is how much of what is left is waited for at a time. Linux ends a wait for a socket up to an eighth of it too
// late, and the client would be gone.
func atATime(left time.Duration) time.Duration { return max(left*3/4, min(left, 10*time.Millisecond)) }

// readAnswer reads the daemon's answer: that of a hook, and all of it.
func (s socket) readAnswer() (out []byte, code int, err error) {
	buf := make([]byte, 0, 4<<10)
	for {
		got, err := s.try(syscall.SO_RCVTIMEO, func() (int, error) { return syscall.Read(s.fd, buf[len(buf):cap(buf)]) })
		if err != nil || got == 0 {
			return nil, 0, cmp.Or(err, errNobody)
		}
		buf = buf[:len(buf)+got]
		if head, body, whole := bytes.Cut(buf, []byte("\r\n\r\n")); whole {
			length, err := strconv.Atoi(field(head, "\r\nContent-Length: "))
			code, err2 := strconv.Atoi(field(head, "\r\nAgentd-Exit: "))
			if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || err != nil || err2 != nil || length < 0 {
				return nil, 0, errNobody
			}
			if len(body) >= length {
				return body[:length], code, nil
			}
		}
		switch {
		case len(buf) > mostSaid:
			return nil, 0, errNobody
		case len(buf) == cap(buf):
			buf = append(buf, make([]byte, len(buf))...)[:len(buf)]
		}
	}
}

// field is a line of an answer's head, less its name.
func field(head []byte, name string) string {
	_, rest, _ := bytes.Cut(head, []byte(name))
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value)
}
