package client

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// gemini is Gemini CLI. Facts about it, as seen with the real client: it parses stdout as JSON and
// then ignores the exit code, so answers go out with code 0; silence, a time-out and plain text let
// the tool run; a changed tool_input replaces the whole input; additionalContext counts after a tool
// and is dropped before one; allow skips nothing; a result can only be replaced by a denial; ask ends
// the program where nobody sits; a denial after the model lets the chunk through, stop doesn't; any
// answer at all at BeforeToolSelection changes the request.
type gemini struct{}

// geminiLimit is in force where nothing is configured; the program takes any number of milliseconds.
const geminiLimit = time.Minute

var geminiEvents = []Known{
	{Name: "SessionStart", Point: "session.start"},
	{Name: "BeforeAgent", Point: "turn.before"},
	{Name: "PreCompress", Point: "context.compact.before"},
	{Name: "BeforeModel", Point: "model.chat.before"},
	{Name: "BeforeToolSelection", Point: "tools.select"},
	{Name: "AfterModel", Point: "model.chat.after"},
	{Name: "BeforeTool", Point: "tool.before"},
	{Name: "Notification", Point: "notification"},
	{Name: "AfterTool", Point: "tool.after"},
	{Name: "AfterAgent", Point: "turn.after"},
	{Name: "SessionEnd", Point: "session.end"},
}

func init() {
	for i := range geminiEvents {
		geminiEvents[i].Limit, geminiEvents[i].Seen = geminiLimit, Real
		if geminiEvents[i].Name == "Notification" { // no person is asked in tests
			geminiEvents[i].Seen = Recorded
		}
	}
}

// Events implements Codec.
func (gemini) Events() []Known { return geminiEvents }

// Downgrades implements Codec.
func (gemini) Downgrades() []Downgrade { return geminiDowngrades }

var geminiDowngrades = []Downgrade{
	{Event: "BeforeTool", Verb: hookpoints.Ask, Instead: AsDeny, Why: "its ask ends the program without a word where nobody sits at a terminal"},
	{Event: "BeforeTool", Verb: hookpoints.Allow, Instead: AsNothing, Why: "its allow skips nothing: its own policy and question follow all the same"},
	{Event: "BeforeTool", Verb: hookpoints.Respond, Instead: AsDeny, Why: "it can't be given a result in the tool's place"},
	{Event: "BeforeTool", Verb: hookpoints.Context, Instead: AsLater, Why: "context before a tool is dropped"},
	{Event: "AfterTool", Verb: hookpoints.Patch, Field: "annotations", Instead: AsNothing, Why: "annotations are for the record"},
	{Event: "AfterAgent", Verb: hookpoints.Context, Instead: AsLater, Why: "context after the last answer is dropped"},
	{Event: "AfterModel", Verb: hookpoints.Reject, Instead: AsStop, Why: "a denial after the model lets the piece through, and its tool call runs"},
	{Event: "AfterModel", Verb: hookpoints.Patch, Field: "annotations", Instead: AsNothing, Why: "annotations are for the record"},
	{Event: "BeforeToolSelection", Verb: hookpoints.Stop, Instead: AsPatch, Patch: noTools, Why: "nothing but a choice of tools is taken here; without any the agent can only answer"},
	{Event: "BeforeToolSelection", Verb: hookpoints.Reject, Instead: AsPatch, Patch: noTools, Why: "nothing but a choice of tools is taken here; without any the agent can only answer"},
	{Event: "PreCompress", Verb: hookpoints.Reject, Instead: AsNote, Why: "nothing can keep it from compressing"},
	{Event: "SessionStart", Verb: hookpoints.Reject, Instead: AsNote, Why: "nothing can keep a session from beginning"},
	{Event: "SessionEnd", Verb: hookpoints.Reject, Instead: AsNote, Why: "nothing can keep a session from ending"},
	{Event: "Notification", Verb: hookpoints.Reject, Instead: AsNote, Why: "a notification can only be answered with a message"},
}

var noTools = []payload.Field{{Name: "tools", Value: payload.NewArray(nil)}, {Name: "mode", Value: payload.NewString("none")}}

// Decode implements Codec.
func (g gemini) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: said(v, "hook_event_name"), SessionID: said(v, "session_id"), Cwd: said(v, "cwd")}
	if e.Name == "" {
		if e.Name = event; event == "" {
			return e, errors.New("it has no hook_event_name")
		}
	}
	if said(v, "timestamp") != "" { // to the millisecond, so the same text is the same event
		e.Key = v.Digest()
	}
	switch e.Name {
	case "BeforeTool", "AfterTool":
		return g.tool(v, e)
	case "BeforeAgent":
		e.Fires("turn.before", field("prompt", texted(v, "prompt")))
	case "AfterAgent":
		response := texted(v, "prompt_response")
		if response.Text() == "[no response text]" {
			response = payload.NewNull()
		}
		e.Continues = v.Get("stop_hook_active").IsTrue()
		e.Fires("turn.after", field("prompt", texted(v, "prompt")), field("response", response))
	case "BeforeModel":
		return g.request(v, e)
	case "AfterModel":
		return g.chunk(v, e)
	case "BeforeToolSelection":
		e.Target = said(v.Get("llm_request"), "model")
		e.Fires("tools.select")
	case "SessionStart":
		source := texted(v, "source")
		switch source.Text() {
		case "startup", "resume":
		case "clear":
			e.Forgets, e.Cannot = true, hookpoints.SetOf(hookpoints.Context)
		default:
			source = payload.Value{}
		}
		e.Fires("session.start", field("source", source), field("cwd", texted(v, "cwd")))
	case "SessionEnd":
		e.Ends = true
		e.Fires("session.end", field("reason", texted(v, "reason")))
	case "PreCompress":
		e.Forgets = said(v, "trigger") == "manual" // the automatic one comes before each request
		e.Fires("context.compact.before")
	case "Notification":
		e.Fires("notification", field("kind", texted(v, "notification_type")), field("message", texted(v, "message")))
	}
	return e, nil
}

// tool is BeforeTool and AfterTool.
func (gemini) tool(v payload.Value, e Event) (Event, error) {
	tool := said(v, "tool_name")
	input, err := arguments(v, "tool_input")
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no tool_name or no tool_input object: %w", e.Name, err)
	}
	e.uses(tool)
	e.Input = input
	if mcp := v.Get("mcp_context"); mcp.Kind() == payload.Object {
		e.Kind = "mcp"
		if server, name := said(mcp, "server_name"), said(mcp, "tool_name"); server != "" && name != "" {
			e.ToolID = "mcp:" + server + ":" + name
		}
	}
	if e.Name == "BeforeTool" {
		e.ToolBefore()
		return e, nil
	}
	response := v.Get("tool_response")
	if failure := response.Get("error"); failure.Exists() && failure.Kind() != payload.Null {
		e.Status = "failed"
	}
	e.ToolAfter(response.Get("llmContent")) // what the model is shown
	return e, nil
}

// request is BeforeModel.
func (gemini) request(v payload.Value, e Event) (Event, error) {
	r := v.Get("llm_request")
	var messages []payload.Value
	for m := range r.Get("messages").Items() {
		role := said(m, "role")
		if role == "model" {
			role = "assistant"
		}
		messages = append(messages, payload.NewObject(field("role", text(role)), field("content", m.Get("content"))))
	}
	e.Target = said(r, "model")
	config := r.Get("config")
	e.Fires("model.chat.before", field("messages", payload.NewArray(messages)), field("model_id", texted(r, "model")), field("purpose", text("action")),
		field("temperature", config.Get("temperature")), field("top_p", config.Get("topP")), field("max_tokens", config.Get("maxOutputTokens")))
	return e, nil
}

// chunk is AfterModel, which comes with every piece of a reply.
func (gemini) chunk(v payload.Value, e Event) (Event, error) {
	r := v.Get("llm_response")
	e.Target = said(v.Get("llm_request"), "model")
	first := payload.Value{}
	if c := r.Get("candidates"); c.Kind() == payload.Array && c.Len() > 0 {
		first = c.At(0)
	}
	content := texted(r, "text")
	if !content.Exists() {
		content = payload.NewNull()
	}
	var usage payload.Value
	if u := r.Get("usageMetadata"); u.Kind() == payload.Object {
		usage = u
	}
	e.Fires("model.chat.after", field("role", text("assistant")), field("content", content), field("usage", usage), field("finish_reason", texted(first, "finishReason")))
	return e, nil
}

// Encode implements Codec.
func (g gemini) Encode(e Event, v Verdict) Answer {
	var out, specific []payload.Field
	deny := func(reason string) {
		out = append(out, field("decision", text("deny")), field("reason", text(withContext(reason, v.Texts()))))
	}
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		if e.Name == "AfterModel" { // a denial would let it through
			out = append(out, field("continue", payload.NewBool(false)), field("stopReason", text(v.Reason)))
			break
		}
		deny(v.Reason)
	case Stop:
		out = append(out, field("continue", payload.NewBool(false)), field("stopReason", text(v.Reason)))
		if v.Clear {
			specific = append(specific, field("clearContext", payload.NewBool(true)))
		}
	case Respond:
		if e.Name != "BeforeModel" {
			deny("a hook answered instead: " + plain(v.Value))
			break
		}
		deny(cmp.Or(v.Reason, "a hook answered"))
		specific = append(specific, field("llm_response", geminiReply(said(v.Value, "content"), text("STOP"))))
	case Proceed:
		if e.Name == "AfterAgent" { // the reason is the next prompt
			deny(v.Text)
		}
	case Allow, NoOpinion:
		switch e.Name {
		case "BeforeTool":
			if in := v.Patched("arguments"); in.Exists() {
				specific = append(specific, field("tool_input", in))
			}
		case "AfterTool":
			if value := v.Patched("value"); value.Exists() {
				deny(plain(value))
			} else if len(v.Context) > 0 {
				specific = append(specific, field("additionalContext", text(joined(v))))
			}
		case "BeforeAgent", "SessionStart":
			if len(v.Context) > 0 {
				specific = append(specific, field("additionalContext", text(joined(v))))
			}
		case "BeforeModel":
			request, err := geminiRequest(e, v)
			if err != nil {
				deny(err.Error())
			} else if request.Exists() {
				specific = append(specific, field("llm_request", request))
			}
		case "AfterModel":
			if content := v.Patched("content"); content.Exists() {
				specific = append(specific, field("llm_response", geminiReply(content.Text(), e.Payload.Get("finish_reason"))))
			}
		case "BeforeToolSelection":
			tools, mode := v.Patched("tools"), v.Patched("mode")
			if !tools.Exists() && !mode.Exists() { // silence: an empty object would change the request
				return Answer{}
			}
			specific = append(specific, field("toolConfig", geminiTools(tools, mode)))
		}
	}
	if len(specific) > 0 {
		out = append(out, field("hookSpecificOutput", payload.NewObject(append([]payload.Field{field("hookEventName", text(e.Name))}, specific...)...)))
	}
	if v.Note != "" {
		out = append(out, field("systemMessage", text(v.Note)))
	}
	return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
}

func joined(v Verdict) string { return strings.Join(v.Texts(), "\n") }

// geminiReply is a reply of the model as its hooks say it; only the last piece of one has a reason why it ends.
func geminiReply(content string, finish payload.Value) payload.Value {
	candidate := []payload.Field{field("content", payload.NewObject(field("role", text("model")), field("parts", payload.NewStrings([]string{content}))))}
	if finish.Kind() == payload.String {
		candidate = append(candidate, field("finishReason", finish))
	}
	candidate = append(candidate, field("index", payload.NewInt(0)))
	return payload.NewObject(field("text", text(content)), field("candidates", payload.NewArray([]payload.Value{payload.NewObject(candidate...)})))
}

// geminiTools is a choice of tools. It only holds where a tool has to be called, so a choice of none is
// said as that.
func geminiTools(tools, mode payload.Value) payload.Value {
	word := map[string]string{"auto": "AUTO", "any": "ANY", "none": "NONE"}[mode.Text()]
	if word == "" {
		word = "ANY"
	}
	if tools.Exists() && tools.Len() == 0 {
		word = "NONE"
	}
	if !tools.Exists() || word == "NONE" {
		tools = payload.NewArray(nil)
	}
	return payload.NewObject(field("mode", text(word)), field("allowedFunctionNames", tools))
}

// errGeminiMessages: the program puts the texts of a changed request into the places of the old ones, and
// appends what is left over, so nothing can be taken out or moved.
var errGeminiMessages = errors.New("a hook took messages out of the request or moved them, and Gemini CLI can only change their texts and add some at the end")

// geminiRequest is the changed request, absent if nothing is changed. Members of its config that are left
// out would be reset, so all of them go out.
func geminiRequest(e Event, v Verdict) (payload.Value, error) {
	var out []payload.Field
	messages := v.Patched("messages")
	if !messages.Exists() && len(v.Context) > 0 {
		messages = e.Payload.Get("messages")
	}
	if messages.Exists() {
		list, err := geminiMessages(e.Payload.Get("messages"), messages)
		if err != nil {
			return payload.Value{}, err
		}
		for _, t := range v.Context {
			list = append(list, payload.NewObject(field("role", text("user")), field("content", text(hookpoints.Text{BindingID: t.From, Text: t.Text}.Wrapped()))))
		}
		out = append(out, field("messages", payload.NewArray(list)))
	}
	var config []payload.Field
	for _, f := range []struct{ ours, theirs string }{{"temperature", "temperature"}, {"max_tokens", "maxOutputTokens"}, {"top_p", "topP"}} {
		if value := v.Patched(f.ours); value.Exists() {
			config = append(config, field(f.theirs, value))
		}
	}
	if len(config) > 0 {
		config := e.Raw.Get("llm_request").Get("config").With(config...)
		var gone []string
		for name, value := range config.Members() {
			if value.Kind() == payload.Null {
				gone = append(gone, name)
			}
		}
		out = append(out, field("config", config.Without(gone...)))
	}
	if len(out) == 0 {
		return payload.Value{}, nil
	}
	return payload.NewObject(out...), nil
}

func geminiMessages(was, now payload.Value) ([]payload.Value, error) {
	if now.Len() < was.Len() {
		return nil, errGeminiMessages
	}
	var list []payload.Value
	for m := range now.Items() {
		role, content := said(m, "role"), m.Get("content")
		if i := len(list); i < was.Len() && said(was.At(i), "role") != role {
			return nil, errGeminiMessages
		}
		if content.Kind() != payload.String {
			return nil, errors.New("a hook made a message without a text, and Gemini CLI takes texts only")
		}
		if role == "assistant" {
			role = "model"
		}
		list = append(list, payload.NewObject(field("role", text(role)), field("content", content)))
	}
	return list, nil
}
