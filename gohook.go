package agentd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// GoHook is a hook that a host writes in Go. It belongs to the shipped layer, and is bound at its
// points under its id. It isn't metered; a panic in it is a failed hook. Nothing interrupts it: it
// should look at its context's Err now and then, and what it decides too late doesn't count.
type GoHook struct {
	ID, Version  string
	Points       []string
	Targets      []string // empty: all
	Guard        bool
	Observation  bool
	Background   bool          // an observation hook that runs off the path, on a goroutine of the runtime
	Effects      []string      // that it may ask for; a host's own hooks need no grant
	Priority     int           // 0 means hookpoints.DefaultPriority
	Timeout      time.Duration // 0 means hookpoints.HookTimeout
	ConfigSchema payload.Value
	Default      payload.Value
	ReplaySafe   bool // it is pure, so it may be called again; of others the progress is saved one by one
	Run          func(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error)
}

// Decide implements hookpoints.Hook.
func (h *GoHook) Decide(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	ds, err := h.Run(ctx, c)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, hookpoints.Usage{}, hookpoints.ErrHostTimeout
	}
	return ds, hookpoints.Usage{}, err
}

func (h GoHook) definition() (interp.Definition, error) {
	if h.ID == "" || h.Version == "" || h.Run == nil {
		return interp.Definition{}, fmt.Errorf("agentd: the Go hook %q needs an id, a version and a Run", h.ID)
	}
	if h.Background && !h.Observation {
		return interp.Definition{}, fmt.Errorf("agentd: the Go hook %q: Background is for observation hooks only", h.ID)
	}
	return interp.Definition{
		HookID: h.ID, Version: h.Version, File: interp.GoFile + h.ID, Points: h.Points, Targets: h.Targets, ConfigSchema: h.ConfigSchema, Default: h.Default,
		Priority: cmp.Or(h.Priority, hookpoints.DefaultPriority), Timeout: cmp.Or(h.Timeout, hookpoints.HookTimeout),
		FailurePolicy: hookpoints.Block, Stream: hookpoints.Held, Contract: hookpoints.ContractVersion, Guard: h.Guard, Observation: h.Observation, Background: h.Background, Effects: h.Effects,
		NotReplaySafe: !h.ReplaySafe, Hook: &h,
	}, nil
}
