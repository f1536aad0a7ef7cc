package agent

import (
	"context"
	"errors"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Live is the kind of the operations whose hooks watched a reply come. Their inputs are pieces of what
// the model really said.
const Live = "model.live"

// live is a model's reply while it comes. Its chains belong to an operation beside the model call, as
// that one has an action of its own; their rows ride in the commit of its outcome.
type live struct {
	r      *run
	head   operation.Head
	around *hookpoints.Around
	n      int // chains so far, with those of attempts before this one

	held   bool // nobody is told before the after chain is durable
	chunks bool // somebody watches the pieces
	breaks bool // somebody wants to know what a reply that was cut off had said
	text   strings.Builder
	failed error // of a chain: the reply goes on, and the run stops behind it
}

// live gets ready for the reply to a model call. Where no hook watches, a piece costs nothing.
func (r *run) live(call operation.Head) *live {
	l := &live{r: r, head: call}
	l.head.ID, l.head.Parent, l.head.Kind = call.ID+"/live", call.ID, Live
	l.around = r.around(l.head, []payload.Field{field("target", text(r.config.Model.Name))})
	l.held = r.held(l.around)
	l.chunks, l.breaks = r.watched("model.chat.chunk", l.around), r.watched("model.chat.interrupt", l.around)
	l.n = r.s.Points(l.head.ID)
	return l
}

// stream is what takes the pieces, nil if nobody does.
func (l *live) stream(ctx context.Context) func(string) {
	if l.held && !l.chunks && !l.breaks {
		return nil
	}
	return func(delta string) { l.take(ctx, delta) }
}

func (l *live) take(ctx context.Context, delta string) {
	if l.breaks {
		l.text.WriteString(delta)
	}
	if l.chunks && l.failed == nil {
		l.failed = l.fire(ctx, "model.chat.chunk", object(field("text", text(delta))))
	}
	if !l.held && l.failed == nil {
		l.r.emit("model.delta", field("text", text(delta)))
	}
}

// cut fires model.chat.interrupt, also when the run's context is what ended. It commits at once, as no
// outcome follows.
func (l *live) cut(ctx context.Context) error {
	if l.breaks {
		ctx = context.WithoutCancel(ctx)
		if err := l.fire(ctx, "model.chat.interrupt", object(field("partial", text(l.text.String())))); err != nil && !errors.Is(err, operation.ErrHook) {
			return err
		}
	}
	if l.breaks || l.chunks {
		return l.r.s.Flush(ctx)
	}
	return nil
}

func (l *live) fire(ctx context.Context, point string, in payload.Value) error {
	l.n++
	_, err := l.r.s.Point(ctx, l.head, l.n-1, point, l.around, in)
	return err
}

// watched reports whether a hook is bound at a point.
func (r *run) watched(point string, around *hookpoints.Around) bool {
	c := r.gen.Table.Chain(point, around.Scope)
	return len(c.Bindings(hookpoints.Ordinary))+len(c.Bindings(hookpoints.Guards)) > 0
}

// held reports whether live output has to wait for the after chain: somebody there may change it.
func (r *run) held(around *hookpoints.Around) bool {
	c := r.gen.Table.Chain("model.chat.after", around.Scope)
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		for _, b := range c.Bindings(part) {
			if !b.Observation && b.Stream != hookpoints.Provisional {
				return true
			}
		}
	}
	return false
}
