package client

import (
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// opencode is OpenCode. It starts no commands; the plugin that agentd install writes speaks for it, in a JSON of
// our own: client, event, session_id and agent_id, cwd, and by event call_id, tool, server and server_tool, arguments,
// output, is_error, error, interrupted, prompt, continues, unattended. The answer is one object with any of decision
// (deny or stop) and reason, arguments, output, context, proceed and note; an empty one is no opinion. Facts about the
// client: what a plugin throws before a tool is the tool's error, and what it throws at a prompt or a compaction ends
// the turn; it changes arguments and output in place; a tool that failed is an event that nobody waits for, and what the model
// is shown of it is changed before each request; its permission hook is never called; a plugin can't answer in a tool's place.
type opencode struct{}

// The plugin waits as long as it is told to; it has no limit of its own.
var opencodeEvents = within(time.Minute, Constructed,
	Known{Name: "session.created", Point: "session.start", Seen: Real},
	Known{Name: "chat.message", Point: "turn.before", Seen: Real},
	Known{Name: "tool.execute.before", Point: "tool.before", Seen: Real},
	Known{Name: "tool.execute.after", Point: "tool.after", Seen: Real},
	Known{Name: "message.part.updated", Point: "tool.after", Seen: Real},
	Known{Name: "session.idle", Point: "turn.after", Seen: Real},
	Known{Name: "experimental.session.compacting", Point: "context.compact.before", Seen: Real},
	Known{Name: "session.compacted", Point: "context.compact.after", Seen: Real},
	Known{Name: "session.error", Point: "client.event", Seen: Real},
	Known{Name: "session.deleted", Point: "session.end", Seen: Real},
)

// Events implements Codec.
func (opencode) Events() []Known { return opencodeEvents }

// Downgrades implements Codec.
func (opencode) Downgrades() []Downgrade { return opencodeDowngrades }

var opencodeDowngrades = func() (out []Downgrade) {
	for _, list := range [][]Downgrade{
		rows(hookpoints.Ask, "", AsDeny, "a plugin can't make it ask", "tool.execute.before"),
		rows(hookpoints.Allow, "", AsNothing, "its own permissions follow", "tool.execute.before"),
		rows(hookpoints.Respond, "", AsDeny, "a plugin can't answer in the tool's place", "tool.execute.before"),
		rows(hookpoints.Context, "", AsLater, "before a tool nothing but its arguments can be changed", "tool.execute.before"),
		rows(hookpoints.Patch, "annotations", AsNothing, "annotations are for the record", "tool.execute.after", "message.part.updated"),
		rows(hookpoints.Stop, "", AsDeny, "a prompt that was refused is gone", "chat.message"),
		rows(hookpoints.Stop, "", AsNote, "it has stopped already", "session.idle"),
		rows(hookpoints.Patch, "summary", AsNothing, "the summary is made already", "session.compacted"),
		never("it has happened already", AsNote, "session.created", "session.idle", "session.error"),
		rows(hookpoints.Reject, "", AsNote, "it has happened already", "session.compacted", "session.deleted"),
	} {
		out = append(out, list...)
	}
	return out
}()

// opencodeKinds are names of tools that only OpenCode has.
var opencodeKinds = map[string]string{"list": "search", "webfetch": "fetch", "websearch": "fetch", "patch": "edit", "codesearch": "search", "question": "ask",
	"list_mcp_resources": "mcp", "list_mcp_resource_templates": "mcp", "read_mcp_resource": "mcp"}

// errBatch is for calls inside of a call: the guards of a shell or of files aren't asked about a tool of another kind,
// and OpenCode says nothing else of what such a call runs.
var errBatch = errors.New("tool.execute.before: the calls in a batch would run without a hook being asked about each; call the tools one by one")

// Decode implements Codec.
func (o opencode) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: said(v, "event"), Version: said(v, "version"), SessionID: said(v, "session_id"), Agent: said(v, "agent_id"), CallID: said(v, "call_id"), Cwd: said(v, "cwd")}
	if e.Name == "" {
		e.Name = event
	}
	switch e.Name {
	case "":
		return e, errors.New("it doesn't say its event")
	case "tool.execute.before", "tool.execute.after", "message.part.updated":
		return o.tool(v, e)
	case "chat.message":
		if said(v, "message_id") != "" { // one message, one event
			e.Key = v.Digest()
		}
		e.Fires("turn.before", field("prompt", texted(v, "prompt")))
	case "session.created":
		e.Fires("session.start", field("source", text("startup")), field("cwd", texted(v, "cwd")))
	case "session.idle":
		e.Continues = v.Get("continues").IsTrue()
		if v.Get("unattended").IsTrue() { // opencode run is about to end
			e.Cannot = hookpoints.SetOf(hookpoints.Proceed)
		}
		e.Fires("turn.after", field("prompt", texted(v, "prompt")))
	case "experimental.session.compacting":
		e.Fires("context.compact.before")
	case "session.compacted":
		e.Forgets = true
		e.Fires("context.compact.after", field("compacted", payload.NewBool(true)), field("messages", payload.NewArray(nil)),
			field("metrics", payload.NewObject()), field("summary_slot", payload.NewNull()))
		e.Absent = append(e.Absent, "messages", "metrics", "summary_slot")
	case "session.deleted":
		e.Ends = true
		e.Fires("session.end", field("reason", text("deleted")))
	}
	return e, nil
}

func (opencode) tool(v payload.Value, e Event) (Event, error) {
	tool := said(v, "tool")
	input, err := arguments(v, "arguments")
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no tool or no arguments object: %w", e.Name, err)
	}
	e.uses(tool)
	if kind := opencodeKinds[tool]; kind != "" {
		e.Kind = kind
	}
	if server := said(v, "server"); server != "" {
		e.Kind, e.ToolID = "mcp", "mcp:"+server+":"+said(v, "server_tool")
	}
	e.Input = input
	switch e.Name {
	case "tool.execute.before":
		if tool == "batch" && e.Kind != "mcp" && input.Get("tool_calls").Exists() {
			return e, errBatch
		}
		e.ToolBefore()
	case "tool.execute.after":
		if v.Get("is_error").IsTrue() {
			e.Status = "failed"
		}
		e.ToolAfter(v.Get("output")) // what the model is shown
	default:
		e.Status = "failed"
		if v.Get("interrupted").IsTrue() {
			e.Status = "cancelled"
		}
		e.ToolAfter(v.Get("error"))
	}
	return e, nil
}

// Encode implements Codec.
func (opencode) Encode(e Event, v Verdict) Answer {
	var out []payload.Field
	decide := func(word, reason string) {
		out = append(out, field("decision", text(word)), field("reason", text(withContext(reason, v.Texts()))))
	}
	output := func() {
		if value := v.Patched("value"); value.Exists() && e.Point == "tool.after" {
			out = append(out, field("output", text(plain(value))))
		}
	}
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		decide("deny", v.Reason)
	case Ask:
		decide("deny", v.Reason)
	case Respond:
		decide("deny", because(v.Reason, plainIf(v.Value)))
	case Stop:
		decide("stop", v.Reason)
		output()
	case Proceed:
		if e.Name == "session.idle" {
			out = append(out, field("proceed", text(v.Text)))
		}
	case Allow, NoOpinion:
		if in := v.Patched("arguments"); in.Exists() && e.Name == "tool.execute.before" {
			out = append(out, field("arguments", in))
		}
		output()
		if len(v.Context) > 0 && (e.Point == "tool.after" || e.Name == "chat.message") {
			out = append(out, field("context", payload.NewStrings(v.Texts())))
		}
	}
	if v.Note != "" {
		out = append(out, field("note", text(v.Note)))
	}
	return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
}
