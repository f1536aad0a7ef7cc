package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/operation"
	"agentd/operation/journaltest"
)

const (
	oneNote  = "turns: [{calls: [{name: note, arguments: {line: one}}]}, {text: Done.}, {text: More.}]"
	twoNotes = "turns: [{calls: [{name: note, arguments: {line: one}}, {name: note, arguments: {line: two}}]}, {text: Done.}, {text: More.}]"
)

// flaky is a hook that fails the first so many times.
func flaky(point string, failures int) agentd.GoHook {
	return agentd.GoHook{ID: "flaky", Version: "1", ReplaySafe: true, Points: []string{point}, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("out of luck")
		}
		return nil, nil
	}}
}

func TestAFailedHookStopsTheRunAndAResumeGoesOnThere(t *testing.T) {
	for _, point := range []string{"run.before", "session.start", "turn.before", "step.before", "model.chat.before", "model.chat.after", "tool.after", "step.after", "turn.after", "run.after"} {
		t.Run(point, func(t *testing.T) {
			d := newDesk(t, "", "", oneNote, flaky(point, 2))
			for range 2 {
				res := d.run(d.task("r", "do it"))
				if res.Status != agent.Failed || !strings.Contains(res.Reason, "shipped/flaky at "+point) {
					t.Fatalf("%+v", res)
				}
			}
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			same(t, "requests", len(d.requests), 2)
			same(t, "witness", d.witness(), []string{"one"})
			open, err := d.journal.Open(t.Context())
			if err != nil || len(open) > 0 {
				t.Errorf("open at the end: %v, %v", open, err)
			}
		})
	}
}

func TestAFailedHookBeforeAToolIsToldToTheModel(t *testing.T) {
	d := newDesk(t, "", "", oneNote, flaky("tool.before", 1))
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	same(t, "witness", d.witness(), []string(nil))
	if !strings.Contains(d.lastRequest(), `{"error":"not executed: the hook failed","code":"hook_rejected","reason_code":"hook_failed"}`) {
		t.Error(d.lastRequest())
	}
}

func TestAHookThatFailsAtTheEndOfASessionChangesNothing(t *testing.T) {
	d := newDesk(t, "", "", "turns: [{text: Done.}]", flaky("session.end", 9))
	task := d.task("r", "do it")
	task.Ends = true
	d.want(task, agent.Completed, "Done.")
	d.want(task, agent.Completed, "Done.")
	same(t, "requests", len(d.requests), 1)
}

func TestSessionEndFiresOnceAndOnlyWhereTheSessionEnds(t *testing.T) {
	ended := 0
	count := agentd.GoHook{ID: "count", Version: "1", ReplaySafe: true, Points: []string{"session.end"}, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		ended++
		return nil, nil
	}}
	d := newDesk(t, "", "", "turns: [{text: Done.}, {text: More.}]", count)
	first := d.task("r1", "do it")
	d.want(first, agent.Completed, "Done.")
	same(t, "ended", ended, 0)
	second := d.task("r2", "more")
	second.Earlier, second.Ends = []agent.Task{first}, true
	d.want(second, agent.Completed, "More.")
	d.want(second, agent.Completed, "More.")
	same(t, "ended", ended, 1)
}

// cancelling is a gate that ends the run's context instead of answering.
type cancelling struct{ cancel func() }

// Ask implements operation.Gate.
func (c cancelling) Ask(ctx context.Context, _ operation.Question) (operation.Answer, error) {
	c.cancel()
	return operation.Answer{}, ctx.Err()
}

// answering is a gate that answers with a verb each time, "" when nobody is there.
type answering []string

// Ask implements operation.Gate.
func (a *answering) Ask(context.Context, operation.Question) (operation.Answer, error) {
	verb := (*a)[0]
	*a = (*a)[1:]
	if verb == "" {
		return operation.Answer{}, operation.ErrWaiting
	}
	return operation.Answer{Verb: verb, Who: "me"}, nil
}

func TestARunWaitsForAPersonAndGoesOnWithTheAnswer(t *testing.T) {
	d := newDesk(t, "", "confirm: ask\n", twoNotes)
	d.person = &answering{"allow", "", "", "deny"}
	for range 2 {
		d.want(d.task("r", "do it"), agent.Waiting, "")
	}
	same(t, "witness", d.witness(), []string(nil))
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	same(t, "witness", d.witness(), []string{"one"})
	same(t, "requests", len(d.requests), 2)
	if !strings.Contains(d.lastRequest(), "a person said no") {
		t.Error(d.lastRequest())
	}
}

func TestARunThatIsEndedWhileItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		cause  error
		status string
	}{"by a person": {agent.ErrCancel, agent.Cancelled}, "by the daemon": {errors.New("the daemon stops"), agent.Interrupted}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
def status(ctx, call):
    return patch(annotations = {"status": call.status})

hook(id = "status", version = "1", run = status, point = "run.after")
`, "confirm: ask\n", oneNote)
			ctx, cancel := context.WithCancelCause(t.Context())
			d.person = cancelling{func() { cancel(c.cause) }}
			res, err := d.start(ctx, d.task("r", "do it"))
			if err != nil || res.Status != c.status {
				t.Fatal(res, err)
			}
			sum := d.summary("r")
			if wantDone := c.status == agent.Cancelled; sum.Whole != wantDone || wantDone != (sum.Status == operation.Cancelled) {
				t.Errorf("the run is %s %s, whole %v", sum.State, sum.Status, sum.Whole)
			}
			d.person = &answering{"allow"}
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			same(t, "witness", d.witness(), []string{"one"})
		})
	}
}

func TestARunThatIsInterruptedDuringAToolTellsTheModelThatNobodyKnows(t *testing.T) {
	d := newDesk(t, "", "", `turns: [{calls: [{name: shell, arguments: {command: "echo begun > begun; sleep 60"}}, {name: note, arguments: {line: two}}]}, {text: Done.}]`)
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := syscall.Mkfifo(filepath.Join(d.dir, "begun"), 0o600); err != nil {
		t.Fatal(err)
	}
	var begun sync.WaitGroup
	begun.Go(func() {
		if _, err := os.ReadFile(filepath.Join(d.dir, "begun")); err != nil { // it comes when the command writes
			t.Error(err)
		}
		cancel(errors.New("the daemon stops"))
	})
	res, err := d.start(ctx, d.task("r", "do it"))
	begun.Wait()
	if err != nil || res.Status != agent.Interrupted {
		t.Fatal(res, err)
	}
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	if !strings.Contains(d.lastRequest(), "nobody knows whether this ran") || !strings.Contains(d.lastRequest(), `{"noted":"two"}`) {
		t.Error(d.lastRequest())
	}
	if !strings.Contains(d.told(), "tool.uncertain") {
		t.Error(d.told())
	}
}

func TestACallThatCantBeMadeIsNeverUnknown(t *testing.T) {
	for _, place := range []string{"intent.tool", "action.tool", "after.tool"} {
		d := newDesk(t, "", "", "turns: [{calls: [{name: nothing}]}, {text: Done.}]")
		d.at = journaltest.CrashAt(place, 1)
		if journaltest.Dies(func() { d.run(d.task("r", "do it")) }) == "" {
			t.Fatalf("it doesn't come to %s", place)
		}
		d.at = nil
		d.want(d.task("r", "do it"), agent.Completed, "Done.")
		if !strings.Contains(d.lastRequest(), "there is no such tool") {
			t.Errorf("%s: %s", place, d.lastRequest())
		}
	}
}

func TestALongResultIsCutForTheModelOnly(t *testing.T) {
	d := newDesk(t, "", "", `turns: [{calls: [{name: shell, arguments: {command: "printf 'é%.0s' $(seq 30000)"}}]}, {text: Done.}]`)
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	messages := d.requests[1]
	shown := []rune(messages.At(messages.Len() - 1).Get("content").Text())
	if n := len(shown); n != 24000+len("\n[cut]") || string(shown[n-5:]) != "[cut]" {
		t.Errorf("the model is shown %d characters", n)
	}
	if n := len(d.summary("r/t1/s1/c1").Raw.Get("output").Text()); n < 30000 {
		t.Errorf("the journal holds %d bytes", n)
	}
}

func TestARunStaysWithItsRevisions(t *testing.T) {
	hook := func(said string) string {
		return `
hook(id = "say", version = "1", run = lambda ctx, call: patch(value = "` + said + `"), point = "tool.after")
`
	}
	d := newDesk(t, hook("old"), "", oneNote)
	task := d.task("r", "do it")
	d.at = journaltest.CrashAt("action.tool", 1)
	if journaltest.Dies(func() { d.run(task) }) == "" {
		t.Fatal("it didn't die")
	}
	d.at = nil
	// The outcome is lost with the process, so only what comes later shows the revision.
	d.serve(hook("new"), "max_steps: 1\n")
	d.want(task, agent.Completed, "Done.")
	d.reply = says(`{"role":"assistant","content":null,"tool_calls":[{"id":"x","function":{"name":"note","arguments":"{\"line\":\"two\"}"}}]}`)
	next := d.task("r2", "again")
	next.Earlier = []agent.Task{task}
	if res := d.run(next); res.Status != agent.Failed || !strings.Contains(res.Reason, "max_steps") {
		t.Errorf("%+v", res)
	}
	same(t, "shown", strings.Contains(d.told(), `value="new"`) && !strings.Contains(d.told(), `value="old"`), true)
}

func TestAnAgentThatIsntThereFailsTheRun(t *testing.T) {
	d := newDesk(t, "", "", "turns: [{text: Done.}]")
	task := d.task("r", "do it")
	task.Agent = "nobody"
	if res := d.run(task); res.Status != agent.Failed || !strings.Contains(res.Reason, `no agent "nobody"`) {
		t.Errorf("%+v", res)
	}
}
