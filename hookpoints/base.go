package hookpoints

import (
	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// req and opt keep the tables of points readable.
func req(name string, t contract.Type) contract.Field {
	return contract.Field{Name: name, Type: t, Required: true}
}
func opt(name string, t contract.Type) contract.Field { return contract.Field{Name: name, Type: t} }

// example is a payload written as text in a table; a mistake in it is a mistake in the program.
func example(text string) payload.Value {
	v, err := payload.ParseString(text)
	if err != nil {
		panic("hookpoints: example " + text + ": " + err.Error())
	}
	return v
}

// The types that the base points share. See BaseVector for what pins them.
var (
	messages  = contract.ListOf(contract.Having("role"))
	embedText = contract.Type{Kinds: payload.Object, Required: []string{"index", "text"}, Closed: true,
		Members: []contract.Field{{Name: "index", Type: contract.Int.AtLeast(0)}, {Name: "text", Type: contract.Type{Kinds: payload.String, MinLength: 1}}}}
	lifecycleAfter = []contract.Field{req("output", contract.Any), req("status", contract.Status), req("outcome", contract.Str.Nullable()), opt("annotations", contract.Obj)}
	diagnostics    = []contract.Field{req("kind", contract.Str), req("stage", contract.Str), req("actual_status", contract.Status),
		req("error", contract.Obj.Nullable()), req("completed_before", contract.Int.AtLeast(0)), req("completed_after", contract.Int.AtLeast(0))}
)

// chatReply: a reply that says nothing and calls nothing is no reply.
var chatReply = contract.Rule{
	Over: []string{"content", "tool_calls"},
	Check: func(v payload.Value) string {
		if !v.Get("content").Exists() && !v.Get("tool_calls").Exists() {
			return "is missing, and so is tool_calls"
		}
		return ""
	},
	Schema: []payload.Field{{Name: "anyOf", Value: example(`[{"required":["content"]},{"required":["tool_calls"]}]`)}},
}

// compaction: what was compacted is shown whole, what wasn't isn't shown at all.
var compaction = contract.Rule{
	Over: []string{"compacted", "summary", "messages", "metrics", "summary_slot"},
	Check: func(v payload.Value) string {
		done := v.Get("compacted").IsTrue()
		for _, name := range []string{"messages", "metrics", "summary_slot"} {
			switch has := v.Get(name).Exists(); {
			case done && !has:
				return "is true, but " + name + " is missing"
			case !done && has:
				return "is false, but " + name + " is there"
			}
		}
		if !done && v.Get("summary").Kind() != payload.Null {
			return "is false, but there is a summary"
		}
		return ""
	},
	Schema: []payload.Field{
		{Name: "if", Value: example(`{"properties":{"compacted":{"const":true}}}`)},
		{Name: "then", Value: example(`{"required":["messages","metrics","summary_slot"]}`)},
		{Name: "else", Value: example(`{"properties":{"summary":{"type":"null"}},"not":{"anyOf":[{"required":["messages"]},{"required":["metrics"]},{"required":["summary_slot"]}]}}`)},
	},
}

// basePoints are the sixteen points of contract v2, in the order in which their vector is computed.
// Fields, types, writable fields and who may reject are fixed by that vector; what decisions a point
// allows beside them is ours.
func basePoints() []*Point {
	points := []*Point{
		{Name: "model.chat.before", Phase: Before, Reject: true, Writable: []string{"messages", "temperature", "top_p", "max_tokens"},
			Allows: SetOf(Patch, Reject, Respond, Context, Stop), HasTarget: true,
			Fires: "Before each request to a chat model. The target is the model's id.",
			Contract: contract.New([]contract.Field{req("messages", messages), req("tools", contract.Arr), req("model_id", contract.Str.Nullable()), req("purpose", contract.Str),
				req("temperature", contract.Num.Nullable().AtLeast(0).AtMost(2)), req("top_p", contract.Num.Nullable().Above(0).AtMost(1)), req("max_tokens", contract.Int.Nullable().AtLeast(1))}),
			Example: example(`{"messages":[{"role":"user","content":"List the files."}],"tools":[],"model_id":"some-model","purpose":"action","temperature":null,"top_p":null,"max_tokens":null}`)},
		{Name: "model.chat.after", Phase: After, Writable: []string{"content", "annotations"}, Allows: SetOf(Patch, Stop), HasTarget: true,
			Fires: "After a chat model's reply was saved, before anybody sees it.",
			Contract: contract.New([]contract.Field{req("role", contract.Only("assistant")), opt("content", contract.Str.Nullable()), opt("tool_calls", contract.Arr),
				opt("reasoning_content", contract.Str.Nullable()), opt("usage", contract.Obj.Nullable()), opt("finish_reason", contract.Str.Nullable()),
				opt("provider_request_id", contract.Str.Nullable()), opt("annotations", contract.Obj)}, chatReply),
			Example: example(`{"role":"assistant","content":"Three files.","finish_reason":"stop"}`)},
		{Name: "model.embedding.before", Phase: Before, Reject: true, Writable: []string{"texts"}, Allows: SetOf(Patch, Reject), HasTarget: true,
			Fires: "Before texts are sent to an embedding model.",
			Contract: contract.New([]contract.Field{req("texts", contract.Type{Kinds: payload.Array, MinItems: 1, Items: &embedText}), req("model_id", contract.Str),
				req("index_signature", contract.Str), req("dimensions", contract.Int.Nullable().AtLeast(1)), req("encoding_format", contract.Only("float")), req("purpose", contract.OneOf("document", "query"))}),
			Example: example(`{"texts":[{"index":0,"text":"how to deploy"}],"model_id":"some-embedder","index_signature":"sha256:00","dimensions":null,"encoding_format":"float","purpose":"query"}`)},
		{Name: "model.embedding.after", Phase: After, Observation: true, HasTarget: true,
			Fires: "After the vectors were saved.",
			Contract: contract.New([]contract.Field{req("vectors", contract.ListOf(contract.ListOf(contract.Num))), req("indices", contract.ListOf(contract.Int.AtLeast(0))),
				req("dimension", contract.Int.AtLeast(1)), opt("usage", contract.Obj.Nullable()), opt("provider_request_id", contract.Str.Nullable())}),
			Example: example(`{"vectors":[[0.5,0.25]],"indices":[0],"dimension":2}`)},
		{Name: "tool.before", Phase: Before, Reject: true, Writable: []string{"arguments"}, Allows: SetOf(Patch, Reject, Respond, Context, Stop, Effect), HasTarget: true,
			Fires: "Before a tool runs, and before anybody is asked about it. The target is the tool's id.",
			Contract: contract.New([]contract.Field{req("name", contract.Str), req("tool_id", contract.Str), req("implementation_id", contract.Str.Nullable()),
				req("parameters", contract.Obj), req("arguments", contract.Obj)}),
			Example: example(`{"name":"shell","tool_id":"shell","implementation_id":null,"parameters":{"type":"object"},"arguments":{"command":"ls"}}`)},
		{Name: "tool.after", Phase: After, Writable: []string{"value", "annotations"}, Allows: SetOf(Patch, Context, Stop, Effect, Halt), HasTarget: true,
			Fires:    "After a tool's result was saved, before the model or anybody else sees it.",
			Contract: contract.New([]contract.Field{req("value", contract.Any), req("status", contract.Status), req("evidence_arguments", contract.Obj), opt("annotations", contract.Obj)}),
			Example:  example(`{"value":{"output":"a.txt\n","exit_code":0},"status":"succeeded","evidence_arguments":{"command":"ls"}}`)},
		{Name: "context.prepare.before", Phase: Before, Reject: true, Writable: []string{"additional_messages"}, Allows: SetOf(Patch, Reject, Context),
			Fires: "Before the messages of a request are put together.",
			Contract: contract.New([]contract.Field{req("task", contract.Str), req("plan", contract.Arr), req("messages", messages), req("tools", contract.Arr),
				req("additional_messages", messages)}),
			Example: example(`{"task":"Tidy up.","plan":[],"messages":[{"role":"user","content":"Tidy up."}],"tools":[],"additional_messages":[]}`)},
		{Name: "context.prepare.after", Phase: After, Observation: true,
			Fires:    "After the messages of a request were put together.",
			Contract: contract.New([]contract.Field{req("messages", messages), req("metrics", contract.Obj.Nullable())}),
			Example:  example(`{"messages":[{"role":"user","content":"Tidy up."}],"metrics":null}`)},
		{Name: "context.compact.before", Phase: Before, Reject: true, Allows: SetOf(Reject),
			Fires: "Before a conversation is shortened.",
			Contract: contract.New([]contract.Field{req("task", contract.Str), req("plan", contract.Arr), req("messages", messages), req("tools", contract.Arr),
				req("counters", contract.Obj)}),
			Example: example(`{"task":"Tidy up.","plan":[],"messages":[{"role":"user","content":"Tidy up."}],"tools":[],"counters":{}}`)},
		{Name: "context.compact.after", Phase: After, Writable: []string{"summary"}, Allows: SetOf(Patch),
			Fires: "After a conversation was shortened, or wasn't.",
			Contract: contract.New([]contract.Field{req("compacted", contract.Bool), req("summary", contract.Str.Nullable()), opt("messages", messages), opt("metrics", contract.Obj),
				opt("summary_slot", contract.Obj.Nullable())}, compaction),
			Example: example(`{"compacted":false,"summary":null}`)},
		{Name: "run.before", Phase: Before, Reject: true, Allows: SetOf(Reject), HasTarget: true,
			Fires:    "Before a run begins. The target is \"run\".",
			Contract: contract.New([]contract.Field{req("task", contract.Str)}),
			Example:  example(`{"task":"Tidy up."}`)},
		{Name: "run.after", Phase: After, Writable: []string{"annotations"}, Allows: SetOf(Patch, Effect), HasTarget: true,
			Fires:    "After a run ended.",
			Contract: contract.New(lifecycleAfter),
			Example:  example(`{"output":"Done.","status":"succeeded","outcome":"complete"}`)},
		{Name: "subagent.before", Phase: Before, Reject: true, Allows: SetOf(Reject), HasTarget: true,
			Fires:    "Before a child run begins.",
			Contract: contract.New([]contract.Field{req("task", contract.Str)}),
			Example:  example(`{"task":"Find the tests."}`)},
		{Name: "subagent.after", Phase: After, Writable: []string{"annotations"}, Allows: SetOf(Patch, Effect), HasTarget: true,
			Fires:    "After a child run ended.",
			Contract: contract.New(lifecycleAfter),
			Example:  example(`{"output":"In tests/.","status":"succeeded","outcome":"complete"}`)},
		{Name: "operation.error", Phase: Error, Observation: true, HasTarget: true,
			Fires:    "When an operation failed, was rejected or is unknown. It can't change that.",
			Contract: contract.New(diagnostics),
			Example:  example(`{"kind":"tool","stage":"executing","actual_status":"failed","error":{"type":"operation_failed","stage":"executing"},"completed_before":1,"completed_after":0}`)},
		{Name: "operation.finally", Phase: Finally, Observation: true, HasTarget: true,
			Fires:    "When an operation ends, however it ends, but for a crash.",
			Contract: contract.New(diagnostics),
			Example:  example(`{"kind":"tool","stage":"completed","actual_status":"succeeded","error":null,"completed_before":1,"completed_after":1}`)},
	}
	for _, p := range points {
		p.Set = BaseSet
	}
	return points
}
