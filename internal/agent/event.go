package agent

import "agentd/hookpoints/payload"

// Event is one thing that happened in a run, told once it is durable (but for model.delta, see
// held). Fields are flat: {"type": ..., "run_id": ..., "session_id": ..., more}.
type Event struct {
	Type      string
	RunID     string
	SessionID string
	Fields    []payload.Field
}

// JSON is the event as one object.
func (e Event) JSON() payload.Value {
	fields := []payload.Field{field("type", text(e.Type)), field("run_id", text(e.RunID)), field("session_id", text(e.SessionID))}
	return object(append(fields, e.Fields...)...)
}

// emit tells an event now. What a chain computed goes through leave instead.
func (r *run) emit(kind string, fields ...payload.Field) {
	if r.o.Emit != nil && !r.s.Replaying() {
		r.o.Emit(Event{kind, r.task.RunID, r.task.SessionID, fields})
	}
}

// leave tells an event once everything computed so far is durable.
func (r *run) leave(kind string, fields ...payload.Field) {
	r.s.Leave(func() { r.emit(kind, fields...) })
}
