//go:build linux && (amd64 || arm64)

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agentd/internal/facts"
)

// maxTraced is how many processes a line may have at once, and maxRuns how many programs it may
// start.
const (
	maxTraced = 200
	maxRuns   = 2000
	maxFile   = 8 << 20
)

// answer runs one line in the fresh workspace and tidies up behind it.
func (w *world) answer(q question) (truth, error) {
	places := map[string][]string{}
	follow := func() {
		for _, p := range q.Paths {
			at := facts.Real(context.Background(), p, w.plan.Cwd, facts.Options{})
			for _, name := range []string{at.Real, at.Entry} {
				if name != "" {
					places[p] = append(places[p], name)
				}
			}
		}
	}
	follow()
	out, err := w.trace(q)
	if err != nil {
		return out, err
	}
	follow()
	after, touched := readTree()
	out.Ran, out.Places = true, places
	out.Writes, out.Deletes = changes(w.plan.Cwd, w.fresh, after)
	return out, restore(w.fresh, after, touched)
}

// trace runs a line to the end of its last process.
func (w *world) trace(q question) (truth, error) {
	file, argv0 := "/usr/bin/"+q.Shell, q.Shell
	if q.Shell == "posix" {
		file, argv0 = "/usr/bin/bash", "sh"
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		return truth{}, err
	}
	defer null.Close()
	r, wr, err := os.Pipe()
	if err != nil {
		return truth{}, err
	}
	drained := make(chan struct{})
	go func() { // output is nobody's business; a program that floods ends by its time
		io.Copy(io.Discard, r)
		r.Close()
		close(drained)
	}()
	defer func() {
		wr.Close()
		<-drained
	}()
	id := w.plan.UID
	pid, err := syscall.ForkExec(file, []string{argv0, "-c", q.Line}, &syscall.ProcAttr{
		Dir: w.plan.Cwd,
		Env: []string{
			"PATH=" + w.plan.Path, "HOME=" + w.plan.Home, "USER=" + w.plan.User, "LOGNAME=" + w.plan.User, "SHELL=/bin/bash",
			"LANG=C.UTF-8", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "PWD=" + w.plan.Cwd,
		},
		Files: []uintptr{null.Fd(), wr.Fd(), wr.Fd()},
		Sys: &syscall.SysProcAttr{
			Ptrace: true, Setsid: true,
			Cloneflags:  syscall.CLONE_NEWUSER, // so that it is an ordinary user even where only one can be had
			UidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: id, HostID: 0, Size: 1}},
		},
	})
	if err != nil {
		return truth{}, fmt.Errorf("%s can't be started: %w", file, err)
	}
	t := tracer{main: pid, live: map[int]bool{}, out: truth{Exit: -1}}
	err = t.follow(q.Limit)
	return t.out, err
}

// tracer follows a process and all that come from it.
type tracer struct {
	main int
	live map[int]bool
	out  truth
	cut  atomic.Bool
}

func (t *tracer) follow(limit time.Duration) error {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.main, &ws, 0, nil); err != nil || !ws.Stopped() {
		return fmt.Errorf("the shell didn't stop to be traced: %v, %#x", err, ws)
	}
	const options = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(t.main, options); err != nil {
		return fmt.Errorf("the shell can't be traced: %w", err)
	}
	for what, most := range map[int]uint64{unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_CORE: 0, unix.RLIMIT_DATA: 2 << 30} {
		if err := unix.Prlimit(t.main, what, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
			return err
		}
	}
	t.live[t.main] = true
	if err := syscall.PtraceCont(t.main, 0); err != nil {
		return err
	}
	// Whatever is left is ended: what it had to start, it started.
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		end := time.NewTimer(limit)
		defer end.Stop()
		for wait := end.C; ; {
			select {
			case <-stop:
				return
			case <-wait:
				t.cut.Store(true)
				syscall.Kill(-1, syscall.SIGKILL) // all but this process
				wait = time.After(10 * time.Millisecond)
			}
		}
	}()
	err := t.loop()
	close(stop)
	<-stopped
	if t.cut.Load() && t.out.Cut == "" {
		t.out.Cut = "time"
	}
	return err
}

func (t *tracer) loop() error {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD:
			return nil
		case err != nil:
			return err
		}
		if ws.Exited() || ws.Signaled() {
			delete(t.live, pid)
			if pid == t.main {
				if t.out.Exit = ws.ExitStatus(); ws.Signaled() {
					t.out.Exit = 128 + int(ws.Signal())
				}
			}
			continue
		}
		if !ws.Stopped() {
			continue
		}
		signal := 0
		switch sig := ws.StopSignal(); {
		case sig == syscall.SIGTRAP && ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
			t.started(pid)
		case sig == syscall.SIGTRAP && ws.TrapCause() > 0:
		case !t.live[pid]: // stopped at birth
			t.live[pid] = true
		default:
			signal = int(sig)
		}
		if len(t.live) > maxTraced || len(t.out.Runs) > maxRuns {
			t.out.Cut = "too many processes"
			syscall.Kill(-1, syscall.SIGKILL)
		}
		if err := syscall.PtraceCont(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// started reads what a process has just become.
func (t *tracer) started(pid int) {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return // it was killed
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return // it was killed since
	}
	argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	if exe == stubShell { // a script in place of a program
		exe = argv[min(1, len(argv)-1)]
		argv = append([]string{path.Base(exe)}, argv[min(2, len(argv)):]...)
	}
	if strings.HasPrefix(exe, "/usr/lib/git-core/") || strings.HasPrefix(exe, "/usr/libexec/git-core/") {
		return
	}
	r := run{Program: path.Base(exe), Argv: argv}
	if path.Dir(exe) != "/usr/bin" {
		r.Path = exe
	}
	t.out.Runs = append(t.out.Runs, r)
}
