package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

const says = "def ok(ctx, call):\n    return annotate(ok = True)\nhook(id = 'a', version = 'v1', run = ok)\n"

func works(t *testing.T, c *hookpoints.Chain) {
	t.Helper()
	if got := decide(t, c); len(got.Records) != 1 || !got.Records[0].Annotations.Get("ok").IsTrue() {
		t.Errorf("%+v", got.Records)
	}
}

// alone leaves one worker in the pool, which knows the script of the chain.
func alone(t *testing.T, p *Pool) *process {
	t.Helper()
	p.wg.Wait() // the spare
	var keep *process
	for range len(p.trusted.idle) {
		if w := <-p.trusted.idle; len(w.loaded) > 0 && keep == nil {
			keep = w
		} else {
			p.trusted.drop(w)
		}
	}
	if keep == nil {
		t.Fatal("no worker knows the script")
	}
	p.trusted.give(keep)
	return keep
}

func signal(t *testing.T, w *process, s unix.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// halt stops a worker, and waits until each of its threads stands.
func halt(t *testing.T, w *process) {
	t.Helper()
	signal(t, w, unix.SIGSTOP)
	for stands := false; !stands; runtime.Gosched() {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", w.cmd.Process.Pid))
		if err != nil || len(tasks) == 0 {
			t.Fatal(tasks, err)
		}
		stands = true
		for _, name := range tasks {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			stands = stands && strings.Contains(string(text), ") T ")
		}
	}
}

func TestAWorkerThatWasKilledBetweenDecisionsFailsNoHook(t *testing.T) {
	p := newPool(t)
	c := load(t, p, says, nil)
	p.wg.Wait()
	n := len(p.trusted.idle)
	for range n {
		w := <-p.trusted.idle
		signal(t, w, unix.SIGKILL)
		if _, err := w.cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		p.trusted.give(w)
	}
	works(t, c)
	works(t, c)
}

func TestAWorkerThatIsKilledWhileItDecidesIsAFailedHook(t *testing.T) {
	p := newPool(t)
	c := load(t, p, says, nil)
	works(t, c)
	w := alone(t, p)
	halt(t, w)
	done := make(chan hookpoints.Result, 1)
	go func() {
		res, err := c.Run(t.Context(), hookpoints.Ordinary, hookpoints.Request{Payload: example})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	for { // until it was asked
		left, err := unix.IoctlGetInt(int(w.conn), unix.SIOCOUTQ)
		if err != nil {
			t.Fatal(err)
		}
		if left > 0 {
			break
		}
		runtime.Gosched()
	}
	signal(t, w, unix.SIGKILL)
	if res := <-done; res.Outcome != hookpoints.Failed || res.Error != "hook_failed" {
		t.Errorf("%+v", res)
	}
	works(t, c)
}

func TestAWorkerThatIsStuckIsLate(t *testing.T) {
	p := newPool(t)
	c := load(t, p, says, nil)
	works(t, c)
	halt(t, alone(t, p))
	b := c.Bindings(hookpoints.Ordinary)[0]
	call := &hookpoints.Call{Point: c.Point(), Binding: b, Payload: example, State: payload.NewObject(), Around: &hookpoints.Around{}}
	if _, _, err := b.Hook.Decide(&soon{Context: t.Context(), left: 3}, call); !errors.Is(err, hookpoints.ErrHostTimeout) {
		t.Errorf("%v", err)
	}
	works(t, c)
}

func TestAWorkerThatWasToldALotIsReplaced(t *testing.T) {
	p := newPool(t)
	c := load(t, p, says, nil)
	works(t, c)
	w := alone(t, p)
	first := w.cmd.Process.Pid
	w.source = maxSource + 1
	works(t, c)
	works(t, c)
	if again := alone(t, p); again.cmd.Process.Pid == first {
		t.Error("it is the same")
	}
}
