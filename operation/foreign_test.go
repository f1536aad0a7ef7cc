package operation_test

import (
	"errors"
	"testing"

	"agentd/hookpoints"
	"agentd/operation"
)

const foreignScript = `
def before(ctx, call):
    said = call.arguments.get("say")
    return [remember(n = ctx.state.get("n", 0) + 1)] + {
        "patch": [patch(arguments = {"say": "patched"}), context("hint")], "reject": [reject("no")], "stop": [stop("enough")], "respond": [respond("mine")], "guarded": [respond("mine")],
    }.get(said, [])

hook(id = "before", version = "1", run = before, point = "tool.before", state = "n")

def crash(ctx, call):
    return fail("boom") if call.arguments.get("say") == "crash" else None

hook(id = "crash", version = "1", run = crash, point = "tool.before", priority = 200)

def guard(ctx, call):
    return reject("guarded") if call.arguments.get("say") in ("guarded", "edited to guarded") else None

hook(id = "guard", version = "1", run = guard, point = "tool.before", guard = True)

def confirm(ctx, call):
    return {"allow": allow("fine"), "deny": deny("bad"), "ask": ask("sure?"), "edit": edit(arguments = {"say": "edited"}),
        "edit badly": edit(arguments = {"say": "edited to guarded"})}.get(call.arguments.get("say"))

hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm")

def after(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), patch(value = ["seen", call.value, ctx.now])]

hook(id = "after", version = "1", run = after, point = "tool.after", state = "n")
`

// foreign is a client's call.
func (l *lab) foreign(id, say string) operation.Action {
	a := l.action(call{id: id, kind: "shell", args: object(field("say", text(say)))})
	a.Head.RunID, a.Head.Client = "", "gemini"
	return a
}

func TestForeignBefore(t *testing.T) {
	for _, c := range []struct{ say, want, commits string }{
		{"nothing", `a running not_started effective={"say":"nothing"}`, "intent a\n"},
		{"patch", `a running not_started effective={"say":"patched"} text=project/before:hint`, "intent a\n"},
		{"reject", `a rejected not_started effective={"say":"reject"} by=project/before code=rejected reason=no`, "intent a\n"},
		{"stop", `a stopped not_started effective={"say":"stop"} by=project/before reason=enough stop`, "intent a\n"},
		{"respond", `a responded succeeded effective=["seen","mine","2026-03-04T05:06:07.000Z"] raw="mine" by=project/before`, "intent a, after a\n"},
		{"guarded", `a rejected not_started effective={"say":"guarded"} by=project/guard code=rejected reason=guarded`, "intent a\n"},
		{"crash", `a rejected not_started effective={"say":"crash"} by=project/crash code=hook_failed reason=the_hook_failed`, "intent a\n"},
		{"allow", `a running not_started effective={"say":"allow"} by=project/confirm reason=fine`, "intent a\n"},
		{"deny", `a rejected not_started effective={"say":"deny"} by=project/confirm code=denied reason=bad`, "intent a\n"},
		{"ask", `a waiting not_started effective={"say":"ask"} by=project/confirm reason=sure?`, "intent a\n"},
		{"edit", `a running not_started effective={"say":"edited"} by=project/confirm`, "intent a\n"},
		{"edit badly", `a rejected not_started effective={"say":"edited to guarded"} by=project/guard code=rejected reason=guarded`, "intent a\n"},
	} {
		t.Run(c.say, func(t *testing.T) {
			l := newLab(t, foreignScript)
			done, err := l.session("").ForeignBefore(t.Context(), l.foreign("a", c.say))
			if err != nil {
				t.Fatal(err)
			}
			if done.State != operation.Responded {
				done.Effective = done.Effective.Get("arguments")
			}
			same(t, "done", describe(done), c.want)
			same(t, "commits", l.commits(), c.commits)
			open, err := l.journal.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			running := done.State == operation.Running || done.State == operation.Waiting
			if (len(open) == 1) != running {
				t.Errorf("open: %v", open)
			}
			for _, h := range open {
				if !h.Foreign {
					t.Errorf("head %+v", h)
				}
			}
		})
	}
}

func TestForeignAfterGoesOnWhereItsBeforeEventEnded(t *testing.T) {
	l := newLab(t, foreignScript)
	if _, err := l.session("").ForeignBefore(t.Context(), l.foreign("a", "patch")); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf[operation.Row](l, "a")
	l.serve(`
def after(ctx, call):
    return patch(value = "of another revision")

hook(id = "after", version = "1", run = after, point = "tool.after")
`)
	a := l.foreign("new", "as reported")
	a.Head = operation.Summarise(rows).Head
	done, err := l.session("").ForeignAfter(t.Context(), a, rows, text("real"), operation.Succeeded)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done), `a finished succeeded effective=["seen","real","2026-03-04T05:06:07.000Z"] raw="real"`)
	same(t, "commits", l.commits(), "intent a\noutcome a, after a\n")
	same(t, "cells", l.cells(), "project/n {\"n\":2}\n")
	if _, err := l.session("").ForeignAfter(t.Context(), a, rowsOf[operation.Row](l, "a"), text("real"), operation.Succeeded); err == nil {
		t.Error("an operation that is over takes another report")
	}
	if open, err := l.journal.Open(t.Context()); err != nil || len(open) > 0 {
		t.Error(open, err)
	}
}

func TestAForeignReportWithoutItsBeforeEventIsAnOperationOfItsOwn(t *testing.T) {
	l := newLab(t, foreignScript)
	done, err := l.session("").ForeignAfter(t.Context(), l.foreign("a", "x"), nil, text("real"), operation.Failed)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done), `a finished failed effective=["seen","real","2026-03-04T05:06:07.000Z"] raw="real" reason=no_before_event_was_seen`)
	same(t, "commits", l.commits(), "intent a, outcome a, after a\n")
}

func TestWhatAClientLeftOpenIsUnobservedAndNeverAskedAboutAgain(t *testing.T) {
	l := newLab(t, "")
	for _, id := range []string{"a", "b"} {
		if _, err := l.session("").ForeignBefore(t.Context(), l.foreign(id, "x")); err != nil {
			t.Fatal(err)
		}
	}
	open, err := l.journal.Open(t.Context())
	if err != nil || len(open) != 2 {
		t.Fatal(open, err)
	}
	if err := l.rt.Runner().Unobserve(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	same(t, "commits", l.commits(), "intent a\nintent b\nafter a, after b\n")
	if open, err = l.journal.Open(t.Context()); err != nil || len(open) > 0 {
		t.Error(open, err)
	}
	sum := operation.Summarise(rowsOf[operation.Row](l, "a"))
	if sum.State != operation.Unobserved || !sum.Done() {
		t.Errorf("%+v", sum)
	}
	if err := l.rt.Runner().Unobserve(t.Context(), nil); err != nil || l.journal.Commits() != 3 {
		t.Errorf("nothing to close: %v, %d commits", err, l.journal.Commits())
	}
	if _, err := l.session("").ForeignAfter(t.Context(), l.foreign("a", "x"), rowsOf[operation.Row](l, "a"), text("late"), operation.Succeeded); err == nil {
		t.Error("it takes a report a day late")
	}
	if err := l.rt.Runner().AllowRetry(t.Context(), "a", ""); err == nil {
		t.Error("a client's action isn't ours to repeat")
	}
}

// TestForeignSameAsksNoChain: a second event about an action is journaled, and its end is reported like any other.
func TestForeignSameAsksNoChain(t *testing.T) {
	l := newLab(t, foreignScript)
	done, err := l.session("").ForeignSame(t.Context(), l.foreign("b", "reject"), "decided as a")
	if err != nil || done.State != operation.Running || done.Outcome != hookpoints.Continued || len(done.Texts) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	same(t, "commits", l.commits(), "intent b\n")
	same(t, "cells", l.cells(), "")
	rows := rowsOf[operation.Row](l, "b")
	if sum := operation.Summarise(rows); sum.State != operation.Unobserved || sum.Reason != "decided as a" {
		t.Errorf("%+v", sum)
	}
	a := l.foreign("b", "reject")
	if done, err = l.session("").ForeignAfter(t.Context(), a, rows, text("real"), operation.Succeeded); err != nil || done.State != operation.Finished {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestWhatWasNeverDecidedIsNoAnswer: nothing lets an event through that is only half saved.
func TestWhatWasNeverDecidedIsNoAnswer(t *testing.T) {
	l := newLab(t, foreignScript)
	for what, c := range map[string]struct {
		rows []operation.Row
		want error
	}{
		"a failure": {[]operation.Row{operation.FailedRow{Op: "a", Point: "turn.before", By: "project/h", Error: "hook_failed"}}, operation.ErrHook},
		"a hook's":  {[]operation.Row{operation.HookRow{Head: operation.Head{ID: "a"}}}, operation.ErrRecovery},
	} {
		if done, err := l.session("").ForeignAgain(t.Context(), l.foreign("a", "x"), c.rows, "turn.before", false); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", what, done, err)
		}
	}
}
