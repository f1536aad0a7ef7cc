package hookpoints

import "agentd/hookpoints/contract"

// addedPoints are agentd's own. A point is here once something fires it.
func addedPoints() []*Point {
	points := []*Point{
		{Name: "session.start", Phase: Before, Allows: SetOf(Context, Effect),
			Fires:    "When a session begins or is taken up again.",
			Contract: contract.New([]contract.Field{req("source", contract.OneOf("startup", "resume", "clear", "compact")), req("cwd", contract.Str)}),
			Example:  example(`{"source":"startup","cwd":"/home/user/project"}`)},
		{Name: "session.end", Phase: After, Allows: SetOf(Effect),
			Fires:    "When a session ends.",
			Contract: contract.New([]contract.Field{req("reason", contract.Str)}),
			Example:  example(`{"reason":"exit"}`)},
		{Name: "turn.before", Phase: Before, Allows: SetOf(Reject, Stop, Context),
			Fires:    "Once for each prompt, before anything is done about it. Reject takes the prompt out of the history, stop leaves it there.",
			Contract: contract.New([]contract.Field{req("prompt", contract.Str)}),
			Example:  example(`{"prompt":"List the files."}`)},
		{Name: "turn.after", Phase: After, Allows: SetOf(Proceed, Stop, Context, Effect, Halt),
			Fires:    "When the agent has answered a prompt. Continuation counts how often proceed sent it on.",
			Contract: contract.New([]contract.Field{req("prompt", contract.Str), req("response", contract.Str.Nullable()), req("continuation", contract.Int.AtLeast(0))}),
			Example:  example(`{"prompt":"List the files.","response":"Three files.","continuation":0}`)},
		{Name: "step.before", Phase: Before, Allows: SetOf(Context, Stop),
			Fires:    "Before each model call and the tool calls that follow from it. Steps count from 1 in each turn.",
			Contract: contract.New([]contract.Field{req("step", contract.Int.AtLeast(1))}),
			Example:  example(`{"step":1}`)},
		{Name: "step.after", Phase: After, Allows: SetOf(Context, Stop, Effect),
			Fires:    "When all tool calls of a step have a result.",
			Contract: contract.New([]contract.Field{req("step", contract.Int.AtLeast(1)), req("calls", contract.ListOf(contract.Having("id", "name")))}),
			Example:  example(`{"step":1,"calls":[{"id":"call_1","name":"shell"}]}`)},
		{Name: "tool.confirm", Phase: Confirm, Writable: []string{"arguments"}, Allows: SetOf(Allow, Deny, Ask, Edit), HasTarget: true,
			Fires: "When it has to be decided whether a tool may run; after tool.before, whose rejection it can't lift. The first answer wins.",
			Contract: contract.New([]contract.Field{req("name", contract.Str), req("tool_id", contract.Str), req("kind", contract.OneOf(kinds...)),
				req("arguments", contract.Obj), req("preview", contract.Str.Nullable())}),
			Example: example(`{"name":"shell","tool_id":"shell","kind":"shell","arguments":{"command":"ls"},"preview":"ls"}`)},
		{Name: "file.write.before", Phase: Before, Writable: []string{"content"}, Allows: SetOf(Patch, Reject, Context), HasTarget: true,
			Fires: "Before a tool writes a file, on the content that it will have. The target is the tool's id.",
			Contract: contract.New([]contract.Field{req("path", contract.Str), req("kind", contract.OneOf("create", "save", "patch", "delete")),
				req("content", contract.Str.Nullable()), req("base_hash", contract.Str.Nullable())}),
			Example: example(`{"path":"notes.txt","kind":"create","content":"alpha\n","base_hash":null}`)},
		{Name: "file.write.after", Phase: After, Allows: SetOf(Context, Effect), HasTarget: true,
			Fires: "After a tool wrote a file.",
			Contract: contract.New([]contract.Field{req("path", contract.Str), req("kind", contract.OneOf("create", "save", "patch", "delete")),
				req("created", contract.Bool)}),
			Example: example(`{"path":"notes.txt","kind":"create","created":true}`)},
		{Name: "model.chat.chunk", Phase: After, Observation: true, Allows: SetOf(Effect), HasTarget: true,
			Fires:    "With each piece of a chat model's reply, as it comes. The target is the model's id. What it decides is saved with the reply.",
			Contract: contract.New([]contract.Field{req("text", contract.Str)}),
			Example:  example(`{"text":"Three "}`)},
		{Name: "model.chat.interrupt", Phase: After, Observation: true, Allows: SetOf(Effect), HasTarget: true,
			Fires:    "When a chat model's reply is cut off, by a person, the daemon's end or the connection. Partial is what had come. The target is the model's id.",
			Contract: contract.New([]contract.Field{req("partial", contract.Str)}),
			Example:  example(`{"partial":"Three fi"}`)},
		{Name: "effect.after", Phase: After, Allows: SetOf(Context, Proceed, Effect, Halt), HasTarget: true,
			Fires: "After an effect that a hook asked for was done, or wasn't, or nobody knows. The target is the effect's name. Halt also ends the run.",
			Contract: contract.New([]contract.Field{req("name", contract.Str), req("arguments", contract.Obj), req("status", contract.Status),
				req("value", contract.Any)}),
			Example: example(`{"name":"git.commit","arguments":{"message":"checks passed","all":true},"status":"succeeded","value":{"committed":true,"commit":"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}}`)},
	}
	points = append(points, elicitPoint())
	points = append(points, clientPoints()...)
	for _, p := range points {
		p.Set = AddedSet
	}
	return points
}
