package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

func (r *Registry) notify(ctx context.Context, key string, a payload.Value) result {
	if r.opts.Notify == nil {
		return failure(operation.Failed, errors.New("nobody takes notifications here"))
	}
	err := r.opts.Notify(ctx, key, Notification{Title: a.Get("title").Text(), Message: a.Get("message").Text()})
	return r.called(ctx, "the notification", err)
}

func (r *Registry) invalidate(ctx context.Context, key string, _ payload.Value) result {
	if r.opts.Invalidate == nil {
		return failure(operation.Failed, errors.New("there is no context to invalidate here"))
	}
	return r.called(ctx, "the invalidation", r.opts.Invalidate(ctx, key))
}

// called is what came of a function of the host's. One that ends with the context's error was cut
// off somewhere.
func (r *Registry) called(ctx context.Context, what string, err error) result {
	switch {
	case err == nil:
		return success()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return failure(operation.UnknownStat, fmt.Errorf("%s was cut off, and nobody knows whether it came through", what))
	}
	return failure(operation.Failed, fmt.Errorf("%s failed: %s", what, short(err.Error())))
}

var levels = map[string]slog.Level{"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (r *Registry) log(ctx context.Context, key string, a payload.Value) result {
	if r.opts.Log == nil {
		return failure(operation.Failed, errors.New("there is no log here"))
	}
	r.opts.Log.Log(ctx, levels[a.Get("level").Text()], a.Get("message").Text(), "effect", key)
	return success()
}
