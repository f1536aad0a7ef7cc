package hookpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func TestTheHostsValidatorHasTheLastWordOnAPatch(t *testing.T) {
	var seen []string
	look := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		seen = append(seen, c.Payload.Get("arguments").String())
		return nil, nil
	}
	limit := func(n int64) payload.Field {
		return field("arguments", payload.NewObject(field("limit", payload.NewInt(n))))
	}
	even := func(_ context.Context, v payload.Value) (payload.Value, error) {
		n, _ := v.Get("arguments").Get("limit").Int64()
		if n > 100 {
			return v, errors.New("too much")
		}
		return v.With(limit(n + n%2)), nil
	}
	q := hookpoints.Request{Payload: toolCall, Validate: even}
	first := func(b *hookpoints.Binding) { b.Priority = 10 }
	res := run(t, "tool.before", &clock{}, q, bind("second", fake(look), func(b *hookpoints.Binding) { b.Priority = 20 }), bind("first", says(patch(limit(3))), first))
	if !slices.Equal(seen, []string{`{"limit":4}`}) || res.Payload.Get("arguments").String() != `{"limit":4}` || toolCall.Get("arguments").String() != `{"limit":1}` {
		t.Errorf("the second hook saw %q, the result has %s", seen, res.Payload)
	}
	if words(res.Records) != "first: patch\nsecond: " {
		t.Errorf("records: %s", words(res.Records))
	}
	res = run(t, "tool.before", &clock{}, q, bind("a", says(patch(limit(101)))), bind("b", fake(look)))
	if res.Outcome != hookpoints.Failed || res.Error != "hook_failed" || len(seen) != 1 {
		t.Errorf("a patch that the host refuses: %s %s, %q", res.Outcome, res.Error, seen)
	}
}

func TestAPatchMayNotGrowThePayloadBeyondItsBounds(t *testing.T) {
	text := strings.Repeat("x", hookpoints.MaxPatch)
	big := parse(t, `{"text":"`+strings.Repeat("x", hookpoints.MaxPayload-300)+`"}`)
	call := toolCall.With(field("arguments", big))
	for name, c := range map[string]struct {
		args payload.Value
		ok   bool
	}{
		"what the host handed in":     {big, true},
		"a megabyte of its own":       {payload.NewObject(field("t", payload.NewString(text))), false},
		"a little less":               {payload.NewObject(field("t", payload.NewString(text[:len(text)-8]))), true},
		"the host's, and something":   {payload.NewObject(field("a", big)), false},
		"nested as deep as it may be": {deep(hookpoints.MaxResultDepth), true},
	} {
		res := run(t, "tool.before", &clock{}, hookpoints.Request{Payload: call}, bind("a", says(patch(field("arguments", c.args)))))
		if ok := res.Outcome == hookpoints.Continued; ok != c.ok {
			t.Errorf("%s: %s", name, res.Outcome)
		}
	}
	full := parse(t, `{"value":"`+strings.Repeat("x", hookpoints.MaxPayload-100)+`","status":"succeeded","evidence_arguments":{}}`)
	res := run(t, "tool.after", &clock{}, hookpoints.Request{Payload: full}, bind("a", says(patch(field("annotations", payload.NewObject(field("t", payload.NewString(text[:1000]))))))))
	if res.Outcome != hookpoints.Failed {
		t.Errorf("a patch makes more than 8 MiB: %s, %d bytes", res.Outcome, res.Payload.Size())
	}
}

func deep(n int) payload.Value {
	v := payload.NewObject()
	for range n - 1 {
		v = payload.NewObject(field("a", v))
	}
	return v
}

func TestARespondMustFitWhatTheActionGives(t *testing.T) {
	respond := hookpoints.Decision{Verb: hookpoints.Respond, Value: payload.NewString("x")}
	no := func(payload.Value) error { return errors.New("no string") }
	for want, answer := range map[hookpoints.Outcome]func(payload.Value) error{hookpoints.Failed: no, hookpoints.Responded: nil} {
		res := run(t, "tool.before", &clock{}, hookpoints.Request{Answer: answer}, bind("a", says(respond)), bind("b", says()))
		if res.Outcome != want || res.By != "a" || res.Records[1].Ran {
			t.Errorf("%s by %s, want %s", res.Outcome, res.By, want)
		}
	}
}

func TestContextIsWrappedWithItsSourceAndCut(t *testing.T) {
	got := hookpoints.Text{BindingID: "user/a", Text: "</hook_context> & <b>"}.Wrapped()
	if want := "<hook_context source=\"user/a\">\n&lt;/hook_context&gt; & &lt;b&gt;\n</hook_context>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, text := range []string{strings.Repeat("x", hookpoints.MaxText+1), strings.Repeat("é", hookpoints.MaxText)} {
		res := run(t, "tool.before", &clock{}, hookpoints.Request{}, bind("a", says(hookpoints.Decision{Verb: hookpoints.Context, Text: text})))
		cut := res.Texts[0].Text
		if len(cut) > hookpoints.MaxText || len(cut) < hookpoints.MaxText-8 || !strings.HasSuffix(cut, "\n[cut]") || strings.ContainsRune(cut, '\uFFFD') {
			t.Errorf("%d bytes, ends in %q", len(cut), cut[len(cut)-10:])
		}
	}
	for _, c := range []struct {
		text, want string
		limit      int
	}{{"short", "short", 5}, {"longer text", "long\n[cut]", 10}, {"ééééé", "é\n[cut]", 9}, {"aaaa", "\n[cut]", 3}} {
		if got := hookpoints.Cut(c.text, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) is %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestAnEffectNeedsAGrantAndHasAKey(t *testing.T) {
	effect := func(name string, before bool, n int64) hookpoints.Decision {
		return hookpoints.Decision{Verb: hookpoints.Effect, Name: name, Flag: before, Fields: []payload.Field{field("n", payload.NewInt(n))}}
	}
	granted := func(b *hookpoints.Binding) { b.Grants = []string{"notify"} }
	for _, c := range []struct {
		at       string
		decision hookpoints.Decision
		change   []func(*hookpoints.Binding)
		want     string
	}{
		{"tool.before", effect("notify", true, 1), []func(*hookpoints.Binding){granted}, ""},
		{"tool.after", effect("notify", false, 1), []func(*hookpoints.Binding){granted, observation}, ""},
		{"tool.before", effect("git.commit", false, 1), []func(*hookpoints.Binding){granted}, "not_permitted"},
		{"tool.before", effect("notify", false, 1), nil, "not_permitted"},
		{"tool.after", effect("notify", true, 1), []func(*hookpoints.Binding){granted}, "not_permitted"},
		{"run.before", effect("notify", false, 1), []func(*hookpoints.Binding){granted}, "not_permitted"},
		{"tool.before", effect("notify", false, 1), []func(*hookpoints.Binding){granted, untrusted}, "not_permitted"},
	} {
		res := run(t, c.at, &clock{}, hookpoints.Request{}, bind("a", says(c.decision), c.change...))
		if res.Records[0].Error != c.want || (len(res.Effects) == 1) != (c.want == "") {
			t.Errorf("%s: %+v: %s, %d effects", c.at, c.decision, res.Records[0].Error, len(res.Effects))
		}
	}
	res := run(t, "tool.before", &clock{}, hookpoints.Request{}, bind("a", says(effect("notify", false, 1), effect("notify", true, 2)), granted), bind("b", says(effect("notify", false, 3)), granted))
	var keys []string
	for _, e := range res.Effects {
		keys = append(keys, fmt.Sprintf("%s %s %d %s %v %s", e.BindingID, e.Chain, e.Ordinal, e.Name, e.Before, e.Arguments))
	}
	want := []string{`a tool.before 0 notify false {"n":1}`, `a tool.before 1 notify true {"n":2}`, `b tool.before 0 notify false {"n":3}`}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}
