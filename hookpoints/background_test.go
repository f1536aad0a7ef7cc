package hookpoints_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func inBackground(b *hookpoints.Binding) { b.Observation, b.Background = true, true }

func TestABackgroundHookIsHandedOverWithWhatItWouldHaveSeen(t *testing.T) {
	limit := func(n int64) hookpoints.Decision {
		return patch(field("arguments", payload.NewObject(field("limit", payload.NewInt(n)))))
	}
	var saw []string
	look := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		saw = append(saw, fmt.Sprintf("%s limit=%s facts=%s state=%s seed=%s", c.Binding.BindingID, c.Payload.Get("arguments").Get("limit"), c.Facts, c.State, c.Seed))
		return nil, nil
	}
	k := &clock{now: time.Hour}
	source := &facts{c: k}
	q := hookpoints.Request{Payload: toolCall, Facts: source, Defer: true, Around: &hookpoints.Around{Seed: "op"}}
	known := func(b *hookpoints.Binding) { b.FactKeys = []string{"git.head"} }
	shared := func(b *hookpoints.Binding) { b.StateCell = "cell" }
	res := run(t, "tool.before", k, q,
		bind("a", fake(look), inBackground, known, shared),
		bind("b", says(limit(2), hookpoints.Decision{Verb: hookpoints.Remember, Fields: []payload.Field{field("n", payload.NewInt(1))}}), shared),
		bind("c", fake(look), inBackground, shared),
		bind("d", says(limit(3))))
	if got, want := words(res.Records), "a: in the background\nb: patch+remember\nc: in the background\nd: patch"; got != want {
		t.Errorf("records:\n%s\nwant:\n%s", got, want)
	}
	if len(saw) > 0 {
		t.Errorf("on the path ran %q", saw)
	}
	for range 2 { // a call stays what it is
		saw = nil
		for _, d := range res.Deferred {
			if rec := d.Run(t.Context()); !rec.Ran || rec.Error != "" || rec.Fuel != 7 || rec.Bytes != 9 || rec.BindingID != d.BindingID() {
				t.Errorf("%+v", rec)
			}
		}
		want := []string{`a limit=1 facts={"git.head":"value of git.head"} state={} seed=op`, `c limit=2 facts=null state={"n":1} seed=op`}
		if fmt.Sprint(saw) != fmt.Sprint(want) {
			t.Errorf("they saw\n%q, want\n%q", saw, want)
		}
	}
	if len(source.read) != 1 {
		t.Errorf("facts were read: %q", source.read)
	}
	if got := res.Payload.Get("arguments").Get("limit").String(); got != "3" {
		t.Errorf("the limit is %s", got)
	}
}

func TestABackgroundHookNeverFailsAChainNorTakesItsTime(t *testing.T) {
	k := &clock{now: time.Hour}
	slow := takes(k, time.Minute)
	broken := fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic("no") })
	last := bind("last", takes(k, 0, hookpoints.Decision{Verb: hookpoints.Annotate}))
	for _, deferred := range []bool{false, true} { // decide and tests make the calls on the path
		res := run(t, "tool.before", k, hookpoints.Request{Payload: toolCall, Defer: deferred}, bind("slow", slow, inBackground), bind("broken", broken, inBackground), last)
		if res.Outcome != hookpoints.Continued || res.Error != "" || res.Nanos != 0 {
			t.Errorf("deferred %v: %s %s, %d ns", deferred, res.Outcome, res.Error, res.Nanos)
		}
		want := "slow: host_timeout\nbroken: hook_failed\nlast: annotate"
		if deferred {
			want = "slow: in the background\nbroken: in the background\nlast: annotate"
		}
		if got := words(res.Records); got != want {
			t.Errorf("deferred %v:\n%s\nwant:\n%s", deferred, got, want)
		}
	}
}

func TestABackgroundHookThatComesAfterTheEndIsntHandedOver(t *testing.T) {
	res := run(t, "tool.before", &clock{}, hookpoints.Request{Payload: toolCall, Defer: true},
		bind("no", says(hookpoints.Decision{Verb: hookpoints.Reject, Text: "no", Name: "no"})), bind("late", says(), inBackground))
	if got, want := words(res.Records), "no: reject\nlate: ended by no"; got != want || len(res.Deferred) > 0 {
		t.Errorf("%s, %d handed over", got, len(res.Deferred))
	}
}

func TestWhatABackgroundHookMayNotDoIsItsFailure(t *testing.T) {
	k := &clock{now: time.Hour}
	waits := fake(func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, ctx.Err() })
	for name, c := range map[string]struct {
		hook   hookpoints.Hook
		cancel bool
		want   string
	}{
		"nothing":       {says(), false, ""},
		"None":          {says(hookpoints.Decision{Verb: hookpoints.None}), false, ""},
		"annotate":      {says(hookpoints.Decision{Verb: hookpoints.Annotate}), false, "not_permitted"},
		"remember":      {says(hookpoints.Decision{Verb: hookpoints.Remember}), false, "not_permitted"},
		"patch":         {says(patch()), false, "not_permitted"},
		"reject":        {says(hookpoints.Decision{Verb: hookpoints.Reject, Text: "no", Name: "no"}), false, "not_permitted"},
		"an error":      {fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, errors.New("no") }), false, "hook_failed"},
		"a panic":       {fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic("no") }), false, "hook_failed"},
		"its time":      {takes(k, 2*time.Second), false, "host_timeout"},
		"a host's end":  {waits, true, "cut off"},
		"time that was": {waits, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := run(t, "tool.before", k, hookpoints.Request{Payload: toolCall, Defer: true, Spent: int64(time.Hour)}, bind("b", c.hook, inBackground))
			k.now += time.Hour // in the queue
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancel {
				cancel()
			}
			rec := res.Deferred[0].Run(ctx)
			if got := rec.Error + rec.Why; got != c.want || rec.Ran == c.cancel {
				t.Errorf("%+v, want %q", rec, c.want)
			}
		})
	}
}
