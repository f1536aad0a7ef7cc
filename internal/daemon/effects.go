package daemon

import (
	"context"
	"net/url"

	"agentd/hookpoints/payload"
	"agentd/internal/effects"
	"agentd/internal/tool"
	"agentd/operation"
)

// hands does what hooks ask for. It is an operation.Effects.
type hands struct{ registry *effects.Registry }

// headOf is the key under which an effect's head is in its context.
type headOf struct{}

func (d *Daemon) hands() hands {
	return hands{effects.New(effects.Options{
		Workspace: d.o.Places.Project, Runner: tool.Runner{}, Log: d.log, Notify: d.notify, Invalidate: d.invalidate, AllowURL: d.allowURL,
	})}
}

// Idempotent implements operation.Effects.
func (h hands) Idempotent(name string) bool { return effects.Idempotent(name) }

// Do implements operation.Effects.
func (h hands) Do(ctx context.Context, head operation.Head, name string, arguments payload.Value) (payload.Value, string) {
	return h.registry.Do(context.WithValue(ctx, headOf{}, head), head.ID, name, arguments)
}

func headIn(ctx context.Context) operation.Head {
	h, _ := ctx.Value(headOf{}).(operation.Head)
	return h
}

// notify shows a notification to whoever reads events or the log.
func (d *Daemon) notify(ctx context.Context, key string, n effects.Notification) error {
	h := headIn(ctx)
	d.log.Info("notification", "title", n.Title, "message", n.Message, "effect", key)
	d.tell("notification", h.RunID, map[string]any{"run_id": h.RunID, "session_id": h.SessionID, "operation_id": key, "title": n.Title, "message": n.Message})
	return nil
}

func (d *Daemon) invalidate(ctx context.Context, key string) error {
	h := headIn(ctx)
	d.tell("cache.invalidated", h.RunID, map[string]any{"run_id": h.RunID, "session_id": h.SessionID, "operation_id": key})
	return nil
}

// allowURL reports whether the layers that an effect is pinned to let webhooks send there.
func (d *Daemon) allowURL(ctx context.Context, u *url.URL) bool {
	g, err := d.rt.Generation(context.WithoutCancel(ctx), headIn(ctx).Revisions)
	if err != nil {
		return false
	}
	for _, l := range g.Layers {
		if effects.Allowed(l.Config.Webhooks, u) {
			return true
		}
	}
	return false
}

// effected tells that an effect is over.
func (d *Daemon) effected(h operation.Head, status string, value payload.Value) {
	d.tell("effect.completed", h.RunID, map[string]any{"run_id": h.RunID, "session_id": h.SessionID, "client": h.Client, "operation_id": h.ID, "name": h.Tool, "status": status, "value": value})
}
