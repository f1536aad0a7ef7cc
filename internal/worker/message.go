package worker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// A request is {do, ...}; every answer is an object as well. What is done:
//
//	load    {key, name, text, fuel, bytes}          -> {definitions} or {fault}; {module: NAME} asks for a module first
//	decide  {calls: [{key, index, ...}], payload,
//	         scope, now, seed}                      -> {results: [...]} or {need: KEY}
//	facts   the same, one call                      -> {results: [{keys, ...}]} or {need: KEY}

func object(fields ...payload.Field) payload.Value { return payload.NewObject(fields...) }
func text(name, s string) payload.Field {
	return payload.Field{Name: name, Value: payload.NewString(strings.ToValidUTF8(s, string(utf8.RuneError)))}
}
func integer(name string, n int64) payload.Field {
	return payload.Field{Name: name, Value: payload.NewInt(n)}
}

// with is a field where there is a value.
func with(fields []payload.Field, name string, v payload.Value) []payload.Field {
	if !v.Exists() {
		return fields
	}
	return append(fields, payload.Field{Name: name, Value: v})
}

// packCall is what one hook sees, but for what all of a trip see alike.
func packCall(h *hook, c *hookpoints.Call) payload.Value {
	fields := []payload.Field{text("key", h.script.key), integer("index", int64(h.index)), text("point", c.Point.Name),
		text("binding_id", c.Binding.BindingID), integer("fuel", c.Spent.Fuel), integer("bytes", c.Spent.Bytes)}
	fields = with(fields, "config", c.Binding.Config)
	fields = with(fields, "facts", c.Facts)
	fields = with(fields, "missing", c.Missing)
	fields = with(fields, "state", c.State)
	return object(fields...)
}

func packTrip(do string, calls []payload.Value, c *hookpoints.Call) payload.Value {
	return object(text("do", do), payload.Field{Name: "calls", Value: payload.NewArray(calls)}, payload.Field{Name: "scope", Value: c.Scope.Value},
		text("now", c.Now.UTC().Format(time.RFC3339Nano)), text("seed", c.Seed), payload.Field{Name: "payload", Value: c.Payload})
}

// result is what came of one call.
type result struct {
	decisions []hookpoints.Decision
	keys      []string
	usage     hookpoints.Usage
	err       error
	traces    []trace
}

type trace struct{ kind, text string }

// maxTraces bounds what one call shows to its author.
const maxTraces = 1000

// words are the only reasons that cross.
var words = map[string]error{"hook_failed": hookpoints.ErrHookFailed, "budget": hookpoints.ErrBudget, "host_timeout": hookpoints.ErrHostTimeout,
	"not_permitted": hookpoints.ErrNotPermitted}

func wordOf(err error) string {
	for word, known := range words {
		if errors.Is(err, known) {
			return word
		}
	}
	return "hook_failed"
}

func (r *result) pack() payload.Value {
	fields := []payload.Field{integer("fuel", r.usage.Fuel), integer("bytes", r.usage.Bytes)}
	if r.err != nil {
		fields = append(fields, text("error", wordOf(r.err)), text("message", hookpoints.Cut(r.err.Error(), hookpoints.MaxText)))
	}
	if r.keys != nil {
		fields = append(fields, payload.Field{Name: "keys", Value: payload.NewStrings(r.keys)})
	}
	if len(r.decisions) > 0 {
		list := make([]payload.Value, len(r.decisions))
		for i, d := range r.decisions {
			list[i] = packDecision(d)
		}
		fields = append(fields, payload.Field{Name: "decisions", Value: payload.NewArray(list)})
	}
	var told []payload.Value
	for _, t := range r.traces[:min(len(r.traces), maxTraces)] {
		told = append(told, payload.NewStrings([]string{t.kind, t.text}))
	}
	if told != nil {
		fields = append(fields, payload.Field{Name: "traces", Value: payload.NewArray(told)})
	}
	return object(fields...)
}

func packDecision(d hookpoints.Decision) payload.Value {
	fields := []payload.Field{text("verb", d.Verb.String())}
	if d.Fields != nil {
		fields = append(fields, payload.Field{Name: "fields", Value: payload.NewObject(d.Fields...)})
	}
	if d.Text != "" {
		fields = append(fields, text("text", d.Text))
	}
	if d.Name != "" {
		fields = append(fields, text("name", d.Name))
	}
	fields = with(fields, "value", d.Value)
	if d.Flag {
		fields = append(fields, payload.Field{Name: "flag", Value: payload.NewBool(true)})
	}
	return object(fields...)
}

// errLies is the kind of failure of a worker that says what no script could make it say.
var errLies = fmt.Errorf("%w: the worker answered what it can't have been asked", hookpoints.ErrHookFailed)

// unpackResult reads a result as if somebody hostile had written it.
func unpackResult(v payload.Value, limits meter.Limits) result {
	r := result{err: errLies}
	fuel, ok := v.Get("fuel").Int64()
	bytes, also := v.Get("bytes").Int64()
	if !ok || !also || fuel < 0 || bytes < 0 || fuel > limits.Fuel || bytes > limits.Bytes {
		return r
	}
	r.usage = hookpoints.Usage{Fuel: fuel, Bytes: bytes}
	for t := range v.Get("traces").Items() {
		if kind := t.At(0).Text(); t.Len() == 2 && len(r.traces) < maxTraces && (kind == "print" || kind == "error") {
			r.traces = append(r.traces, trace{kind, hookpoints.Cut(t.At(1).Text(), hookpoints.MaxText)})
		}
	}
	if word := v.Get("error"); word.Exists() {
		if known := words[word.Text()]; known != nil {
			r.err = fmt.Errorf("%w: %s", known, hookpoints.Cut(v.Get("message").Text(), hookpoints.MaxText))
		}
		return r
	}
	if !unpackKeys(&r, v.Get("keys")) || !unpackDecisions(&r, v.Get("decisions")) {
		return r
	}
	r.err = nil
	return r
}

// maxKeys and maxKey bound what a hook may ask to know.
const (
	maxKeys = 100
	maxKey  = 4096
)

func unpackKeys(r *result, v payload.Value) bool {
	if v.Len() > maxKeys {
		return false
	}
	for k := range v.Items() {
		if k.Kind() != payload.String || k.TextLen() > maxKey {
			return false
		}
		r.keys = append(r.keys, k.Text())
	}
	return true
}

const (
	maxDecisions = 1000
	maxResult    = 8 << 20
)

func unpackDecisions(r *result, list payload.Value) bool {
	if !list.Exists() {
		return true
	}
	if list.Kind() != payload.Array || list.Len() > maxDecisions || list.Size() > maxResult || list.Depth(hookpoints.MaxResultDepth+4) > hookpoints.MaxResultDepth+3 {
		return false
	}
	for v := range list.Items() {
		d, ok := unpackDecision(v)
		if !ok {
			return false
		}
		r.decisions = append(r.decisions, d)
	}
	return true
}

func unpackDecision(v payload.Value) (d hookpoints.Decision, ok bool) {
	if d.Verb, ok = verbs[v.Get("verb").Text()]; !ok {
		return d, false
	}
	d.Text, d.Name, d.Value, d.Flag = v.Get("text").Text(), v.Get("name").Text(), v.Get("value"), v.Get("flag").IsTrue()
	if d.Verb != hookpoints.Context && d.Verb != hookpoints.Proceed && utf8.RuneCountInString(d.Text) > hookpoints.MaxReason {
		return d, false
	}
	for name, field := range v.Get("fields").Members() {
		d.Fields = append(d.Fields, payload.Field{Name: name, Value: field})
	}
	if d.Verb == hookpoints.Respond && !d.Value.Exists() {
		return d, false
	}
	return d, utf8.RuneCountInString(d.Name) <= hookpoints.MaxReason
}

// verbs are those that a script can make, by name.
var verbs = func() map[string]hookpoints.Verb {
	out := map[string]hookpoints.Verb{}
	for v := hookpoints.None; v.String() != "unknown"; v++ {
		out[v.String()] = v
	}
	return out
}()

// limitsOf reads a pair of limits.
func limitsOf(v payload.Value) meter.Limits {
	fuel, _ := v.Get("fuel").Int64()
	bytes, _ := v.Get("bytes").Int64()
	return meter.Limits{Fuel: min(max(fuel, 0), math.MaxInt64/4), Bytes: min(max(bytes, 0), math.MaxInt64/4)}
}

// changes tells whether what a hook said could change what the one after it sees, so that a trip ends.
func changes(ds []hookpoints.Decision) bool {
	return slices.ContainsFunc(ds, func(d hookpoints.Decision) bool {
		return d.Verb != hookpoints.None && d.Verb != hookpoints.Context && d.Verb != hookpoints.Annotate && d.Verb != hookpoints.Effect
	})
}
