package client

import (
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// replacement is what takes the place of a tool's result; false if nothing can.
func (f family) replacement(e Event, value payload.Value) (payload.Field, bool) {
	name := "updatedToolOutput"
	if e.Kind == "mcp" {
		name = "updatedMCPToolOutput"
	}
	value, ok := shaped(e.Payload.Get("value"), value, e.Kind)
	return field(name, value), ok && f.replaces
}

// shaped is a changed result in the shape of the one that it replaces, as the client drops any other. A
// text takes the place of what a command printed or a file holds.
func shaped(was, now payload.Value, kind string) (payload.Value, bool) {
	if kind == "mcp" {
		if now.Kind() == payload.String && was.Kind() != payload.String {
			now = payload.NewArray([]payload.Value{payload.NewObject(field("type", text("text")), field("text", now))})
		}
		return now, true
	}
	switch was.Kind() {
	case payload.String:
		return text(plain(now)), true
	case payload.Object:
		if now.Kind() == payload.Object {
			for name := range was.Members() {
				if !now.Get(name).Exists() {
					return payload.Value{}, false
				}
			}
			return now, true
		}
		if now.Kind() != payload.String {
			return payload.Value{}, false
		}
		if was.Get("stdout").Exists() && was.Get("stderr").Exists() {
			return was.With(field("stdout", now), field("stderr", text(""))), true
		}
		if file := was.Get("file"); was.Get("type").Text() == "text" && file.Get("content").Exists() {
			return was.With(field("file", file.With(field("content", now)))), true
		}
		return payload.Value{}, false
	}
	return now, was.Kind() == now.Kind()
}

// keepsResults are the rows of a client that shows the model a tool's result whatever is said about it.
func keepsResults(event string) []Downgrade {
	return append(rows(hookpoints.Patch, "value", AsContext, "a result can't be replaced; the model is shown both", event),
		rows(hookpoints.Reject, "", AsStop, "a result can't be withheld, so the agent's loop ends before the model is asked again", event)...)
}
