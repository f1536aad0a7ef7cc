package hookpoints_test

import (
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func TestRememberedReplacesKeysAndDropsThoseThatAreNull(t *testing.T) {
	null := payload.NewNull()
	for _, c := range []struct {
		was  string
		set  []payload.Field
		want string
	}{
		{`{}`, nil, `{}`},
		{`{"a":1.50,"b":2}`, []payload.Field{field("b", payload.NewInt(3)), field("c", null)}, `{"a":1.50,"b":3}`},
		{`{"a":1,"b":2}`, []payload.Field{field("a", null)}, `{"b":2}`},
		{`{"a":1}`, []payload.Field{field("a", null), field("a", payload.NewInt(2))}, `{"a":2}`},
		{`{"a":1}`, []payload.Field{field("a", payload.NewInt(2)), field("a", null)}, `{}`},
		{`{"a":null,"b":{"c":null}}`, []payload.Field{field("d", parse(t, `{"e":null}`))}, `{"a":null,"b":{"c":null},"d":{"e":null}}`},
	} {
		if got := hookpoints.Remembered(parse(t, c.was), c.set).String(); got != c.want {
			t.Errorf("%s with %v is %s, want %s", c.was, c.set, got, c.want)
		}
	}
}

func TestARecordNamesTheStateThatWasSeen(t *testing.T) {
	was := parse(t, `{"n":1}`)
	own := func(name string) func(*hookpoints.Binding) {
		return func(b *hookpoints.Binding) { b.StateCell = name }
	}
	count := hookpoints.Decision{Verb: hookpoints.Remember, Fields: []payload.Field{field("n", payload.NewInt(2))}}
	res := run(t, "tool.before", &clock{}, hookpoints.Request{States: cells{"full": was}},
		bind("writes", says(count), own("full")), bind("sees it", says(), own("full")), bind("nothing there", says(count), own("empty")), bind("untrusted", says(), own("full"), untrusted))
	want := []string{was.Digest(), parse(t, `{"n":2}`).Digest(), "", ""}
	for i, rec := range res.Records {
		if rec.StateRead != want[i] {
			t.Errorf("%s saw %q, want %q", rec.BindingID, rec.StateRead, want[i])
		}
	}
	if res.State[0].Read != want[0] {
		t.Errorf("the delta says %q", res.State[0].Read)
	}
}
