package hookpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// clock stands until a hook lets time pass.
type clock struct{ now time.Duration }

func (c *clock) Nanos() int64 { return int64(c.now) }

// fake is a hook that a test writes.
type fake func(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error)

func (f fake) Decide(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	ds, err := f(ctx, c)
	return ds, hookpoints.Usage{Fuel: 7, Bytes: 9}, err
}

func bind(id string, h hookpoints.Hook, change ...func(*hookpoints.Binding)) *hookpoints.Binding {
	b := &hookpoints.Binding{BindingID: id, HookID: id, Version: "v1", Priority: hookpoints.DefaultPriority, FailurePolicy: hookpoints.Block, StateCell: id, Config: payload.NewObject(), Hook: h}
	for _, c := range change {
		c(b)
	}
	return b
}

func untrusted(b *hookpoints.Binding)   { b.Untrusted = true }
func observation(b *hookpoints.Binding) { b.Observation = true }
func goesOn(b *hookpoints.Binding) {
	b.Observation, b.FailurePolicy = true, hookpoints.Continue
}

func says(ds ...hookpoints.Decision) fake {
	return func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return ds, nil }
}

func patch(fields ...payload.Field) hookpoints.Decision {
	return hookpoints.Decision{Verb: hookpoints.Patch, Fields: fields}
}

var toolCall = payload.NewObject(
	field("name", payload.NewString("shell")), field("tool_id", payload.NewString("shell")), field("implementation_id", payload.NewNull()),
	field("parameters", payload.NewObject()), field("arguments", payload.NewObject(field("limit", payload.NewInt(1)))))

// run runs the ordinary part of a chain at a point.
func run(t *testing.T, at string, c hookpoints.Clock, q hookpoints.Request, bindings ...*hookpoints.Binding) hookpoints.Result {
	t.Helper()
	if !q.Payload.Exists() {
		q.Payload = point(t, at).Example
	}
	res, err := hookpoints.NewChain(point(t, at), c, bindings).Run(context.Background(), hookpoints.Ordinary, q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func words(recs []hookpoints.Record) string {
	var out []string
	for _, r := range recs {
		word := r.Error
		switch {
		case !r.Ran:
			word = r.Why
		case word == "":
			word = r.Decision
		}
		out = append(out, r.BindingID+": "+word)
	}
	return strings.Join(out, "\n")
}

func takes(c *clock, d time.Duration, ds ...hookpoints.Decision) fake {
	return func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
		c.now += d
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%w: late", hookpoints.ErrHostTimeout)
		}
		return ds, nil
	}
}

// The budget: each hook has its own time, and all of them together the chain's.
func TestAChainHasTenSecondsAndAHookItsTimeout(t *testing.T) {
	five := func(b *hookpoints.Binding) { b.Timeout = 5 * time.Second }
	for name, c := range map[string]struct {
		took  []time.Duration
		spent time.Duration
		want  []string
	}{
		"in time":                      {[]time.Duration{4 * time.Second, 5 * time.Second}, 0, []string{"", ""}},
		"beyond its own":               {[]time.Duration{6 * time.Second, 0}, 0, []string{"host_timeout", "not run"}},
		"what is left of the chain":    {[]time.Duration{5 * time.Second, 4 * time.Second, 2 * time.Second}, 0, []string{"", "", "host_timeout"}},
		"what the other part left":     {[]time.Duration{2 * time.Second}, 9 * time.Second, []string{"host_timeout"}},
		"nothing is left, none is run": {[]time.Duration{0}, 10 * time.Second, []string{"host_timeout"}},
	} {
		k := &clock{now: time.Hour}
		var bindings []*hookpoints.Binding
		for i, d := range c.took {
			bindings = append(bindings, bind(fmt.Sprint("b", i), takes(k, d), five))
		}
		res := run(t, "tool.before", k, hookpoints.Request{Spent: int64(c.spent)}, bindings...)
		var got []string
		for _, r := range res.Records {
			word := r.Error
			if !r.Ran {
				word = "not run"
			}
			got = append(got, word)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if res.TimedOut != slices.Contains(c.want, "host_timeout") {
			t.Errorf("%s: TimedOut is %v", name, res.TimedOut)
		}
		if res.TimedOut && (res.Outcome != hookpoints.Failed || res.Error != "host_timeout") {
			t.Errorf("%s: %s %s", name, res.Outcome, res.Error)
		}
	}
}

func TestAFailureIsOneOfFourWords(t *testing.T) {
	const secret = "the key is 1234"
	for want, h := range map[string]hookpoints.Hook{
		"budget": fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
			return nil, fmt.Errorf("%w: %s", hookpoints.ErrBudget, secret)
		}),
		"host_timeout": fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
			return nil, hookpoints.ErrHostTimeout
		}),
		"hook_failed":    fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, errors.New(secret) }),
		"hook_failed ":   fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic(secret) }),
		"not_permitted":  says(hookpoints.Decision{Verb: hookpoints.Proceed, Text: secret}),
		"not_permitted ": says(hookpoints.Decision{Verb: 99}),
	} {
		want = strings.TrimSpace(want)
		tr := &tracer{}
		res := run(t, "tool.before", &clock{}, hookpoints.Request{Tracer: tr}, bind("a", h), bind("b", says()))
		if got := words(res.Records); got != "a: "+want+"\nb: ended by a" {
			t.Errorf("%s: %s", want, got)
		}
		if res.Outcome != hookpoints.Failed || res.By != "a" || res.Error != want || len(tr.lines) != 1 {
			t.Errorf("%s: %s by %s, %s; trace %q", want, res.Outcome, res.By, res.Error, tr.lines)
		}
		if strings.Contains(fmt.Sprintf("%+v", res), secret) {
			t.Errorf("%s: the hook's own text is in the result: %+v", want, res)
		}
	}
}

type tracer struct{ lines []string }

func (t *tracer) Trace(id, kind, text string) { t.lines = append(t.lines, id+" "+kind+" "+text) }

func TestWhatFailsAtErrorAndFinallyIsRecordedAndIgnored(t *testing.T) {
	broken := func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, errors.New("x") }
	for _, at := range []string{"operation.error", "operation.finally"} {
		res := run(t, at, &clock{}, hookpoints.Request{}, bind("a", fake(broken), observation), bind("b", says(hookpoints.Decision{Verb: hookpoints.Reject, Text: "no", Name: "x"}), observation), bind("c", says(), observation))
		if res.Outcome != hookpoints.Continued || words(res.Records) != "a: hook_failed\nb: not_permitted\nc: " {
			t.Errorf("%s: %s\n%s", at, res.Outcome, words(res.Records))
		}
	}
	res := run(t, "tool.confirm", &clock{}, hookpoints.Request{}, bind("a", fake(broken)))
	if res.Outcome != hookpoints.Denied || res.Error != "hook_failed" {
		t.Errorf("a crash at tool.confirm: %s %s, want denied", res.Outcome, res.Error)
	}
	res = run(t, "tool.after", &clock{}, hookpoints.Request{}, bind("a", fake(broken), goesOn), bind("b", says(patch(field("value", payload.NewInt(1))))))
	if res.Outcome != hookpoints.Continued || words(res.Records) != "a: hook_failed\nb: patch" {
		t.Errorf("policy continue: %s\n%s", res.Outcome, words(res.Records))
	}
}

// A list holds or falls as one: nothing stays of what came before the decision that failed.
func TestOfAFailedListNothingStays(t *testing.T) {
	state := map[string]payload.Value{}
	list := []hookpoints.Decision{
		patch(field("value", payload.NewInt(1))),
		{Verb: hookpoints.Context, Text: "t"},
		{Verb: hookpoints.Annotate, Fields: []payload.Field{field("k", payload.NewInt(1))}},
		{Verb: hookpoints.Remember, Fields: []payload.Field{field("n", payload.NewInt(1))}},
		patch(field("annotations", payload.NewInt(1))), // no object
	}
	res := run(t, "tool.after", &clock{}, hookpoints.Request{States: cells(state)},
		bind("first", says(patch(field("value", payload.NewInt(0))))), bind("a", says(list...)))
	if res.Outcome != hookpoints.Failed || res.Payload.Get("value").Text() != "0" || len(res.Texts)+len(res.State) != 0 {
		t.Errorf("%s: %s %v %v", res.Outcome, res.Payload, res.Texts, res.State)
	}
	rec := res.Records[1]
	if rec.Annotations.Exists() || rec.Overrode != nil || rec.Reason != "" || rec.Error != "hook_failed" {
		t.Errorf("the record: %+v", rec)
	}
}

type cells map[string]payload.Value

func (c cells) State(cell string) payload.Value { return c[cell] }

func TestStateIsWhatTheChainLeftInItsCell(t *testing.T) {
	var seen []string
	counts := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		seen = append(seen, c.State.String())
		n, _ := c.State.Get("n").Int64()
		return []hookpoints.Decision{{Verb: hookpoints.Remember, Fields: []payload.Field{field("n", payload.NewInt(n+1))}}}, nil
	}
	shared := func(b *hookpoints.Binding) { b.StateCell = "project/shared" }
	was := parse(t, `{"n":5,"k":"kept"}`)
	res := run(t, "tool.before", &clock{}, hookpoints.Request{States: cells{"project/shared": was}},
		bind("a", fake(counts), shared), bind("b", fake(counts), shared), bind("c", fake(counts)),
		bind("d", fake(counts), shared, untrusted))
	if want := []string{`{"n":5,"k":"kept"}`, `{"n":6,"k":"kept"}`, `{}`, `{}`}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
	var deltas []string
	for _, d := range res.State {
		deltas = append(deltas, d.Cell+" "+payload.NewObject(d.Set...).String())
	}
	if want := []string{`project/shared {"n":6}`, `project/shared {"n":7}`, `c {"n":1}`}; !slices.Equal(deltas, want) {
		t.Errorf("deltas %q, want %q", deltas, want)
	}
	if res.State[0].Read != was.Digest() {
		t.Error("the value read isn't recorded by its hash")
	}
	if words(res.Records[3:]) != "d: not_permitted" {
		t.Errorf("an untrusted hook remembers: %s", words(res.Records))
	}
}

func TestAnUntrustedHookOnlyLosesItsOwn(t *testing.T) {
	k := &clock{}
	text := func(s string) hookpoints.Decision { return hookpoints.Decision{Verb: hookpoints.Context, Text: s} }
	reject := hookpoints.Decision{Verb: hookpoints.Reject, Text: "no", Name: "no"}
	res := run(t, "tool.before", k, hookpoints.Request{},
		bind("mixed", says(text("one"), reject, text("two"), patch(field("arguments", payload.NewObject()))), untrusted, func(b *hookpoints.Binding) { b.Priority = -1 }),
		bind("slow", takes(k, 2*time.Second, text("late")), untrusted),
		bind("broken", fake(func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic("x") }), untrusted),
		bind("fine", says(text("three")), untrusted),
		bind("trusted", says(text("first")), func(b *hookpoints.Binding) { b.Priority = 10_000 }))
	if want := "trusted: context\nmixed: not_permitted\nbroken: hook_failed\nfine: context\nslow: host_timeout"; sortedAfterFirst(words(res.Records)) != sortedAfterFirst(want) {
		t.Errorf("records:\n%s", words(res.Records))
	}
	var texts []string
	for _, x := range res.Texts {
		texts = append(texts, x.Text)
	}
	if want := []string{"first", "one", "two", "three"}; !slices.Equal(texts, want) {
		t.Errorf("texts %q, want %q", texts, want)
	}
	if res.Outcome != hookpoints.Continued || res.Records[0].BindingID != "trusted" {
		t.Errorf("%s, first %s", res.Outcome, res.Records[0].BindingID)
	}
	if res.Nanos != 0 { // else many slow hooks of a project would use up the guards' time
		t.Errorf("untrusted time counts towards the chain: %d ns", res.Nanos)
	}
}

func sortedAfterFirst(lines string) string {
	l := strings.Split(lines, "\n")
	slices.Sort(l[1:])
	return strings.Join(l, "\n")
}

func TestACancelledHostIsNoFailedHook(t *testing.T) {
	for name, when := range map[string]int{"before the first": 0, "in the first": 1, "in the last": 2} {
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		h := fake(func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
			if calls++; calls == when {
				cancel()
				return nil, fmt.Errorf("%w: %w", hookpoints.ErrHostTimeout, ctx.Err())
			}
			return nil, nil
		})
		if when == 0 {
			cancel()
		}
		_, err := hookpoints.NewChain(point(t, "tool.before"), &clock{}, []*hookpoints.Binding{bind("a", h), bind("b", h)}).Run(ctx, hookpoints.Ordinary, hookpoints.Request{Payload: toolCall})
		if !errors.Is(err, context.Canceled) || calls != when {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
		cancel()
	}
}

func TestSkippedBindingsAreRecordedAsSuch(t *testing.T) {
	guard := func(b *hookpoints.Binding) { b.Guard = true }
	c := hookpoints.NewChain(point(t, "tool.before"), &clock{}, []*hookpoints.Binding{bind("g", says(), guard), bind("a", says())})
	got := c.Skipped(hookpoints.Guards, "a")
	if len(got) != 1 || got[0].Ran || got[0].Why != "ended by a" || got[0].Part != hookpoints.Guards || got[0].BindingID != "g" {
		t.Errorf("%+v", got)
	}
}
