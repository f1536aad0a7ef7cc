package daemon

import (
	"context"
	"errors"

	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
)

// undecided journals what an event that couldn't be decided is answered, before it is. Of one that is broken its size
// is kept and not its text, as nobody knows what stands in it. Where there is no time left, or the journal is what
// fails, the answer goes out all the same: it is the one that the policy wants.
func (d *Daemon) undecided(ctx context.Context, codec client.Codec, e client.Event, size int, v client.Verdict, cause error) error {
	if ctx.Err() != nil || errors.Is(cause, operation.ErrPersistence) {
		return nil
	}
	session := e.Client + ":" + e.SessionID
	unlock, err := d.hold(ctx, session, false)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := d.rt.Session(ctx, session)
	if err != nil {
		return err
	}
	j := &judged{d: d, codec: codec, e: e, s: s}
	if j.e.Payload.Kind() != payload.Object {
		j.e.Payload = payload.NewObject(payload.Field{Name: "client", Value: payload.NewString(e.Client)}, payload.Field{Name: "event", Value: payload.NewString(e.Name)},
			payload.Field{Name: "bytes", Value: payload.NewInt(int64(size))})
	}
	h := j.head(newID("op"))
	h.Kind = e.Point
	a, err := j.action(h)
	if err != nil {
		return err
	}
	a.Note = nil
	return s.ForeignUndecided(ctx, a, cause.Error(), v.Kind != client.NoOpinion)
}
