package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fault makes the disk fail for a process from now on, and returns what ends that.
type fault struct {
	name   string
	state  func(t *testing.T) string // the state folder; "" is the project's
	start  func(t *testing.T, s *site, pid int) (end func())
	says   []string // what the run says
	doctor string   // what the doctor says while it lasts; "" is nothing
}

var faults = []fault{
	{name: "a full disk", state: smallDisk, says: []string{"the disk is full", "free some space on its disk"}, doctor: "free some space",
		start: func(t *testing.T, s *site, _ int) func() {
			filler := filepath.Join(s.state, "filler")
			fillDisk(t, filler)
			return func() { os.Remove(filler) }
		}},
	{name: "a write that fails", says: []string{"the disk refused it", "file too large"},
		start: func(t *testing.T, _ *site, pid int) func() {
			if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1}, nil); err != nil {
				t.Skipf("the files of another process can't be limited here: %v", err)
			}
			return func() {}
		}},
	{name: "a sync that fails", says: []string{"the disk refused it"}, start: failSyncs},
}

// smallDisk mounts one that can be filled.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m,mode=700"); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "state")
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// failSyncs has every sync of a process fail, by a tracer.
func failSyncs(t *testing.T, _ *site, pid int) func() {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace isn't installed, and it is what makes a sync fail")
	}
	c := exec.Command(strace, "-f", "-p", strconv.Itoa(pid), "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO")
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "attached") {
		_ = c.Wait()
		t.Skipf("no process can be traced here: %s", first)
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return func() { // it ends with what it traces
		<-rest
		_ = c.Wait()
	}
}

// A disk that fails in the middle of a run stops it: that is told as what it is, and nothing that isn't
// saved is acted on or told. When the disk works again, so does the run, and no tool runs twice.
func TestAFailingDiskStopsTheRun(t *testing.T) {
	for _, f := range faults {
		for _, moment := range []string{"while the model is asked", "while a tool runs"} {
			t.Run(f.name+" "+moment, func(t *testing.T) {
				state := ""
				if f.state != nil {
					state = f.state(t)
				}
				s := newSite(t, state)
				if err := unix.Mkfifo(s.fifo, 0o600); err != nil {
					t.Fatal(err)
				}
				s.fails(f, moment == "while a tool runs")
			})
		}
	}
}

func (s *site) fails(f fault, tool bool) {
	t := s.t
	c := s.command("run", "--json", "hello")
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s.waits("the model isn't asked", s.asked)
	requests, ran := 1, 0
	var end func()
	if tool {
		ran = 1
		s.answer <- struct{}{}
		w := s.tool()
		end = f.start(t, s, c.Process.Pid)
		if _, err := w.WriteString("the result\n"); err != nil {
			t.Fatal(err)
		}
		w.Close()
	} else {
		end = f.start(t, s, c.Process.Pid)
		s.answer <- struct{}{}
	}
	err := c.Wait()
	if c.ProcessState.ExitCode() != exitFailed {
		t.Errorf("the run ended with %v\n%s%s", err, &out, &talk)
	}
	s.told(out.String(), talk.String(), f, tool)
	if got := len(s.model.Requests()); got != requests || s.runs() != ran {
		t.Errorf("the model was asked %d times and the tool ran %d times, want %d and %d", got, s.runs(), requests, ran)
	}
	if f.doctor != "" {
		if said, code := s.tell("doctor"); code != exitFailed || !strings.Contains(said, f.doctor) {
			t.Errorf("the doctor says, with exit code %d:\n%s", code, said)
		}
	}
	end()
	if said, code := s.tell("doctor"); code != exitDone {
		t.Errorf("afterwards the doctor says, with exit code %d:\n%s", code, said)
	}
	s.must("store", "check")
	if err := os.Remove(s.fifo); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.answer <- struct{}{}
	}
	var list []struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(s.must("runs", "list", "--json")), &list); err != nil || len(list) != 1 {
		t.Fatalf("there are %v, %v", list, err)
	}
	if said := s.must("runs", "resume", "--json", "--retry-unknown-models", list[0].RunID); !strings.Contains(said, `"answer":"Done."`) {
		t.Errorf("the run doesn't come to its end:\n%s", said)
	}
	if s.runs() != 1 {
		t.Errorf("the tool ran %d times", s.runs())
	}
	s.must("store", "check")
}

// told checks the events: the failure is one of the journal, and nothing that wasn't saved is told.
func (s *site) told(out, talk string, f fault, tool bool) {
	t := s.t
	t.Helper()
	last := ""
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var e struct{ Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		last = line
		unsaved := e.Type == "tool.completed" || e.Type == "run.completed" || !tool && (e.Type == "model.completed" || e.Type == "tool.started")
		if unsaved {
			t.Errorf("this was told and not saved: %s", line)
		}
	}
	for _, part := range append([]string{"the journal could not be written"}, f.says...) {
		if !strings.Contains(last+talk, part) {
			t.Errorf("the end says nothing of %q: %s\n%s", part, last, talk)
		}
	}
	if !strings.Contains(last, `"type":"run.failed"`) {
		t.Errorf("the last event is %s", last)
	}
}

func TestAReadOnlyDiskIsSaidSo(t *testing.T) {
	s := newSite(t, smallDisk(t))
	s.once()
	if err := unix.Mount("", filepath.Dir(s.state), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"run", "hello"}, {"publish"}, {"store", "gc"}, {"serve"}} {
		if said, code := s.tell(verb...); code != exitFailed || !strings.Contains(said, "writable for this user") {
			t.Errorf("%v says, with exit code %d: %s", verb, code, said)
		}
	}
	if said, code := s.tell("doctor"); code != exitFailed || !strings.Contains(said, "-> make it writable for this user") {
		t.Errorf("the doctor says, with exit code %d:\n%s", code, said)
	}
	if err := unix.Mount("", filepath.Dir(s.state), "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	s.must("doctor")
	s.once()
}

// Whichever page is broken, nothing is made up: what can be read is right, the rest is said to be
// damaged, and the doctor says what to do.
func TestABrokenPageIsSaidSo(t *testing.T) {
	s := newSite(t, "")
	s.once()
	db := filepath.Join(s.state, "agentd.db")
	good, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	ops := s.must("ops", "list", "--json")
	ill := 0
	for at := 0; at < len(good); at += page {
		bad := bytes.Clone(good)
		copy(bad[at:at+page], bytes.Repeat([]byte{0xff}, page))
		if err := os.WriteFile(db, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if said, code := s.tell("ops", "list", "--json"); code == exitDone && said != ops || code != exitDone && !strings.Contains(said, "the database is damaged") {
			t.Errorf("page %d: ops list says, with exit code %d: %s", at/page+1, code, said)
		}
		said, code := s.tell("doctor")
		if code == exitDone {
			continue // nothing of importance stood there
		}
		ill++
		if code != exitFailed || !strings.Contains(said, "the database is damaged") || !strings.Contains(said, "put a copy back") {
			t.Errorf("page %d: the doctor says, with exit code %d:\n%s", at/page+1, code, said)
		}
		asked := len(s.model.Requests())
		if said, code := s.tell("store", "gc", "--keep", "0h"); code == exitDone {
			t.Errorf("page %d: gc removes something of it: %s", at/page+1, said)
		}
		if len(s.model.Requests()) != asked {
			t.Errorf("page %d: the model was asked", at/page+1)
		}
	}
	if ill < len(good)/page/2 {
		t.Errorf("of %d pages %d were found to be broken", len(good)/page, ill)
	}
	if err := os.WriteFile(db, good, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must("store", "check")
	s.once()
}
