package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
)

// screen is a terminal with a person in front of it: master is their side.
type screen struct {
	t             *testing.T
	master, slave *os.File
	editor        string

	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
	read    chan struct{} // closed when nothing more comes
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, master: master, slave: slave, changed: make(chan struct{}, 1), read: make(chan struct{})}
	go s.watch()
	t.Cleanup(func() {
		slave.Close()
		master.WriteString("\n") // whoever still reads the slave lets it go; there may be nobody
		<-s.read                 // with the last slave the master has nothing more to read
		master.Close()
	})
	return s
}

func (s *screen) watch() {
	defer close(s.read)
	b := make([]byte, 4096)
	for {
		n, err := s.master.Read(b)
		s.mu.Lock()
		s.text.Write(b[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.text.String(), "\r\n", "\n")
}

// until waits until a text has been on the screen so many times.
func (s *screen) until(text string, times int) {
	s.t.Helper()
	for strings.Count(s.shows(), text) < times {
		select {
		case <-s.changed:
		case <-s.read:
			s.t.Fatalf("%q never came %d times:\n%s", text, times, s.shows())
		}
	}
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// agentd runs a verb on the terminal.
func (s *screen) agentd(ctx context.Context, project string, args ...string) chan int {
	done := make(chan int, 1)
	env := &env{stdin: s.slave, stdout: s.slave, stderr: s.slave, getenv: func(k string) string {
		return map[string]string{"HOME": project, "PATH": os.Getenv("PATH"), "EDITOR": s.editor}[k]
	}}
	go func() { done <- run(ctx, append(args, "--project", project), env) }()
	return done
}

// asking is a project whose tools are asked about, and its model.
func asking(t *testing.T, turns ...modeltest.Turn) (string, *modeltest.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := modeltest.New(nil, turns...)
	t.Cleanup(m.Close)
	if err := os.Mkdir(filepath.Join(dir, ".agentd"), 0o755); err != nil {
		t.Fatal(err)
	}
	yaml := fmt.Sprintf("agents:\n  default:\n    model: {provider: openai, name: m, base_url: %q}\n    tools: [shell]\n    confirm: ask\n", m.URL)
	if err := os.WriteFile(filepath.Join(dir, ".agentd", "agentd.yaml"), []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := quiet(t, dir, "publish"); code != 0 {
		t.Fatalf("publish: %d, %s", code, out)
	}
	return dir, m
}

// quiet runs a verb where nobody sits.
func quiet(t *testing.T, project string, args ...string) (int, string) {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var out bytes.Buffer
	code := run(t.Context(), append(args, "--project", project), &env{stdin: null, stdout: &out, stderr: &out, getenv: func(k string) string { return map[string]string{"HOME": project}[k] }})
	return code, out.String()
}

func call(id, command string) modeltest.Call {
	return modeltest.Call{ID: id, Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
}

const prompt = "[y]es, [n]o and why, [e]dit, [a]ll of this session, [c]opy, [?]: "

func witness(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "witness"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func TestPersonAtTheTerminalIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		types  []string // at each prompt
		editor string
		wrote  string
		told   string // to the model
		shows  string
	}{
		"yes, then no and why":        {[]string{"y\n", "n not two\n"}, "", "one\n", "not two", ""},
		"YES, spelled out":            {[]string{"YES\n", "Yes\n"}, "", "one\ntwo\n", "", ""},
		"no":                          {[]string{"n\n", "no\n"}, "", "", "a person said no", ""},
		"what is no answer":           {[]string{"yeah, why not\n", "\n", "y it is\n", "a few\n", "a 0\n", "x\n", "n\n", "n\n"}, "", "", "a person said no", "that is no answer"},
		"help and copy ask again":     {[]string{"?\n", "c\n", "y\n", "n\n"}, "", "one\n", "", "\x1b]52;c;ZWNobyBvbmUgPj4gd2l0bmVzcw==\a"},
		"all":                         {[]string{"a\n"}, "", "one\ntwo\n", "", ""},
		"all, but the next is denied": {[]string{"n\n", "a\n"}, "", "two\n", "", ""},
		"and the next":                {[]string{"a 1\n"}, "", "one\ntwo\n", "", ""},
		"an edit":                     {[]string{"e\n", "n\n"}, "sed -i s/one/edited/", "edited\n", "", ""},
		"an edit of nothing":          {[]string{"e\n", "n\n", "n\n"}, "true", "", "", "nothing was changed"},
		"an edit that is no JSON":     {[]string{"e\n", "n\n", "n\n"}, "sed -i s/{//", "", "", "is no JSON"},
		"an edit that doesn't fit":    {[]string{"e\n", "n no\n", "n\n"}, "sed -i s/command/kommand/", "", "", "there is no argument \"kommand\""},
		"an editor that fails":        {[]string{"e\n", "n\n", "n\n"}, "false", "", "", "agentd: the editor: false"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := asking(t, modeltest.Turn{Calls: []modeltest.Call{call("a", "echo one >> witness"), call("b", "echo two >> witness")}}, modeltest.Turn{Text: []string{"Done."}})
			s := newScreen(t)
			s.editor = c.editor
			done := s.agentd(t.Context(), dir, "run", "do it")
			for i, keys := range c.types {
				s.until(prompt, i+1)
				s.types(keys)
			}
			if code := <-done; code != 0 {
				t.Errorf("it ended with %d", code)
			}
			s.until("Done.", 1)
			if got := witness(t, dir); got != c.wrote {
				t.Errorf("the tools wrote %q, want %q", got, c.wrote)
			}
			if request := string(m.Requests()[1]); !strings.Contains(request, c.told) {
				t.Errorf("the model wasn't told %q: %s", c.told, request)
			}
			if shown := s.shows(); !strings.Contains(shown, "    echo one >> witness\n") || !strings.Contains(shown, c.shows) {
				t.Errorf("it doesn't show %q, or what would run:\n%s", c.shows, shown)
			}
		})
	}
}

func TestEndOfInputLeavesTheQuestionWaiting(t *testing.T) {
	for name, keys := range map[string][]string{"at the first question": {"\x04"}, "at the second": {"y\n", "\x04"}, "behind an answer": {"y\x04\x04"}} {
		t.Run(name, func(t *testing.T) {
			dir, m := asking(t, modeltest.Turn{Calls: []modeltest.Call{call("a", "echo one >> witness"), call("b", "echo two >> witness")}}, modeltest.Turn{Text: []string{"Done."}})
			s := newScreen(t)
			done := s.agentd(t.Context(), dir, "run", "do it")
			for i, k := range keys {
				s.until(prompt, i+1)
				s.types(k)
			}
			if code := <-done; code != exitPerson {
				t.Errorf("it ended with %d", code)
			}
			s.until("it goes on waiting: agentd answer run-", 1)
			if got := witness(t, dir); got != "" {
				t.Errorf("the tools wrote %q", got)
			}
			for code := exitPerson; code == exitPerson; {
				_, list := quiet(t, dir, "answer", "--json")
				var open []struct{ ID string }
				if err := json.Unmarshal([]byte(list), &open); err != nil || len(open) != 1 {
					t.Fatalf("%v: %s", err, list)
				}
				s = newScreen(t)
				done = s.agentd(t.Context(), dir, "answer", open[0].ID)
				s.until(prompt, 1)
				s.types("hm\n")
				s.until(prompt, 2)
				s.types("a\n")
				if code = <-done; code != 0 && code != exitPerson {
					t.Fatalf("answer: %d\n%s", code, s.shows())
				}
			}
			if got := witness(t, dir); got != "one\ntwo\n" || len(m.Requests()) != 2 {
				t.Errorf("the tools wrote %q, the model was asked %d times", got, len(m.Requests()))
			}
		})
	}
}

func TestWhatWasTypedBeforeAQuestionAnswersNone(t *testing.T) {
	dir, _ := asking(t, modeltest.Turn{Calls: []modeltest.Call{call("a", "cat gate")}}, modeltest.Turn{Calls: []modeltest.Call{call("b", "echo one >> witness")}}, modeltest.Turn{Text: []string{"Done."}})
	gate := filepath.Join(dir, "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t)
	done := s.agentd(t.Context(), dir, "run", "do it")
	s.until(prompt, 1)
	s.types("y\n")
	f, err := os.OpenFile(gate, os.O_WRONLY, 0) // the tool runs, and waits
	if err != nil {
		t.Fatal(err)
	}
	s.types("y\n")
	for n := 1; n > 0; { // until the program has it
		if n, err = unix.IoctlGetInt(int(s.slave.Fd()), unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	s.until(prompt, 2)
	s.types("n\n")
	if code := <-done; code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if got := witness(t, dir); got != "" {
		t.Errorf("the tool wrote %q", got)
	}
}

func TestATerminalIsShownWhatWouldRunAndObeysNothingOfIt(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 漢\n\ttext":    "plain é 漢\n\ttext",
		"rm x\x1b[2K\rls":      `rm x\x1b[2K\rls`,
		"a\u202eb\u0085c\x00d": `a\u202eb\u0085c\x00d`,
		"bad \xff":             "bad \uFFFD",
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestInterruptAtAQuestionLeavesTheRunWaiting(t *testing.T) {
	dir, m := asking(t, modeltest.Turn{Calls: []modeltest.Call{call("a", "echo one >> witness")}}, modeltest.Turn{Text: []string{"Done."}})
	s := newScreen(t)
	ctx, interrupt := context.WithCancel(t.Context())
	done := s.agentd(ctx, dir, "run", "do it")
	s.until(prompt, 1)
	interrupt() // as ctrl-C does
	if code := <-done; code != exitFailed && code != exitPerson {
		t.Errorf("it ended with %d", code)
	}
	s.until("agentd runs resume run-", 1)
	_, after, _ := strings.Cut(s.shows(), "agentd runs resume ")
	id, _, _ := strings.Cut(strings.TrimSpace(after), "\n")

	// Where nobody can be asked it waits on: exit code 4.
	if code, out := quiet(t, dir, "runs", "resume", id); code != exitPerson {
		t.Errorf("resumed by nobody: %d, %s", code, out)
	}
	if code, out := quiet(t, dir, "runs", "show", id); code != 0 || !strings.Contains(out, "waiting") {
		t.Errorf("show: %d, %s", code, out)
	}
	s = newScreen(t)
	done = s.agentd(t.Context(), dir, "runs", "resume", id)
	s.until(prompt, 1)
	s.types("y\n")
	if code := <-done; code != 0 {
		t.Errorf("resumed by a person: %d\n%s", code, s.shows())
	}
	if got := witness(t, dir); got != "one\n" || len(m.Requests()) != 2 {
		t.Errorf("the tool wrote %q, the model was asked %d times", got, len(m.Requests()))
	}
}

func TestQuestionThatIsSettledElsewhereLetsTheTerminalGo(t *testing.T) {
	dir, _ := asking(t, modeltest.Turn{Calls: []modeltest.Call{call("a", "echo one >> witness")}}, modeltest.Turn{Text: []string{"Done."}})
	s := newScreen(t)
	done := s.agentd(t.Context(), dir, "run", "do it")
	s.until(prompt, 1)
	c := api.NewClient(filepath.Join(dir, ".agentd", "state", "agentd.sock"), "")
	defer c.Close()
	open, err := c.Questions(t.Context())
	if err != nil || len(open) != 1 {
		t.Fatalf("%v, %v", open, err)
	}
	if _, err := c.Answer(t.Context(), open[0].ID, api.Answer{Verb: "allow"}); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if got := witness(t, dir); got != "one\n" {
		t.Errorf("the tool wrote %q", got)
	}
}
