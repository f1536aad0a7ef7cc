package journaltest

import (
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// long is stored beside its row, and compressed.
var long = strings.Repeat("a line of text that is long enough; ", 400)

// texts are JSON texts that have to come back as they are.
func texts() []string {
	out := []string{
		`null`, `true`, `false`, `0`, `-0`, `""`, `{}`, `[]`, `[[]]`, `{"":{}}`, `[null]`,
		`1e400`, `-1E+400`, `1.0`, `1.10`, `0.1e-7`, `9007199254740993`, `123456789012345678901234567890`, `1e-999`,
		`"\u0000\u001f\u007f\u2028\u2029"`, `"é ü 漢字 😀 \ud83d\ude00"`, `"\/ \" \\ \b\f\n\r\t"`, `"<&>"`, `"\u003c"`,
		`{"z":1,"a":2,"Z":3,"é":4,"\u0061b":5}`,
		`{ "spaced" : [ 1 , 2.50 ,` + "\n\t" + `3 ] }`,
		`{"v":1}`, `{"b":"x"}`, `{"o":[["a",{"v":1}]]}`, `{"a":["` + strings.Repeat("0", 64) + `"]}`,
	}
	pad := strings.Repeat("x", 300)
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	out = append(out,
		`"`+strings.Repeat("y", 1022)+`"`, `"`+strings.Repeat("y", 1023)+`"`, `"`+strings.Repeat("é😀\\n", 4000)+`"`,
		`"`+strings.Repeat("z", 1<<17)+`"`,
		`[`+many(31, `"`+pad+`"`)+`]`, `[`+many(32, `"`+pad+`"`)+`]`, `[`+many(33, `"`+pad+`"`)+`]`, `[`+many(2000, `1`)+`]`, `[`+many(200, `{"role":"user","content":"`+pad+`"}`)+`]`,
		`["`+pad+pad+pad+pad+`"]`, `[ `+many(40, ` "`+pad+`" `)+` ]`,
		`{"messages":[`+many(100, `{"role":"tool","content":[{"text":"`+pad+`"},{"n":1e400}]}`)+`],"model":"m","n": 1}`,
		`{"messages":[`+many(100, `{"role":"tool","content":[{"text":"`+pad+`"},{"n":1e400}]}`)+`],"model":"m","n":1}`,
		`{"\u0061":"`+strings.Repeat(pad, 5)+`"}`, `{"":"`+strings.Repeat(pad, 5)+`","o":{"b":"`+strings.Repeat(pad, 5)+`"}}`,
		`{"deep":{"deeper":{"deepest":["`+strings.Repeat(pad, 5)+`",1e400,{}]}}}`,
	)
	for _, depth := range []int{payload.MaxDepth - 4, payload.MaxDepth - 1, payload.MaxDepth} {
		out = append(out,
			strings.Repeat("[", depth)+strings.Repeat("]", depth),
			strings.Repeat(`[1,`, depth-1)+`[]`+strings.Repeat("]", depth-1),
			strings.Repeat(`{"k":`, depth-1)+`{}`+strings.Repeat("}", depth-1),
			strings.Repeat(`[0,"`+pad+`",`, depth-1)+`[]`+strings.Repeat("]", depth-1),
			strings.Repeat(`{"p":"`+pad+`","k":`, depth-1)+`[]`+strings.Repeat("}", depth-1))
	}
	return out
}

// samples are texts parsed, and values that were built.
func samples(t testing.TB) []payload.Value {
	var out []payload.Value
	for _, s := range texts() {
		out = append(out, parse(t, s))
	}
	source := parse(t, `{ "kept" : 1.50 , "n":1 }`)
	return append(out,
		text(""), text(long), payload.NewInt(-1), payload.NewObject(), payload.NewArray(nil), payload.NewStrings([]string{"a", "\x00", "</script>"}),
		source.With(payload.Field{Name: "n", Value: text(long)}), source.With(payload.Field{Name: "more", Value: source}),
		payload.NewArray([]payload.Value{source, text(long), payload.NewNull(), source.With(payload.Field{Name: "x", Value: payload.NewArray([]payload.Value{text(long), source})})}))
}

// everyRow is one row of each type that has v wherever a value can be.
func everyRow(op string, v payload.Value) []operation.Row {
	fields := []payload.Field{{Name: "plain", Value: text("x")}, {Name: "é \" b", Value: v}}
	effect := func(n int) hookpoints.EffectRequest {
		return hookpoints.EffectRequest{BindingID: "project/commit", Chain: "tool.after", Ordinal: n, Name: "git.commit", Before: n == 1, Arguments: v}
	}
	chained := operation.Chained{
		Records: []hookpoints.Record{
			{BindingID: "user/clamp", HookID: "clamp", Version: "v1", Point: "tool.before", Part: hookpoints.Ordinary, Ran: true, Decision: "patch+annotate", Fields: []string{"arguments"},
				Overrode: []string{"shipped/x"}, Reason: "<why> ✓", Annotations: parsed(`{"n":1e400,"t":["é",{}]}`), Fuel: 1 << 40, Bytes: 12, Micros: 3, Schedule: 1, Error: "budget", StateRead: "digest"},
			{BindingID: "skipped", Part: hookpoints.Guards, Why: "scope"}},
		Facts:   []hookpoints.Fact{{Key: "git.head", Value: v, Pass: "ordinary", Point: "tool.before", Round: 2}, {Key: "file:AGENTS.md", Absent: "not allowed"}},
		State:   []hookpoints.Delta{{Cell: "project/n", Read: "digest", Set: fields}, {Cell: "empty", Set: []payload.Field{}}, {Cell: "none"}},
		Effects: []hookpoints.EffectRequest{effect(0), effect(1)},
		Texts:   []hookpoints.Text{{BindingID: "a", Text: long, Pin: true}, {BindingID: "b", Text: "short\n\u2028"}},
	}
	d := operation.Decided{
		Head: operation.Head{ID: op, Parent: "parent", Kind: "tool", RunID: "run of " + op, SessionID: "s", Instance: "i", Client: "gemini", Agent: "a", Tool: "shell", Foreign: true, Composite: true,
			Revisions: operation.Triple{Shipped: "1", User: "2", Project: "3"}, Began: began},
		Original: v, Final: v, Write: v, Outcome: hookpoints.Responded, By: "by", Reason: "reason", Code: "code", Response: v, Clear: true,
		Scope: parsed(`{"tool_id":"shell"}`), Policy: "ask", Alone: true, Prepared: []payload.Value{v, parsed("{}")}, Chained: chained}
	bare := operation.Decided{Head: operation.Head{ID: op, RunID: "run of " + op, Began: began}}
	q := operation.Question{ID: operation.QuestionID(op, 2), OpID: op, RunID: "r", SessionID: "s", Agent: "a", Tool: "shell", Kind: operation.Confirm, By: "project/asks", Prompt: "may it? <é>", Again: "why",
		Preview: "- a\n+ b", Arguments: v, AskedAt: began, ExpiresAt: began.Add(time.Hour)}
	return []operation.Row{
		operation.PointRow{Decided: d, Point: "turn.before", N: 3}, operation.PointRow{Decided: bare},
		operation.ReadyRow{Decided: d},
		operation.WaitingRow{Decided: d, Question: q, N: 2}, operation.WaitingRow{Decided: bare},
		operation.AnswerRow{Op: op, N: 2, Answer: operation.Answer{Verb: "allow", Reason: "r", Who: "me", Edit: fields, For: 3, Value: v}}, operation.AnswerRow{Op: op, N: 1, Answer: operation.Answer{For: operation.Always}}, operation.AnswerRow{Op: op, Answer: operation.Answer{Edit: []payload.Field{}}},
		operation.IntentRow{Decided: d, State: operation.Running},
		operation.RetryRow{Op: op, N: 1, Why: "a resume"}, operation.RetryRow{Op: op},
		operation.OutcomeRow{Op: op, N: 1, Value: v, Status: operation.Failed, Evidence: v, Scope: parsed(`{"kind":"shell"}`), Event: "sha256:1"}, operation.OutcomeRow{Op: op},
		operation.AfterRow{Op: op, N: 1, Effective: v, Stopped: true, Proceed: "go on", By: "by", Reason: "r", Unknown: true, Chained: chained}, operation.AfterRow{Op: op},
		operation.FailedRow{Op: op, N: 1, Point: "p", By: "by", Error: "hook_failed", Given: v, Chained: chained}, operation.FailedRow{Op: op},
		operation.EngineRow{Op: op, N: 1, Who: "me", Differences: v}, operation.EngineRow{Op: op},
		operation.HookRow{Head: d.Head, Original: v, N: 1, Call: operation.HookCall{Point: "p", BindingID: "b", Part: hookpoints.Guards, Attempt: 2, Pass: 3, Input: "00ff"}}, operation.HookRow{Head: bare.Head},
		operation.HookedRow{Op: op, N: 2, Of: 1, Fuel: 3, Bytes: 4, Error: "hook_failed", Again: true, Who: "me", Reason: "r", Decisions: []hookpoints.Decision{
			{Verb: hookpoints.Patch, Fields: fields}, {Verb: hookpoints.Reject, Text: "no", Name: "odd"}, {Verb: hookpoints.Respond, Value: v, Flag: true}, {}}}, operation.HookedRow{Op: op},
		operation.EffectRow{Decided: d, Before: true, Depth: 3},
	}
}

func parsed(s string) payload.Value {
	v, err := payload.ParseString(s)
	if err != nil {
		panic(err)
	}
	return v
}

func roundTrip(t *testing.T, b *bench) {
	for i, v := range []payload.Value{text("small"), text(long), parse(t, `{ "as" : [ 1e400 , "é" ] }`)} {
		op := numbered("op ✓", i)
		rows := everyRow(op, v)
		b.commit(t, rows...)
		got := b.rows(t, op)
		same(t, "rows", got, rows)
		b.commit(t, got...) // what was read is the same row
		same(t, "rows of the run", b.runRows(t, "run of "+op), rows)
	}
}

// values has each sample where it stands alone, among fields, and deep in a row.
func values(t *testing.T, b *bench) {
	var all, got []operation.Row
	for i, v := range samples(t) {
		op := numbered("op", i)
		rows := []operation.Row{
			operation.OutcomeRow{Op: op, Value: v},
			operation.AnswerRow{Op: op, Answer: operation.Answer{Edit: []payload.Field{{Name: "v", Value: v}}}},
			operation.FailedRow{Op: op, Chained: operation.Chained{Facts: []hookpoints.Fact{{Key: "k", Value: v}}, Effects: []hookpoints.EffectRequest{{Arguments: v}}}},
		}
		b.commit(t, rows...)
		all, got = append(all, rows...), append(got, b.rows(t, op)...)
	}
	same(t, "rows", got, all)
}
