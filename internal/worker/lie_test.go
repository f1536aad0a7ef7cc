package worker

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// one is the hooks of a trip to one hook.
var one = []*hook{{script: &script{limits: meter.Default}}}

// list is what a worker says of n results.
func list(n int64, results ...[]byte) []byte {
	out := appendNumber(nil, n)
	for _, r := range results {
		out = append(out, r...)
	}
	return out
}

func packed(r result) []byte { return r.append(nil) }

// decided is a result of one decision, of which the worker says what it likes.
func decided(d hookpoints.Decision) []byte {
	return packed(result{decisions: []hookpoints.Decision{d}})
}

func field(name, json string) payload.Field {
	return payload.Field{Name: name, Value: payload.Again([]byte(json), 1)}
}

func TestALyingWorkerIsAFailedHook(t *testing.T) {
	reject := hookpoints.Decision{Verb: hookpoints.Reject, Text: "no", Name: "rejected"}
	whole := list(1, decided(reject))
	huge := binary.AppendUvarint(nil, 1<<63)
	for what, lie := range map[string][]byte{
		"nothing":                         {},
		"no results":                      list(0),
		"more results than hooks":         list(2, packed(result{}), packed(result{})),
		"a result that isn't there":       list(1),
		"more than it says":               append(list(1, packed(result{})), 0),
		"cut off":                         whole[:len(whole)-1],
		"a count beyond all bounds":       huge,
		"more fuel than there is":         list(1, packed(result{usage: hookpoints.Usage{Fuel: meter.Default.Fuel + 1}})),
		"more bytes than there are":       list(1, packed(result{usage: hookpoints.Usage{Bytes: meter.Default.Bytes + 1}})),
		"fuel that is no number":          list(1, append(append([]byte{0}, huge...), 0)),
		"parts that there aren't":         list(1, []byte{1 << 4, 0, 0}),
		"a verb that isn't":               list(1, decided(hookpoints.Decision{Verb: 99})),
		"a flag that isn't":               list(1, append([]byte{hasDecisions, 0, 0, 1, byte(hookpoints.None), 2}, 0, 0, 0, 0)),
		"more decisions than it may":      list(1, packed(result{decisions: make([]hookpoints.Decision, maxDecisions+1)})),
		"a very long reason":              list(1, decided(hookpoints.Decision{Verb: hookpoints.Reject, Text: strings.Repeat("x", 600)})),
		"a very long code":                list(1, decided(hookpoints.Decision{Verb: hookpoints.Reject, Name: strings.Repeat("x", 600)})),
		"nothing to respond":              list(1, decided(hookpoints.Decision{Verb: hookpoints.Respond})),
		"a value that is no JSON":         list(1, decided(hookpoints.Decision{Verb: hookpoints.Respond, Value: payload.Again([]byte(`{"a":`), 0)})),
		"a value with a key twice":        list(1, decided(hookpoints.Decision{Verb: hookpoints.Respond, Value: payload.Again([]byte(`{"a":1,"a":2}`), 1)})),
		"a value that is too deep":        list(1, decided(hookpoints.Decision{Verb: hookpoints.Respond, Value: payload.Again([]byte(strings.Repeat("[", 65)+strings.Repeat("]", 65)), 1)})),
		"a field that is too deep":        list(1, decided(hookpoints.Decision{Verb: hookpoints.Patch, Fields: []payload.Field{field("a", strings.Repeat("[", 65)+strings.Repeat("]", 65))}})),
		"a field that is absent":          list(1, decided(hookpoints.Decision{Verb: hookpoints.Patch, Fields: []payload.Field{{Name: "a"}}})),
		"two fields of one name":          list(1, decided(hookpoints.Decision{Verb: hookpoints.Patch, Fields: []payload.Field{field("a", "1"), field("a", "2")}})),
		"texts that are no text":          list(1, append([]byte{hasDecisions, 0, 0, 1, byte(hookpoints.Reject), 0, 1, 0xff}, 0, 0, 0)),
		"values larger than all may be":   list(1, decided(hookpoints.Decision{Verb: hookpoints.Context, Text: strings.Repeat("x", hookpoints.MaxPayload+1)})),
		"fields larger than all may be":   list(1, decided(hookpoints.Decision{Verb: hookpoints.Patch, Fields: []payload.Field{field("a", `"`+strings.Repeat("x", 5<<20)+`"`), field("b", `"`+strings.Repeat("x", 5<<20)+`"`)}})),
		"a word that isn't":               list(1, []byte{hasError, 0, 0, byte(len(words)), 0}),
		"a failure that decides":          list(1, packed(result{err: hookpoints.ErrBudget, decisions: []hookpoints.Decision{reject}})),
		"keys where none were asked for":  list(1, packed(result{keys: []string{"git.head"}})),
		"a trace of a kind that isn't":    list(1, []byte{hasTraces, 0, 0, 1, byte(len(traceKinds)), 0}),
		"more traces than it may":         list(1, append(appendNumber([]byte{hasTraces, 0, 0}, maxTraces+1), make([]byte, 2*(maxTraces+1))...)),
		"a value that says it is smaller": list(1, append([]byte{hasDecisions, 0, 0, 1, byte(hookpoints.Respond), 0, 0, 0}, 3, 0, '[', '1', ']', ']')),
	} {
		got, err := readResults(lie, decides, one)
		if !errors.Is(err, errLies) || !errors.Is(err, hookpoints.ErrHookFailed) || got != nil {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	for what, lie := range map[string][]byte{
		"decisions where keys were asked for": whole,
		"too many keys":                       list(1, packed(result{keys: make([]string, maxKeys+1)})),
		"a very long key":                     list(1, packed(result{keys: []string{strings.Repeat("x", maxKey+1)}})),
	} {
		if got, err := readResults(lie, facts, one); !errors.Is(err, errLies) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	two := []*hook{one[0], one[0]}
	for what, first := range map[string]result{"a change": {decisions: []hookpoints.Decision{reject}}, "a failure": {err: hookpoints.ErrHookFailed}} {
		if got, err := readResults(list(2, packed(first), packed(result{})), decides, two); !errors.Is(err, errLies) {
			t.Errorf("a result after %s: %+v, %v", what, got, err)
		}
	}
	if got, err := readResults(whole, decides, one); err != nil || len(got) != 1 || got[0].decisions[0].Text != "no" {
		t.Errorf("the truth: %+v, %v", got, err)
	}
}

func FuzzResults(f *testing.F) {
	f.Add(list(1, packed(result{})), false)
	f.Add(list(2, packed(result{usage: hookpoints.Usage{Fuel: 7, Bytes: 300}, traces: []trace{{"print", "x"}}}), decided(hookpoints.Decision{Verb: hookpoints.Patch, Fields: []payload.Field{field("a", `{"b":[1,"x"]}`)}})), false)
	f.Add(list(1, packed(result{err: hookpoints.ErrBudget})), false)
	f.Add(list(1, packed(result{keys: []string{"git.head"}})), true)
	three := []*hook{one[0], one[0], one[0]}
	f.Fuzz(func(t *testing.T, said []byte, asked bool) {
		kind := byte(decides)
		if asked {
			kind = facts
		}
		got, err := readResults(said, kind, three)
		if err != nil {
			if !errors.Is(err, errLies) || got != nil {
				t.Fatalf("%+v, %v", got, err)
			}
			return
		}
		for _, r := range got {
			if r.usage.Fuel < 0 || r.usage.Fuel > meter.Default.Fuel || r.usage.Bytes < 0 || r.usage.Bytes > meter.Default.Bytes || len(r.decisions) > maxDecisions {
				t.Fatalf("%+v", r)
			}
			for _, d := range r.decisions {
				if !plausibleDecision(&d) {
					t.Fatalf("%+v", d)
				}
			}
		}
		again := appendNumber(nil, int64(len(got)))
		for _, r := range got {
			again = r.append(again)
		}
		if more, err := readResults(again, kind, three); err != nil || len(more) != len(got) {
			t.Fatalf("what was taken isn't taken again: %v", err)
		}
	})
}
