package operation_test

import (
	"context"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// slow is a Go hook during which time passes.
func slow(l **lab, id, point, op string, points ...string) agentd.GoHook {
	return agentd.GoHook{ID: id, Version: "1", ReplaySafe: true, Points: append(points, point), Priority: 50, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		if c.Seed == op {
			(*l).ticks = func() int64 { return int64(time.Hour) }
		}
		return nil, nil
	}}
}

func TestWhatTheWallClockDecidedIsDurableBeforeAnythingGoesOn(t *testing.T) {
	for _, point := range []string{"tool.before", "file.write.before", "tool.confirm"} {
		t.Run(point, func(t *testing.T) {
			var l *lab
			var seen string
			look := agentd.GoHook{ID: "look", Version: "1", ReplaySafe: true, Points: []string{"tool.before"}, Priority: 1, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
				if c.Seed == "c" {
					seen = l.commits() + l.cells()
				}
				return []hookpoints.Decision{{Verb: hookpoints.Remember, Fields: []payload.Field{field("last", text(c.Seed))}}}, nil
			}}
			l = newLab(t, "", look, slow(&l, "slow", point, "b"))
			args := parsed(`{"path":"p","content":"c"}`)
			done, err := l.batch(l.session("r"), call{id: "a", kind: "write", args: args}, call{id: "b", kind: "write", args: args}, call{id: "c", kind: "write", args: args})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "b", describe(done[1]), `b rejected not_started by=shipped/slow code=host_timeout reason=the_hook_failed`)
			same(t, "durable when c was decided", seen, "intent b, ready a\nshipped/look {\"last\":\"b\"}\n")
			same(t, "ran", l.tries, map[string]int{"a": 1, "c": 1})
		})
	}
}

func TestALateHookAtAPointAndAfterAnActionIsCommittedAtOnce(t *testing.T) {
	l := newLab(t, `
def dawdle(ctx, call):
    for i in range(20000):
        pass
    return None

hook(id = "dawdle", version = "1", run = dawdle, point = ["turn.after", "tool.after", "tool.before"], observation = True, failure_policy = "continue")
`)
	now := int64(0)
	l.ticks = func() int64 { now += int64(time.Minute); return now }
	s := l.session("r")
	done, err := s.Do(t.Context(), l.action(call{id: "a", kind: "shell", args: object()}))
	if err != nil || done.State != operation.Finished {
		t.Fatal(done, err)
	}
	turn := l.head("turn", "turn")
	if _, err := s.Point(t.Context(), turn, 0, "turn.after", l.around(turn), parsed(`{"prompt":"p","response":"r","continuation":0}`)); err != nil {
		t.Fatal(err)
	}
	same(t, "commits", l.commits(), "ready a\nintent a\noutcome a\nafter a\npoint turn\n")
	same(t, "error", rowsOf[operation.AfterRow](l, "a")[0].Records[0].Error, "host_timeout")
}
