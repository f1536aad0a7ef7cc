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
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
			c.timeout = time.Duration(min(seconds, longest)) * time.Second
		case arg == "--closed":
			c.closed = true
		case arg == "--anywhere":
			c.anywhere = true
		default:
			c.closed = true
			c.end("the argument " + strconv.Quote(arg) + " isn't known")
		}
	}
	if c.anywhere {
		c.enter()
	}
	text, err := c.readEvent()
	if err != nil {
		c.end("the event can't be read: " + err.Error())
	}
	out, code, err := c.ask(text)
	switch {
	case err == nil:
		c.answer(out, code)
	case errors.Is(err, errLate):
		c.end(err.Error())
	}
	c.become(text[room:])
}

// longest is as many seconds as a client may wait: half a year, of which all parts can be told.
const longest = 1 << 24

// left is how long something may still take. No timer ends it, as the first one brings a thread and a poller
// into being: each call that may wait has its limit.
func (c *call) left() time.Duration { return max(c.timeout*9/10-time.Since(c.began), 0) }

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
func (c *call) readEvent() ([]byte, error) {
	buf := make([]byte, 16<<10)
	for n := room; ; {
		got, err := c.when(0, false, "its end didn't come in time", func() (int, error) { return syscall.Read(0, buf[n:]) })
		if n += max(got, 0); err != nil || got == 0 || n > room+largest {
			return buf[:n], err
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, n)...)
		}
	}
}

// path is that of the daemon's socket.
func (c *call) path() string {
	dir := c.dir
	if c.anywhere {
		dir = state(c.dir)
	}
	return filepath.Join(dir, "agentd.sock")
}

// enter goes where the client was started, if it says that and a project is there: an agent can go anywhere else, and
// Cursor starts its user's hooks in its own folder. cmd/agentd knows these variables too.
func (c *call) enter() {
	name := map[string]string{"claude": "CLAUDE_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR", "factory": "FACTORY_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "qwen": "QWEN_PROJECT_DIR"}[c.client]
	if name == "" {
		return
	}
	if dir := os.Getenv(name); filepath.IsAbs(dir) && project(dir) != "" {
		_ = os.Chdir(dir) // if that can't be done it is as without
	}
}

// project is the nearest folder upwards that has .agentd, "" if none has.
func project(dir string) string {
	for {
		if st, err := os.Stat(filepath.Join(dir, ".agentd")); err == nil && st.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// state is the state folder that agentd would choose here.
func state(fallback string) string {
	if dir := os.Getenv("AGENTD_STATE"); dir != "" {
		return dir
	}
	if dir := os.Getenv("AGENTD_PROJECT"); dir != "" {
		return filepath.Join(dir, ".agentd", "state")
	}
	if dir, err := os.Getwd(); err == nil {
		if dir = project(dir); dir != "" {
			return filepath.Join(dir, ".agentd", "state")
		}
	}
	return fallback
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
	err = syscall.Exec(argv[0], argv, os.Environ())
	c.end("no daemon answers, and " + argv[0] + " can't be started: " + err.Error())
}

// answer prints what the daemon said.
func (c *call) answer(out []byte, code int) {
	if err := c.say(1, out); err != nil {
		c.end("the answer can't be written: " + err.Error())
	}
	os.Exit(code)
}

// end is for when nobody answers.
func (c *call) end(why string) {
	if !c.closed {
		os.Exit(0)
	}
	_ = c.say(2, []byte("agentd can't decide this: "+why+"; see agentd doctor "+c.client+"\n"))
	os.Exit(2)
}

// atOnce is as much as every pipe takes that has room at all.
const atOnce = 512

// say writes to somebody who may not read.
func (c *call) say(fd int, text []byte) error {
	for len(text) > 0 {
		n, err := c.when(fd, true, "nobody reads it", func() (int, error) { return syscall.Write(fd, text[:min(len(text), atOnce)]) })
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// when does what may wait once it won't: reading a file or writing to it. What is ready is done however little time
// is left. Somebody else who has the file too may be faster, or have made it one that doesn't wait.
func (c *call) when(fd int, write bool, late string, do func() (int, error)) (int, error) {
	for {
		n, err := again(func() (int, error) {
			if is, err := ready(fd, write, c.left()); err != nil || !is {
				return 0, cmp.Or(err, errors.New(late))
			}
			return do()
		})
		if err != syscall.EAGAIN || c.left() == 0 {
			return n, err
		}
	}
}

// ready waits until a file can be read, or written to, or the time is over.
func ready(fd int, write bool, within time.Duration) (bool, error) {
	limit := syscall.NsecToTimeval(int64(within))
	var set syscall.FdSet
	set.Bits[0] = 1 << fd
	read, written := &set, (*syscall.FdSet)(nil)
	if write {
		read, written = nil, &set
	}
	err := choose(fd+1, read, written, &limit)
	return err == nil && set.Bits[0] != 0, err
}

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != syscall.EINTR {
			return n, err
		}
	}
}
