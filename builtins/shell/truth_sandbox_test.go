//go:build linux && (amd64 || arm64)

package shell_test

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// The truth about a command line is had by running it: under a real shell, in a root folder of its
// own that holds the corpus' fixture, as an ordinary user without capabilities and network. The test
// binary runs itself again as the first process of new namespaces, makes that root, and answers
// questions over a pair of pipes. Whatever a line starts is traced, so that it is known which
// programs were started, also by programs. Those that reach out or are hard to undo are replaced.

// sandboxEnv tells the test binary that it is the first process of a sandbox.
const sandboxEnv = "AGENTD_SHELL_SANDBOX"

func init() {
	if os.Getenv(sandboxEnv) == "" || os.Getpid() != 1 { // nobody else's folders are to be mounted over
		return
	}
	runtime.LockOSThread()                   // tracing belongs to a thread
	signal.Notify(make(chan os.Signal, 100)) // lines can signal their init, and must not inherit what it ignores
	if err := serveTruth(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// question is one line to run.
type question struct {
	Shell string   // "bash", "dash", or "posix": bash by the name of sh
	Line  string   // what follows -c
	Paths []string // to follow before and after the run
	Limit time.Duration
}

// run is a program that was started.
type run struct {
	Program string // base name of the file
	Path    string // its folder and name, where it doesn't lie in /usr/bin
	Argv    []string
}

// truth is what happened.
type truth struct {
	Ran             bool
	Runs            []run // in order of time
	Writes, Deletes []string
	Exit            int
	Cut             string // why it was ended early
	Places          map[string][]string
	Failed          string // the sandbox couldn't do it
}

// sandbox is a running one.
type sandbox struct {
	Missing map[string]bool // programs of the corpus that this machine doesn't have

	proc *os.Process
	ask  *gob.Encoder
	told *gob.Decoder
	in   io.Closer
}

// hello is the first message of a sandbox.
type hello struct {
	Missing []string
	Failed  string
}

// openSandbox skips the test where the kernel forbids one.
func openSandbox(t testing.TB) *sandbox {
	t.Helper()
	plan, err := os.ReadFile("../../testdata/corpora/shell-fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 { // the root of the sandbox is nobody outside
		const nobody = 65534
		uid, gid = nobody, nobody
		attr.Credential = &syscall.Credential{}
		attr.GidMappingsEnableSetgroups = true
	}
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	proc, err := os.StartProcess("/proc/self/exe", []string{"sandbox"}, &os.ProcAttr{
		Dir: "/", Env: []string{sandboxEnv + "=1"}, Files: []*os.File{inR, outW, os.Stderr}, Sys: attr,
	})
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		t.Skipf("lines can't be run here: no new namespaces: %v", err)
	}
	s := &sandbox{Missing: map[string]bool{}, proc: proc, ask: gob.NewEncoder(inW), told: gob.NewDecoder(outR), in: inW}
	t.Cleanup(func() {
		s.in.Close()
		proc.Kill()
		proc.Wait()
		outR.Close()
	})
	if err := s.ask.Encode(plan); err != nil {
		t.Skipf("lines can't be run here: %v", err)
	}
	var h hello
	if err := s.told.Decode(&h); err != nil {
		t.Skipf("lines can't be run here: the sandbox ended: %v", err)
	}
	if h.Failed != "" {
		t.Skipf("lines can't be run here: %s", h.Failed)
	}
	for _, m := range h.Missing {
		s.Missing[m] = true
	}
	return s
}

// fataler is the part of a test that a run needs.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// run runs one line.
func (s *sandbox) run(t fataler, q question) truth {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10 * time.Second
	}
	var out truth
	if err := errors.Join(s.ask.Encode(q), s.told.Decode(&out)); err != nil {
		t.Fatal("the sandbox is gone: ", err)
	}
	if out.Failed != "" {
		t.Fatal("the sandbox failed: ", out.Failed)
	}
	return out
}

// serveTruth is the sandbox's side.
func serveTruth(in io.Reader, out io.Writer) error {
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	var plan []byte
	if err := from.Decode(&plan); err != nil {
		return err
	}
	w, err := buildWorld(plan)
	if err != nil {
		return to.Encode(hello{Failed: err.Error()})
	}
	if err := to.Encode(hello{Missing: w.missing}); err != nil {
		return err
	}
	for {
		var q question
		if err := from.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := w.answer(q)
		if err != nil {
			answer = truth{Failed: err.Error()}
		}
		if err := to.Encode(answer); err != nil {
			return err
		}
	}
}
