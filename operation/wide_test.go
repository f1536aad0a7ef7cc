package operation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
)

// wideScript counts for the project wherever the kind of the tool, or the prompt, says.
const wideScript = `
def count(ctx):
    n = ctx.state.get("n", 0) + 1
    return n, remember(n = n)

def before(ctx, call):
    n, kept = count(ctx)
    out = [kept, patch(arguments = {"n": n}), context("count %d" % n)]
    if ctx.target == "rejects":
        out.append(reject("no %d" % n))
    if ctx.target == "responds":
        out.append(respond("mine %d" % n))
    return out

def after(ctx, call):
    n, kept = count(ctx)
    return [kept, patch(value = "shown %d" % n), context("count %d" % n)]

def confirm(ctx, call):
    if ctx.target == "asks-after":
        return ask("sure?")
    n, kept = count(ctx)
    return [kept, ask("sure %d?" % n) if ctx.target == "asks" else edit(arguments = {"n": n})]

def write(ctx, call):
    n, kept = count(ctx)
    return [kept, patch(content = "content %d" % n)]

def wrote(ctx, call):
    n, kept = count(ctx)
    return [kept, context("wrote %d" % n)]

def finally_(ctx, call):
    return count(ctx)[1] if ctx.target == "finally" else None

def turn(ctx, call):
    n, kept = count(ctx)
    return [kept, context("count %d" % n)]

W = {"name": "all", "scope": "project"}
hook(id = "before", version = "1", run = before, point = "tool.before", state = W, targets = ["before", "rejects", "responds", "asks-after", "read"])
hook(id = "after", version = "1", run = after, point = "tool.after", state = W, targets = ["after", "responds"])
hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm", state = W, targets = ["asks-after", "asks", "allows"])
hook(id = "write", version = "1", run = write, point = "file.write.before", state = W)
hook(id = "wrote", version = "1", run = wrote, point = "file.write.after", state = W)
hook(id = "finally", version = "1", run = finally_, point = "operation.finally", state = W, observation = True)
hook(id = "turn", version = "1", run = turn, point = "turn.before", state = W)

def own(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "own", version = "1", run = own, point = ["tool.before", "turn.before"], priority = 1)
`

const wideCell = "project-wide:project/all"

// quicker makes another session add 100 to the project's count before each of the next commits that
// write it (with l.readers: or that only saw it).
func (l *lab) quicker(times int) {
	l.rival = func(c operation.Commit) {
		if times == 0 || !slices.ContainsFunc(c.Cells, func(c operation.Cell) bool { return c.Session == "" && (c.Value.Exists() || l.readers) }) {
			return
		}
		times--
		now, err := l.journal.Cells(context.Background(), "")
		if err != nil {
			l.t.Fatal(err)
		}
		n, _ := now[wideCell].Value.Get("n").Int64()
		cell := operation.Cell{Name: wideCell, Value: object(field("n", payload.NewInt(n+100))), Version: now[wideCell].Version}
		if err := l.journal.Commit(context.Background(), operation.Commit{Cells: []operation.Cell{cell}}); err != nil {
			l.t.Fatal(err)
		}
	}
}

func TestAChainIsRunAgainWhenAnotherSessionChangedTheProjectsState(t *testing.T) {
	for _, c := range []struct {
		what  string
		calls string
		adds  int    // how often the chains count, all in all
		want  string // with N for what the first count gives, M for the second
		files string
	}{
		{"before", "a before {}", 1, `a finished succeeded effective="raw a" text=project/before:count_N`, ""},
		{"before, rejected", "a rejects {}", 1, `a rejected not_started by=project/before code=rejected reason=no_N text=project/before:count_N`, ""},
		{"before and after, responded", "a responds {}", 2, `a responded succeeded effective="shown M" raw="mine N" by=project/before text=project/before:count_N text=project/after:count_M`, ""},
		{"after", "a after {}", 1, `a finished succeeded effective="shown N" raw="raw a" text=project/after:count_N`, ""},
		{"confirm", "a allows {}", 1, `a finished succeeded effective="raw a"`, ""},
		{"question", "a asks {}", 1, `a finished succeeded effective="raw a" by=me`, ""},
		{"before, then a question", "a asks-after {}", 1, `a finished succeeded effective="raw a" by=me text=project/before:count_N`, ""},
		{"file.write.before and after", `a write {"path":"f","content":"x"}`, 2, `a finished succeeded effective="raw a" text=project/wrote:wrote_M write=content N`, "content N"},
		{"operation.finally", "a finally {}", 1, `a finished succeeded effective="raw a"`, ""},
		{"in a batch", "x shell {}\na read {}\nb read {}\ny shell {}", 2, "x finished succeeded effective=\"raw x\"\na finished succeeded effective=\"raw a\" text=project/before:count_N\n" +
			"b finished succeeded effective=\"raw b\" text=project/before:count_M\ny finished succeeded effective=\"raw y\"", ""},
		{"one of a batch asks", "x read {}\na asks {}\nb read {}", 3, "x finished succeeded effective=\"raw x\" text=project/before:count_N\na finished succeeded effective=\"raw a\" by=me\n" +
			"b finished succeeded effective=\"raw b\" text=project/before:count_L", ""},
	} {
		for conflicts := range 4 {
			t.Run(fmt.Sprintf("%s, %d times", c.what, conflicts), func(t *testing.T) {
				l := newLab(t, wideScript)
				l.person.answers = []string{"allow"}
				calls := parseCalls(t, c.calls)
				s := l.session("r") // it knows nothing of what comes now
				other, err := l.rt.Session(t.Context(), "other")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := other.Point(t.Context(), l.head("other", "turn"), 0, "turn.before", l.around(l.head("other", "turn")), object(field("prompt", text("x")))); err != nil {
					t.Fatal(err)
				}
				if err := other.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				l.told = nil
				l.quicker(conflicts)
				done, err := l.batch(s, calls...)
				if err != nil {
					t.Fatal(err)
				}
				numbers := strings.NewReplacer("N", fmt.Sprint(2+100*conflicts), "M", fmt.Sprint(3+100*conflicts), "L", fmt.Sprint(4+100*conflicts))
				var got []string
				for _, d := range done {
					got = append(got, describe(d))
				}
				same(t, "done", strings.Join(got, "\n"), numbers.Replace(c.want))
				same(t, "the cell", l.cell(wideCell), fmt.Sprintf(`{"n":%d}`, 1+100*conflicts+c.adds))
				same(t, "its own cell", l.cell("project/own"), fmt.Sprintf(`{"n":%d}`, len(calls)))
				if c.files != "" {
					same(t, "file", l.files["f"], numbers.Replace(c.files))
				}
				for _, call := range calls {
					if n := l.tries[call.id]; n > 1 || n == 0 && call.kind != "rejects" && call.kind != "responds" {
						t.Errorf("%s ran %d times", call.id, n)
					}
					told := 0
					for _, line := range l.told {
						if line == call.id+" project/own" {
							told++
						}
					}
					if told != 1 {
						t.Errorf("of the hook own at %s was told %d times", call.id, told)
					}
				}
				if len(l.person.asked) > 1 {
					t.Errorf("asked: %q", l.person.asked)
				}
				for _, q := range l.person.asked {
					if c.what == "question" && q != numbers.Replace("a sure N?") {
						t.Errorf("asked: %q", q)
					}
				}
				// Taken up again, it is what it was.
				again, err := l.batch(l.session("r"), calls...)
				if err != nil {
					t.Fatal(err)
				}
				for i, d := range again {
					same(t, "taken up again", describe(d), got[i])
				}
				same(t, "the cell", l.cell(wideCell), fmt.Sprintf(`{"n":%d}`, 1+100*conflicts+c.adds))
			})
		}
	}
}

func TestAfterThreeTimesInVainItIsTheHooksFailure(t *testing.T) {
	trace := `project/%s error: hook_failed: the state "project-wide:project/all" was changed by other sessions each of the 4 times that this chain ran`
	l := newLab(t, wideScript)
	l.quicker(4)
	done, err := l.batch(l.session("r"), parseCalls(t, "x shell {}\na before {}\ny shell {}")...)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a tool", describe(done[1]), `a rejected not_started by=project/before code=hook_failed reason=the_hook_failed`)
	same(t, "its neighbours", describe(done[0])+" "+describe(done[2]), `x finished succeeded effective="raw x" y finished succeeded effective="raw y"`)
	same(t, "the cell", l.cell(wideCell), `{"n":400}`)
	same(t, "its own cell", l.cell("project/own"), `{"n":3}`)
	same(t, "records", l.records("a"), lines([]string{"a tool.before own: remember", "a tool.before before: remember hook_failed", "a operation.finally finally: none"}))
	same(t, "trace", l.trace, []string{fmt.Sprintf(trace, "before")})
	if l.tries["a"] != 0 {
		t.Error("it ran")
	}

	l = newLab(t, wideScript)
	l.quicker(4)
	h := l.head("t", "turn")
	s := l.session("r")
	_, err = s.Point(t.Context(), h, 0, "turn.before", l.around(h), object(field("prompt", text("x"))))
	if !errors.Is(err, operation.ErrHook) || !strings.Contains(err.Error(), "project/turn at turn.before: hook_failed") {
		t.Fatalf("a point: %v", err)
	}
	same(t, "cells", l.cells(), lines([]string{wideCell + ` {"n":400}`}))
	// When the run is resumed it is computed again.
	again, err := l.session("r").Point(t.Context(), h, 0, "turn.before", l.around(h), object(field("prompt", text("x"))))
	if err != nil || again.Texts[0].Text != "count 401" {
		t.Errorf("again: %+v, %v", again, err)
	}

	l = newLab(t, wideScript)
	l.quicker(4)
	call := parseCalls(t, "a after {}")
	if _, err = l.batch(l.session("r"), call...); !errors.Is(err, operation.ErrHook) {
		t.Fatalf("an after chain: %v", err)
	}
	done, err = l.batch(l.session("r"), call...)
	if err != nil || done[0].Effective.Text() != "shown 401" || l.tries["a"] != 1 {
		t.Errorf("again: %+v, %v, ran %d times", done, err, l.tries["a"])
	}
}

func TestAClientsActionIsDecidedOverTheProjectsStateAsItIs(t *testing.T) {
	l := newLab(t, wideScript)
	l.quicker(2)
	a := l.action(call{id: "a", kind: "before", args: object()})
	a.Head.RunID, a.Head.Client = "", "gemini"
	done, err := l.session("").ForeignBefore(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "before", done.Effective.Get("arguments").String()+done.Texts[0].Text, `{"n":201}count 201`)
	l.quicker(3)
	b := l.action(call{id: "b", kind: "after", args: object()})
	b.Head.RunID, b.Head.Client = "", "gemini"
	done, err = l.session("").ForeignAfter(t.Context(), b, nil, text("raw"), operation.Succeeded)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "after", describe(done), `b finished succeeded effective="shown 502" raw="raw" reason=no_before_event_was_seen text=project/after:count_502`)
	l.quicker(4)
	c := l.action(call{id: "c", kind: "before", args: object()})
	c.Head.RunID, c.Head.Client = "", "gemini"
	done, err = l.session("").ForeignBefore(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "in vain", string(done.State)+" "+done.By+" "+done.Code, "rejected project/before hook_failed")
}

func TestWhatOnlySawTheProjectsStateIsDecidedOverItAsItIs(t *testing.T) {
	l := newLab(t, `
W = {"name": "all", "scope": "project"}

def guard(ctx, call):
    n = ctx.state.get("n", 0)
    return reject("%d are enough" % n) if n > 300 else None

hook(id = "guard", version = "1", run = guard, point = "tool.before", state = W, guard = True)

def own(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "own", version = "1", run = own, point = "tool.before")
`)
	l.readers = true
	l.quicker(2)
	done, err := l.batch(l.session("r"), parseCalls(t, "a shell {}\nb shell {}")...)
	if err != nil {
		t.Fatal(err)
	}
	l.quicker(2)
	late, err := l.batch(l.session("r"), parseCalls(t, "c shell {}")...)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done[0])+"\n"+describe(done[1])+"\n"+describe(late[0]),
		"a finished succeeded effective=\"raw a\"\nb finished succeeded effective=\"raw b\"\nc rejected not_started by=project/guard code=rejected reason=400_are_enough")
	same(t, "ran", l.ran, []string{"a", "b"})
	same(t, "cells", l.cells(), lines([]string{wideCell + ` {"n":400}`, `project/own {"n":3}`}))
	same(t, "the order of commits is that of what was seen", l.commits(), lines([]string{"ready a", "ready b", "intent a", "outcome a, intent b", "outcome b", "after a, after b", "intent c"}))
}

func TestAnEffectiveValueOfAStaleChainNeverLeaves(t *testing.T) {
	l := newLab(t, wideScript)
	l.quicker(1)
	s := l.session("r")
	var left []string
	s.Leave(func() { left = append(left, "what was there before") })
	done, err := l.batch(s, parseCalls(t, "a before {}")...)
	if err != nil {
		t.Fatal(err)
	}
	s.Leave(func() { left = append(left, describe(done[0])) })
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "left", left, []string{"what was there before", `a finished succeeded effective="raw a" text=project/before:count_101`})
	same(t, "ran", l.ran, []string{`a {"n":101}`})
	same(t, "commits", l.commits(), lines([]string{"ready a", "intent a", "outcome a", "after a"}))
}

func TestWhatIsKeptOfABatchIsKeptAgain(t *testing.T) {
	l := newLab(t, wideScript)
	l.quicker(2)
	if _, err := l.batch(l.session("r"), parseCalls(t, "x shell {}\na before {}")...); err != nil {
		t.Fatal(err)
	}
	same(t, "commits", l.commits(), lines([]string{"ready x, ready a", "intent x", "outcome x, intent a", "outcome a", "after x", "after a"}))
}

func TestACrashKeepsWhatWasCountedForTheProjectOnce(t *testing.T) {
	for _, place := range []string{"intent.tool", "action.tool", "after.tool"} {
		l := newLab(t, wideScript)
		l.at = journaltest.CrashAt(place, 1)
		calls := parseCalls(t, "a responds {}\nb after {} idempotent\nc before {} idempotent")
		journaltest.MustDie(t, func() { l.batch(l.session("r"), calls...) })
		l.at = nil
		done, err := l.batch(l.session("r"), calls...)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the cell after "+place, l.cell(wideCell), `{"n":4}`)
		same(t, "what was counted after "+place, done[2].Texts[0].Text, "count 2")
	}
}

func TestAnEffectThatWasAskedForOverOldStateIsNeverDone(t *testing.T) {
	l := newLab(t, `
W = {"name": "all", "scope": "project"}

def tell(ctx, call):
    n = ctx.state.get("n", 0) + 1
    return [remember(n = n), effect("notify", message = "%d" % n)]

hook(id = "tell", version = "1", run = tell, point = "tool.after", effects = ["notify"], state = W)
hook(id = "came", version = "1", run = lambda ctx, call: context(call.arguments.message + " " + call.status), point = "effect.after", state = W)
`)
	l.readers = true
	l.quicker(3)
	done := l.one(l.session("r"))
	same(t, "done", describe(done), `a finished succeeded effective="raw a" text=project/came:301_succeeded`)
	same(t, "tries", l.tries[tellID], 1)
	same(t, "cell", l.cell(wideCell), `{"n":301}`)
	l.quicker(3)
	same(t, "taken up again", describe(l.one(l.session("r"))), describe(done))
}
