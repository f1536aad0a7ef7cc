package client

import (
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// Event is a client's event in our words.
type Event struct {
	Client  string // who really sent it
	Version string // the client's, if the event says it
	Dialect string // of a client that has several, where what it can be told differs; "" if it can't be told
	Name    string // the client's own name of it, in the spelling of Events
	// Called is the event that the command line names, where the client says another one that counts instead.
	Called    string
	SessionID string
	// CallID names the action for before and after events alike; "" if the client has no such name.
	CallID string
	// Key is equal for one event that arrives twice, and different otherwise; "" if that can't be told,
	// and then it is judged each time. An event with a CallID needs none.
	Key     string
	Turn    string // the client's id of the prompt, "" if it has none
	Agent   string // the client's id of the subagent that acts, "" for the main one
	Cwd     string // "" if the client doesn't say it
	Point   string // where it fires
	Target  string // what bindings name as target: a tool's id, a model's id; "" if there is none
	Tool    string // the client's name of the tool
	ToolID  string // ours: mcp:SERVER:TOOL, else the client's name
	Kind    string // the normal tool kind, "" where there is no tool
	Payload payload.Value
	Absent  []string      // fields of the payload that this client doesn't send
	Input   payload.Value // the tool's arguments as sent
	Status  string        // of an after event: succeeded, failed, cancelled
	Raw     payload.Value // everything that the client sent
	// Cannot are verbs that this very event doesn't carry, though others of its name do.
	Cannot hookpoints.Verbs
	// Asks is the client's later event about this very action, at which its person can be asked where that can't be
	// done here; "" if there is none.
	Asks string
	// Second says that the client has another event about this very action too, which can be told more.
	Second bool
	// Continues says that the agent goes on because a hook told it to.
	Continues bool
	// Forgets says that the conversation was shortened or begun anew: pinned context is lost.
	Forgets bool
	// Ends says that the client's session is over: no more after events come.
	Ends bool
}

// Fires puts an event at a point. Fields are those of the point's payload that the client sends; one
// without a value counts as not sent. A required one that isn't sent is null where the contract allows
// that, else its type's empty value, and is named in Absent.
func (e *Event) Fires(point string, fields ...payload.Field) {
	e.Point, e.Absent = point, nil
	p := points.Point(point)
	if p == nil {
		panic("client: there is no point " + point)
	}
	sent := map[string]payload.Value{}
	for _, f := range fields {
		if !p.Contract.Has(f.Name) {
			panic("client: " + point + " has no field " + f.Name)
		}
		if f.Value.Exists() {
			sent[f.Name] = f.Value
		}
	}
	out := make([]payload.Field, 0, len(fields))
	for _, f := range p.Contract.Fields() {
		v, ok := sent[f.Name]
		if !ok && !f.Required {
			continue
		}
		if !ok {
			v = empty(f.Type)
			e.Absent = append(e.Absent, f.Name)
		}
		out = append(out, field(f.Name, v))
	}
	e.Payload = payload.NewObject(out...)
}

var points = hookpoints.Standard()

// empty is null where a type takes it, else its empty value. A status is succeeded, and the first of
// other lists of words.
func empty(t contract.Type) payload.Value {
	switch {
	case t.Kinds == 0 && t.Enum == nil && t.Const == "", t.Kinds&payload.Null != 0:
		return payload.NewNull()
	case t.Const != "":
		return text(t.Const)
	case slices.Contains(t.Enum, "succeeded"):
		return text("succeeded")
	case t.Enum != nil:
		return text(t.Enum[0])
	case t.Kinds&payload.String != 0:
		return text("")
	case t.Kinds&payload.Object != 0:
		return payload.NewObject()
	case t.Kinds&payload.Array != 0:
		return payload.NewArray(nil)
	case t.Kinds&payload.Bool != 0:
		return payload.NewBool(false)
	}
	return payload.NewInt(max(0, int64(t.Min)))
}

// settle fills in what follows from the rest. An event that no codec put anywhere is a client.event.
func (e *Event) settle() {
	if e.Point == "" {
		if k, ok := KnownEvent(e.Client, e.Name); ok {
			e.Point = k.Point
		} else {
			e.Point = "client.event"
		}
	}
	if e.Point == "client.event" && !e.Payload.Exists() && e.Raw.Exists() {
		e.Fires("client.event", field("client", text(e.Client)), field("event", text(e.Name)), field("raw", e.Raw))
	}
	if e.ToolID == "" {
		e.ToolID = e.Tool
	}
	if e.Target == "" {
		e.Target = e.ToolID
	}
}

// unnamed reports whether an event may be any, also about a call: it says no name, or one that nobody knows.
func (e *Event) unnamed() bool {
	return e.Name == "" || e.Point == "tool.before" && !knows(e.Client, e.Name)
}

// ToolBefore, ToolAfter and Confirms put an event about a tool where it belongs. Tool, ToolID, Kind and
// Input have to be there, at ToolAfter Status too.
func (e *Event) ToolBefore() {
	e.settle()
	e.Fires("tool.before", field("name", text(e.Tool)), field("tool_id", text(e.ToolID)), field("arguments", e.Input))
}

// ToolAfter: value is what the model is shown, absent if the client doesn't say it.
func (e *Event) ToolAfter(value payload.Value) {
	e.settle()
	if e.Status == "" {
		e.Status = "succeeded"
	}
	e.Fires("tool.after", field("value", value), field("status", text(e.Status)), field("evidence_arguments", e.Input))
}

// Confirms: the client is about to ask its person.
func (e *Event) Confirms() {
	e.settle()
	e.Fires("tool.confirm", field("name", text(e.Tool)), field("tool_id", text(e.ToolID)), field("kind", text(e.Kind)), field("arguments", e.Input))
}
