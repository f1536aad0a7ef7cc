package hookpoints_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// facts is a source that takes its time.
type facts struct {
	c    *clock
	took time.Duration
	read []string
}

func (f *facts) Fact(_ context.Context, key string) hookpoints.Fact {
	f.read = append(f.read, key)
	f.c.now += f.took
	if key == "absent" {
		return hookpoints.Fact{Key: key, Absent: "there is none"}
	}
	return hookpoints.Fact{Key: key, Value: payload.NewString("value of " + key)}
}

// asker is a hook whose facts depend on the payload.
type asker struct {
	fake
	keys func(c *hookpoints.Call) ([]string, error)
}

func (a asker) FactKeys(_ context.Context, c *hookpoints.Call) ([]string, hookpoints.Usage, error) {
	keys, err := a.keys(c)
	return keys, hookpoints.Usage{Fuel: 100, Bytes: 200}, err
}

func TestFactsAreReadJustBeforeTheirHookAndAreNoHookTime(t *testing.T) {
	k := &clock{}
	source := &facts{c: k, took: time.Minute}
	var seen []string
	look := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		seen = append(seen, c.Facts.String()+c.Missing.String())
		return nil, nil
	}
	byPayload := asker{look, func(c *hookpoints.Call) ([]string, error) {
		return []string{"file:" + c.Payload.Get("arguments").Get("path").Text(), "git.head"}, nil
	}}
	res := run(t, "tool.before", k, hookpoints.Request{Payload: toolCall, Facts: source},
		bind("a", fake(look), func(b *hookpoints.Binding) { b.FactKeys = []string{"git.head", "absent", "git.head"} }),
		bind("b", says(patch(field("arguments", parse(t, `{"path":"x"}`))))),
		bind("c", byPayload),
		bind("d", fake(look), untrusted, func(b *hookpoints.Binding) { b.FactKeys = []string{"git.head"} }))
	want := []string{
		`{"git.head":"value of git.head","absent":null}{"absent":"there is none"}`,
		`{"file:x":"value of file:x","git.head":"value of git.head"}{}`,
		`{"git.head":null}{"git.head":"untrusted hooks get no facts"}`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if res.Outcome != hookpoints.Continued || res.TimedOut || res.Nanos != 0 {
		t.Errorf("facts are counted as hook time: %s, %d ns", res.Outcome, res.Nanos)
	}
	var keys []string
	for _, f := range res.Facts {
		keys = append(keys, f.Key+" "+f.Pass)
	}
	if want := []string{"git.head ordinary", "absent ordinary", "file:x ordinary"}; !slices.Equal(keys, want) {
		t.Errorf("recorded %q, want %q", keys, want)
	}
	if got := res.Records[2]; got.Fuel != 107 || got.Bytes != 209 {
		t.Errorf("asking for facts costs nothing: %d fuel, %d bytes", got.Fuel, got.Bytes)
	}
	if slices.Contains(source.read, "untrusted") || len(source.read) != 4 {
		t.Errorf("read %q", source.read)
	}
	failing := asker{look, func(*hookpoints.Call) ([]string, error) { return nil, errors.New("secret") }}
	if res := run(t, "tool.before", k, hookpoints.Request{}, bind("a", failing)); res.Outcome != hookpoints.Failed || words(res.Records) != "a: hook_failed" {
		t.Errorf("a facts function failed: %s %s", res.Outcome, words(res.Records))
	}
	bare := run(t, "tool.before", k, hookpoints.Request{}, bind("a", fake(look), func(b *hookpoints.Binding) { b.FactKeys = []string{"x"} }))
	if len(bare.Facts) != 1 || bare.Facts[0].Absent == "" {
		t.Errorf("without a source: %v", bare.Facts)
	}
}
