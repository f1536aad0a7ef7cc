package operation

import (
	"bytes"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Scope is what every hook of an operation of our own is told about it: what its head says, then
// more. Ids and names must be short, as those that are made here are.
func (h Head) Scope(more ...payload.Field) payload.Value {
	text := func(name, s string) payload.Field { return payload.Field{Name: name, Value: payload.NewString(s)} }
	instance := h.Instance
	if instance == "" {
		instance = hookpoints.Main
	}
	fields := []payload.Field{text("run_id", h.RunID), text("session_id", h.SessionID), text("instance_id", instance),
		text("operation_id", h.ID), text("agent", h.Agent), text("purpose", "action")}
	if h.Parent != "" {
		fields = append(fields, text("parent_operation_id", h.Parent))
	}
	if rev := h.Revisions.Project; rev != "" {
		fields = append(fields, text("published_revision", rev))
	}
	return payload.NewObject(append(fields, more...)...)
}

// scope writes what a scope says beyond its head, or all of it where it doesn't begin with that.
func (w *writer) scope(h *Head, scope payload.Value) {
	if !scope.Exists() {
		return
	}
	base := h.Scope()
	var more []payload.Field
	n := 0
	for name, v := range scope.Members() {
		if n++; n > base.Len() {
			more = append(more, payload.Field{Name: name, Value: v})
		}
	}
	if bytes.Equal(h.Scope(more...).JSON(), scope.JSON()) {
		w.value("scope", payload.NewObject(more...))
	} else {
		w.value("scope_whole", scope)
	}
}

func (r *reader) scope(h *Head) payload.Value {
	if whole := r.value("scope_whole"); whole.Exists() {
		return whole
	}
	rest := r.value("scope")
	if !rest.Exists() {
		return rest
	}
	var more []payload.Field
	for name, v := range rest.Members() {
		more = append(more, payload.Field{Name: name, Value: v})
	}
	return h.Scope(more...)
}
