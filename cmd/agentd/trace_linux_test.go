package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A trace of system calls is the witness that something was durable before it was told: the program's
// own word isn't enough. Its events, in order, are
//
//	write   something was written to the database's log
//	sync    a sync of it came back
//	ask     a request to the model begins to leave
//	start   a tool's process is started
//	end     it has ended
//	tell X  an event of type X, or an answer to a client (X is "answer"), begins to leave
//
// strace says when a call begins and, if something came in between, when it came back: what leaves
// counts from its beginning, a sync from its end.
type traced struct {
	what string
	line string
}

var (
	tracedCall = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>.*= 0$`)
	toldType   = regexp.MustCompile(`\\"type\\":\\"([a-z.]+)\\"`)
)

// traceOf reads the trace of a run. log is the path of the database's log.
func traceOf(text, log string) (out []traced) {
	syncing, tools := map[string]bool{}, map[string]bool{} // by process
	add := func(what, line string) { out = append(out, traced{what, line}) }
	for _, line := range strings.Split(text, "\n") {
		if m := resumed.FindStringSubmatch(line); m != nil && syncing[m[1]] && strings.Contains(m[2], "sync") {
			syncing[m[1]] = false
			add("sync", line)
			continue
		}
		if pid, end, ok := strings.Cut(line, " +++ "); ok && tools[strings.TrimSpace(pid)] && strings.HasPrefix(end, "exited") {
			add("end", line)
			continue
		}
		m := tracedCall.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		pid, call, rest := m[1], m[2], m[3]
		onLog := strings.Contains(rest, "<"+log+">")
		switch {
		case call == "pwrite64" && onLog:
			add("write", line)
		case strings.Contains(call, "sync") && onLog && strings.HasSuffix(line, "= 0"):
			add("sync", line)
		case strings.Contains(call, "sync") && onLog:
			syncing[pid] = true
		case call == "execve" && strings.Contains(rest, `witness.txt`):
			tools[pid] = true
			add("start", line)
		case call == "write" && strings.Contains(rest, `"POST /v1/chat/completions`):
			add("ask", line)
		case call == "write" && strings.HasPrefix(rest, "1<"):
			if t := toldType.FindStringSubmatch(rest); t != nil {
				add("tell "+t[1], line)
			} else {
				add("tell answer", line)
			}
		case call == "write" && strings.Contains(rest, "<socket:") && strings.Contains(rest, "Agentd-Exit"):
			add("tell answer", line)
		}
	}
	return out
}

// unsaved finds what left while something written wasn't synced. Events aren't among it: they are told
// by another thread, which may come to it when the next commit has begun.
func unsaved(events []traced) (out []string) {
	dirty := false
	for _, e := range events {
		switch {
		case e.what == "write":
			dirty = true
		case e.what == "sync":
			dirty = false
		case dirty && (e.what == "ask" || e.what == "start" || e.what == "tell answer"):
			out = append(out, e.line)
		}
	}
	return out
}

// order is the events that are named, each once in a row, as words.
func order(events []traced, names ...string) string {
	var words []string
	for _, e := range events {
		for _, n := range names {
			if e.what == n && (len(words) == 0 || words[len(words)-1] != n) {
				words = append(words, n)
			}
		}
	}
	return strings.Join(words, ", ")
}

// strace runs a command under the tracer and returns its trace.
func (s *site) strace(stdin string, args ...string) (trace, out string) {
	s.t.Helper()
	tracer, err := exec.LookPath("strace")
	if err != nil {
		s.t.Skip("strace isn't installed, and it is what shows the order of system calls")
	}
	file := filepath.Join(s.t.TempDir(), "trace")
	c := s.command(args...)
	c.Path, err = exec.LookPath("agentd")
	if err != nil {
		s.t.Fatal(err)
	}
	c.Args = append([]string{tracer, "-f", "-y", "-s", "4096", "-o", file, "-e", "trace=pwrite64,write,fsync,fdatasync,execve", c.Path}, args...)
	c.Path = tracer
	c.Stdin = strings.NewReader(stdin)
	var said, talk bytes.Buffer
	c.Stdout, c.Stderr = &said, &talk
	if err := c.Run(); err != nil {
		if strings.Contains(talk.String(), "ptrace") {
			s.t.Skipf("no process can be traced here: %s", &talk)
		}
		s.t.Fatalf("%v: %v\n%s%s", args, err, &said, &talk)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text), said.String()
}

func (s *site) log() string { return filepath.Join(s.state, "agentd.db-wal") }

func TestNothingLeavesBeforeItIsSynced(t *testing.T) {
	s := newSite(t, "")
	for range 2 {
		s.answer <- struct{}{}
	}
	trace, out := s.strace("", "run", "--json", "hello")
	events := traceOf(trace, s.log())
	for _, line := range unsaved(events) {
		t.Errorf("this left before what was written was synced: %.300s", line)
	}
	// What a request asks for and what a tool does are durable as intents before they begin, results
	// before they are told or asked about.
	for _, want := range []string{
		"write, sync, ask, write, sync, start, end, write, sync, ask, write, sync",
		"ask, sync, tell model.completed",
		"ask, sync, tell tool.started",
		"end, sync, tell tool.completed",
		"ask, sync, start, end, sync, ask, sync, tell run.completed",
	} {
		if got := order(events, strings.Split(want, ", ")...); !begins(got, want) {
			t.Errorf("the order was\n%s\nwant\n%s\n%s", got, want, out)
		}
	}
}

// begins reports whether the words of want come in got in this order, each at the first chance: none of
// what is told comes before what it has to wait for.
func begins(got, want string) bool {
	first := map[string]int{}
	words := strings.Split(got, ", ")
	for i, w := range words {
		if _, ok := first[w]; !ok && strings.HasPrefix(w, "tell ") {
			first[w] = i
		}
	}
	at := 0
	for _, w := range strings.Split(want, ", ") {
		for at < len(words) && words[at] != w {
			at++
		}
		if f, ok := first[w]; at == len(words) || ok && f != at {
			return false
		}
		at++
	}
	return true
}

// inOrder reports whether the words of want come in got in this order.
func inOrder(got, want string) bool {
	words := strings.Split(got, ", ")
	for _, w := range strings.Split(want, ", ") {
		for len(words) > 0 && words[0] != w {
			words = words[1:]
		}
		if len(words) == 0 {
			return false
		}
		words = words[1:]
	}
	return true
}

func TestAClientIsAnsweredAfterTheSync(t *testing.T) {
	s := newSite(t, "")
	ask := func(event, more string) string {
		return fmt.Sprintf(`{"session_id":"c","transcript_path":"","cwd":%q,"hook_event_name":%q,"timestamp":"2026-05-06T07:08:09Z","tool_name":"run_shell_command","tool_input":{"command":"ls"}%s}`, s.dir, event, more)
	}
	for _, stdin := range []string{ask("BeforeTool", ""), ask("AfterTool", `,"tool_response":{"llmContent":"x","returnDisplay":"x"}`)} {
		trace, out := s.strace(stdin, "hook", "gemini")
		events := traceOf(trace, s.log())
		for _, line := range unsaved(events) {
			t.Errorf("this left before what was written was synced: %.300s", line)
		}
		if got := order(events, "write", "sync", "tell answer"); !inOrder(got, "write, sync, tell answer") {
			t.Errorf("the order was %s\n%s", got, out)
		}
	}
	if ops := s.must("ops", "list", "--client", "gemini", "--json"); !strings.Contains(ops, `"state":"finished"`) {
		t.Errorf("recorded is %s", ops)
	}
}

// The judge of a trace finds what it is there for.
func TestTracesAreJudged(t *testing.T) {
	const log = "/s/agentd.db-wal"
	for name, c := range map[string]struct {
		trace string
		bad   int
	}{
		"synced": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
1 fsync(9</s/agentd.db-wal>) = 0
2 write(1</o>, "{\"answer\":1}", 1) = 1`, 0},
		"not synced": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
2 write(1</o>, "{\"answer\":1}", 1) = 1`, 1},
		"told while the sync goes on": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
1 fsync(9</s/agentd.db-wal> <unfinished ...>
2 write(1</o>, "{\"answer\":1}", 1) = 1
1 <... fsync resumed>) = 0`, 1},
		"told when the sync came back": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
1 fsync(9</s/agentd.db-wal> <unfinished ...>
1 <... fsync resumed>) = 0
2 write(1</o>, "{\"answer\":1}", 1 <unfinished ...>`, 0},
		"a sync that failed": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
1 fdatasync(9</s/agentd.db-wal>) = -1 EIO (Input/output error)
2 write(7<socket:[1]>, "POST /v1/chat/completions HTTP/1.1", 1) = 1`, 1},
		"a sync of another file": {`1 pwrite64(9</s/agentd.db-wal>, "x", 1, 0) = 1
1 fsync(8</s/agentd.db>) = 0
3 execve("/bin/sh", ["sh", "-c", "echo ran >> witness.txt"], 0x1 /* 1 var */) = 0`, 1},
	} {
		if got := unsaved(traceOf(c.trace, log)); len(got) != c.bad {
			t.Errorf("%s: it finds %q, want %d", name, got, c.bad)
		}
	}
}
