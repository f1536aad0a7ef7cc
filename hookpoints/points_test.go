package hookpoints_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func parse(t interface{ Fatal(...any) }, text string) payload.Value {
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }

func point(t interface{ Fatalf(string, ...any) }, name string) *hookpoints.Point {
	p := hookpoints.Standard().Point(name)
	if p == nil {
		t.Fatalf("there is no point %q", name)
	}
	return p
}

func TestEachPointHoldsPayloadsToItsContract(t *testing.T) {
	for _, p := range hookpoints.Standard().All() {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.Check(p.Example); err != nil {
				t.Errorf("the example: %v", err)
			}
			refused := map[string]payload.Value{
				"{}":             payload.NewObject(),
				"a list":         parse(t, `[]`),
				"an extra field": p.Example.With(field("surplus", payload.NewNull())),
			}
			for _, f := range p.Contract.Fields() {
				if f.Required {
					refused["without "+f.Name] = p.Example.Without(f.Name)
				}
			}
			for name, v := range refused {
				err := p.Check(v)
				if !errors.Is(err, hookpoints.ErrContract) || !strings.HasPrefix(err.Error(), p.Name+": ") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestThePointsAreAPlausibleCatalogue(t *testing.T) {
	c := hookpoints.Standard()
	for i, p := range c.All() {
		base := i < 16
		if (p.Set == hookpoints.BaseSet) != base {
			t.Errorf("%s is number %d and of set %s", p.Name, i+1, p.Set)
		}
		for _, f := range p.Writable {
			if !p.Contract.Has(f) || !p.CanWrite(f) {
				t.Errorf("%s: the writable field %s is unknown", p.Name, f)
			}
		}
		changes := p.Allows.Has(hookpoints.Patch) || p.Allows.Has(hookpoints.Edit)
		switch {
		case p.Name == "file.write.before":
		case (len(p.Writable) > 0) != changes:
			t.Errorf("%s: writable %v, but patch and edit are %v", p.Name, p.Writable, changes)
		case base && p.Reject != p.Allows.Has(hookpoints.Reject):
			t.Errorf("%s: allow_reject is %v", p.Name, p.Reject)
		case p.Reject && p.Phase != hookpoints.Before:
			t.Errorf("%s rejects in phase %s", p.Name, p.Phase)
		case p.Observation && (len(p.Writable) > 0 || p.Reject || p.Allows&^hookpoints.SetOf(hookpoints.Effect) != 0):
			t.Errorf("%s is for observation and can be changed", p.Name)
		case p.Fires == "" || c.Point(p.Name) != p:
			t.Errorf("%s isn't described or can't be found", p.Name)
		}
	}
	for verb, only := range map[hookpoints.Verb][]string{
		hookpoints.Halt:    {"tool.after", "turn.after", "effect.after"},
		hookpoints.Proceed: {"turn.after", "effect.after"},
		hookpoints.Respond: {"model.chat.before", "tool.before", "elicit"},
		hookpoints.Allow:   {"tool.confirm"},
		hookpoints.Edit:    {"tool.confirm"},
	} {
		var at []string
		for _, p := range c.All() {
			if p.Allows.Has(verb) {
				at = append(at, p.Name)
			}
		}
		if !slices.Equal(at, only) {
			t.Errorf("%s is allowed at %v, want %v", verb, at, only)
		}
	}
}

func TestRepliesSayOrCallSomething(t *testing.T) {
	valid := []string{`{"content":"a"}`, `{"tool_calls":[]}`, `{"content":null,"tool_calls":[{}]}`, `{"content":null}`}
	for _, text := range valid {
		for _, more := range []string{`{}`, `{"usage":null}`, `{"usage":{"in":1},"annotations":{"a":1}}`, `{"finish_reason":"stop","provider_request_id":null,"reasoning_content":"x"}`} {
			v := parse(t, `{"role":"assistant"}`)
			for _, add := range []string{text, more} {
				for name, kid := range parse(t, add).Members() {
					v = v.With(field(name, kid))
				}
			}
			if err := point(t, "model.chat.after").Check(v); err != nil {
				t.Errorf("%s: %v", v, err)
			}
		}
	}
	for _, text := range []string{`{"role":"assistant"}`, `{"content":"a"}`, `{"role":"user","content":"a"}`, `{"role":"assistant","content":1}`, `{"role":"assistant","content":"a","annotations":null}`} {
		if err := point(t, "model.chat.after").Check(parse(t, text)); err == nil {
			t.Errorf("%s is a reply", text)
		}
	}
}

func TestACompactionIsShownWholeOrNotAtAll(t *testing.T) {
	p := point(t, "context.compact.after")
	parts := []string{`"messages":[{"role":"user"}]`, `"metrics":{}`, `"summary_slot":null`}
	for _, compacted := range []bool{true, false} {
		for _, summary := range []string{`null`, `"short"`} {
			for mask := range 1 << len(parts) {
				text := fmt.Sprintf(`{"compacted":%v,"summary":%s`, compacted, summary)
				for i, part := range parts {
					if mask&(1<<i) != 0 {
						text += "," + part
					}
				}
				v := parse(t, text+"}")
				want := compacted && mask == 1<<len(parts)-1 || !compacted && mask == 0 && summary == "null"
				if err := p.Check(v); (err == nil) != want {
					t.Errorf("%s: %v, want valid %v", v, err, want)
				}
			}
		}
	}
	whole := parse(t, `{"compacted":true,"summary":"s","messages":[],"metrics":{},"summary_slot":{"at":1}}`)
	if err := p.Check(whole); err != nil {
		t.Errorf("%s: %v", whole, err)
	}
	patch := field("summary", payload.NewString("x"))
	if err := p.Contract.CheckPatch(whole.With(patch), []payload.Field{patch}); err != nil {
		t.Errorf("a summary is patched: %v", err)
	}
	skipped := parse(t, `{"compacted":false,"summary":null}`)
	if err := p.Contract.CheckPatch(skipped.With(patch), []payload.Field{patch}); err == nil {
		t.Error("a summary is patched in where nothing was compacted")
	}
}

func TestFieldsOfAWrongShapeAreRefused(t *testing.T) {
	for name, fields := range map[string]map[string][]string{
		"tool.before":            {"arguments": {`[]`, `null`, `"{}"`}, "name": {`null`, `1`}, "parameters": {`true`}, "implementation_id": {`1`}},
		"tool.after":             {"status": {`"ok"`, `null`}, "evidence_arguments": {`null`}, "annotations": {`[]`}},
		"model.chat.before":      {"temperature": {`-1`, `2.1`, `true`, `"1"`}, "top_p": {`0`, `1.5`}, "max_tokens": {`0`, `1.5`}, "messages": {`[{}]`, `[{"content":"a"}]`, `{}`}, "tools": {`{}`}},
		"model.chat.after":       {"content": {`1`, `["a"]`}, "tool_calls": {`{}`}},
		"model.embedding.before": {"texts": {`[]`, `[{"index":0}]`, `[{"index":-1,"text":"a"}]`, `[{"index":0,"text":""}]`, `[{"index":0,"text":"a","x":1}]`}, "encoding_format": {`"base64"`}, "purpose": {`"action"`}},
		"model.embedding.after":  {"vectors": {`[1]`, `[["1"]]`}, "indices": {`[-1]`, `[0.5]`}, "dimension": {`0`}},
		"operation.error":        {"completed_before": {`-1`}, "actual_status": {`"fine"`}, "error": {`"x"`}},
		"turn.after":             {"continuation": {`-1`}, "prompt": {`null`}},
		"step.before":            {"step": {`0`}},
		"model.chat.chunk":       {"text": {`null`, `["a"]`}},
		"model.chat.interrupt":   {"partial": {`null`}},
		"session.start":          {"source": {`"boot"`}},
		"tool.confirm":           {"kind": {`"bash"`}},
		"file.write.before":      {"kind": {`"move"`}, "content": {`1`}},
	} {
		p := point(t, name)
		for f, values := range fields {
			for _, text := range values {
				err := p.Check(p.Example.With(field(f, parse(t, text))))
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("field %q", f)) {
					t.Errorf("%s with %s = %s: %v", name, f, text, err)
				}
			}
		}
	}
	for _, name := range []string{"operation.error", "operation.finally"} { // never sent, gone since version 2
		for _, f := range []string{"operation", "status"} {
			if err := point(t, name).Check(point(t, name).Example.With(field(f, payload.NewString("failed")))); err == nil {
				t.Errorf("%s takes %s", name, f)
			}
		}
	}
}

func TestAPayloadBeyondEightMegabytesIsRefused(t *testing.T) {
	p := point(t, "turn.before")
	for n, ok := range map[int]bool{hookpoints.MaxPayload - len(`{"prompt":""}`): true, hookpoints.MaxPayload - len(`{"prompt":""}`) + 1: false} {
		err := p.Check(parse(t, `{"prompt":"`+strings.Repeat("x", n)+`"}`))
		if (err == nil) != ok || !ok && !errors.Is(err, hookpoints.ErrContract) {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}

// What fits a point here fits the schema that a manifest shows of it, and the other way round.
func TestThePointsAgreeWithTheirSchemas(t *testing.T) {
	plain := func(v payload.Value) (out any) {
		if err := json.Unmarshal(v.JSON(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, p := range hookpoints.Standard().All() {
		var s jsonschema.Schema
		if err := json.Unmarshal(p.Contract.Schema(true).JSON(), &s); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		t.Run(p.Name, rapid.MakeCheck(func(t *rapid.T) {
			v := p.Example
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				v = mutate(t, p, v)
			}
			if ours, theirs := p.Contract.Check(v), r.Validate(plain(v)); (ours == nil) != (theirs == nil) {
				t.Fatalf("%s: here %v, the library %v", v, ours, theirs)
			}
		}))
	}
}

func mutate(t *rapid.T, p *hookpoints.Point, v payload.Value) payload.Value {
	f := rapid.SampledFrom(p.Contract.Fields()).Draw(t, "field")
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		return v.Without(f.Name)
	case 1:
		return v.With(field("surplus", payload.NewInt(1)))
	}
	values := []string{`null`, `true`, `false`, `0`, `1`, `-1`, `2.5`, `"a"`, `""`, `"assistant"`, `"failed"`, `"query"`, `[]`, `{}`, `[0]`, `[[0.5]]`, `[[]]`, `[{"role":"user"}]`,
		`[{"index":0,"text":"a"}]`, `[{"index":0.0,"text":""}]`, `[{"id":"1","name":"x"}]`, `{"a":1}`, `"shell"`, `"create"`, `"startup"`}
	return v.With(field(f.Name, parse(t, rapid.SampledFrom(values).Draw(t, "value"))))
}

// A hook that reads two fields of a megabyte doesn't pay for the megabyte: neither does the check.
func TestTwoFieldsOfAMegabyteDecodeAFewNodes(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":"shell","tool_id":"shell","implementation_id":null,"parameters":{"type":"object"},"arguments":{"command":"ls","rows":[`)
	for i := 0; b.Len() < 1<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"text":"row \u00e9 %d","tags":["a","b"]}`, i, i)
	}
	b.WriteString(`]}}`)
	var count payload.Counter
	v, err := payload.ParseCounted([]byte(b.String()), &count)
	if err != nil {
		t.Fatal(err)
	}
	p := point(t, "tool.before")
	if err := p.Check(v); err != nil {
		t.Fatal(err)
	}
	command := v.Get("arguments").Get("command").Text()
	patched := v.With(field("arguments", v.Get("arguments").With(field("command", payload.NewString("ls -l")))))
	if err := p.Contract.CheckPatch(patched, []payload.Field{field("arguments", patched.Get("arguments"))}); err != nil {
		t.Fatal(err)
	}
	if command != "ls" || v.Get("name").Text() != "shell" || patched.Size() != v.Size()+len(" -l") {
		t.Errorf("read %q", command)
	}
	if n := count.Nodes(); n == 0 || n >= 50 {
		t.Errorf("%d nodes were decoded, want fewer than 50", n)
	}
}

func TestTheFirstContractTakesAnyObject(t *testing.T) {
	for _, p := range hookpoints.Standard().All() {
		v1 := p.Contract.Schema(false)
		if v1.Get("required").Exists() || v1.Get("additionalProperties").Exists() {
			t.Errorf("%s: %s", p.Name, v1)
		}
	}
}
