//go:build unix

// Command agentd-hook is what a client starts at each of its events: it hands the event to the daemon on the
// socket in the folder that it stands in, and prints the answer. It is small because a client waits for its
// start each time; all else is agentd's, which it becomes where no daemon answers. agentd install writes it.
//
//	agentd-hook CLIENT --event=E --timeout=SECONDS [--closed] [--anywhere]
//
// The timeout is the client's. Without an answer in nine tenths of it, or where agentd can't be started, an
// event that is --closed is refused as every client understands it: exit code 2, with the reason on standard
// error. Any other is let pass. --anywhere looks for the project from the working folder upwards.
package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// call is one event.
type call struct {
	client, event string
	timeout       time.Duration // the client's
	closed        bool          // without an answer it is refused
	anywhere      bool
	dir           string // where this program stands, with what install wrote beside it
	began         time.Time
	over          atomic.Bool // somebody says how this ends
}

func main() {
	// Without arguments it was started by a client that reads another's configuration and doesn't know its
	// lists of arguments. The daemon tells by the event who that is.
	c := &call{client: "claude", closed: true, timeout: 30 * time.Second, dir: folder(), began: time.Now()}
	if len(os.Args) > 1 {
		c.client, c.closed = os.Args[1], false
	}
	for _, arg := range os.Args[min(2, len(os.Args)):] {
		name, value, _ := strings.Cut(arg, "=")
		switch seconds, err := strconv.Atoi(value); {
		case name == "--event":
			c.event = value
		case name == "--timeout" && err == nil && seconds > 0:
			c.timeout = time.Duration(seconds) * time.Second
		case arg == "--closed":
			c.closed = true
		case arg == "--anywhere":
			c.anywhere = true
		default:
			c.closed = true
			c.end("the argument " + strconv.Quote(arg) + " isn't known")
		}
	}
	if dir := os.Getenv("CURSOR_PROJECT_DIR"); c.anywhere && c.client == "cursor" && dir != "" {
		_ = os.Chdir(dir) // it starts its user's hooks in its own folder; if that can't be done it is as without
	}
	time.AfterFunc(c.timeout*9/10, func() { c.end("agentd didn't answer in time") })
	text, err := readEvent()
	if err != nil {
		c.end("the event can't be read: " + err.Error())
	}
	if out, code, ok := c.ask(text); ok {
		c.answer(out, code)
	}
	c.become(text[room:])
}

// folder is where this program stands; clients start it by its whole path.
func folder() string {
	if path := os.Args[0]; filepath.IsAbs(path) {
		return filepath.Dir(path)
	}
	path, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(path)
}

// within is what is left of the time in which agentd has to answer, so that it says itself why it can't.
func (c *call) within() time.Duration {
	return max(c.timeout*8/10-time.Since(c.began), 100*time.Millisecond).Truncate(time.Millisecond)
}

// plain reports whether a word can stand in a path as it is.
func plain(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	})
}

const (
	room    = 512     // before the event, for the head of the request: both go out in one write
	largest = 8 << 20 // an event that agentd takes
)

// readEvent reads standard input: the event, after some room. Of one that is too large it reads what agentd needs
// to see that.
func readEvent() ([]byte, error) {
	buf := make([]byte, 16<<10)
	for n := room; ; {
		got, err := again(func() (int, error) { return syscall.Read(0, buf[n:]) })
		if n += max(got, 0); err != nil || got == 0 || n > room+largest {
			return buf[:n], err
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, n)...)
		}
	}
}

// ask asks the daemon. It is not ok where none answers, or not with an answer for the client.
func (c *call) ask(text []byte) (out []byte, code int, ok bool) {
	if len(text) > room+largest || !plain(c.client) || !plain(c.event) {
		return nil, 0, false
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, 0, false
	}
	defer syscall.Close(fd)
	syscall.CloseOnExec(fd)
	if _, err := again(func() (int, error) {
		return 0, syscall.Connect(fd, &syscall.SockaddrUnix{Name: c.socket()})
	}); err != nil {
		return nil, 0, false
	}
	head := "POST /v1/hook/" + c.client + "?event=" + c.event + " HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nAgentd-Within: " + c.within().String() +
		"\r\nContent-Length: " + strconv.Itoa(len(text)-room) + "\r\n\r\n"
	from := room - len(head)
	if from < 0 {
		return nil, 0, false
	}
	copy(text[from:], head)
	if writeAll(fd, text[from:]) != nil {
		return nil, 0, false
	}
	return readAnswer(fd)
}

// socket is the daemon's.
func (c *call) socket() string {
	dir := c.dir
	if c.anywhere {
		dir = state(c.dir)
	}
	return filepath.Join(dir, "agentd.sock")
}

// state is the state folder that agentd would choose here.
func state(fallback string) string {
	if dir := os.Getenv("AGENTD_STATE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("AGENTD_PROJECT"); dir != "" {
		return filepath.Join(dir, ".agentd", "state")
	}
	dir, err := os.Getwd()
	for err == nil {
		if st, err := os.Stat(filepath.Join(dir, ".agentd")); err == nil && st.IsDir() {
			return filepath.Join(dir, ".agentd", "state")
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return fallback
}

// readAnswer reads the daemon's answer: that of a hook, and all of it.
func readAnswer(fd int) (out []byte, code int, ok bool) {
	buf := make([]byte, 0, 4<<10)
	for {
		got, err := again(func() (int, error) { return syscall.Read(fd, buf[len(buf):cap(buf)]) })
		if err != nil || got == 0 {
			return nil, 0, false
		}
		buf = buf[:len(buf)+got]
		if head, body, whole := bytes.Cut(buf, []byte("\r\n\r\n")); whole {
			length, err := strconv.Atoi(field(head, "\r\nContent-Length: "))
			code, err2 := strconv.Atoi(field(head, "\r\nAgentd-Exit: "))
			if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) || err != nil || err2 != nil {
				return nil, 0, false
			}
			if len(body) >= length {
				return body[:length], code, true
			}
		}
		if len(buf) == cap(buf) {
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

// become is agentd from here on, with the event as its standard input.
func (c *call) become(event []byte) {
	text, err := os.ReadFile(filepath.Join(c.dir, "agentd-hook.argv"))
	if err != nil {
		c.end("no daemon answers, and what to start instead can't be read: " + err.Error())
	}
	fd, err := held(event)
	if err != nil {
		c.end("no daemon answers, and the event can't be kept for agentd: " + err.Error())
	}
	if err := stdin(fd); err != nil {
		c.end("no daemon answers, and the event can't be handed to agentd: " + err.Error())
	}
	argv := append(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), "hook", c.client, "--event="+c.event, "--within="+c.within().String())
	c.claim()
	err = syscall.Exec(argv[0], argv, os.Environ())
	c.refuse("no daemon answers, and " + argv[0] + " can't be started: " + err.Error())
}

// claim makes the caller the one that says how this ends; the other is about to leave.
func (c *call) claim() {
	if !c.over.CompareAndSwap(false, true) {
		select {}
	}
}

// answer prints what the daemon said.
func (c *call) answer(out []byte, code int) {
	c.claim()
	if err := writeAll(1, out); err != nil {
		c.refuse("the answer can't be written: " + err.Error())
	}
	os.Exit(code)
}

// end is for when nobody answers.
func (c *call) end(why string) {
	c.claim()
	c.refuse(why)
}

func (c *call) refuse(why string) {
	if !c.closed {
		os.Exit(0)
	}
	_ = writeAll(2, []byte("agentd can't decide this: "+why+"; see agentd doctor "+c.client+"\n"))
	os.Exit(2)
}

func writeAll(fd int, text []byte) error {
	for len(text) > 0 {
		n, err := again(func() (int, error) { return syscall.Write(fd, text) })
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != syscall.EINTR {
			return n, err
		}
	}
}
