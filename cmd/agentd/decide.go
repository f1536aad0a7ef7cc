package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func decideVerb(e *env) *cobra.Command {
	var o struct {
		payload, kind, binding, config, facts, state, revision string
		scope                                                  []string
		dev                                                    bool
	}
	c := &cobra.Command{Use: "decide POINT", Short: "Run a chain on a payload; nothing is saved", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if o.dev && o.revision != "" {
			return usagef("--dev and --revision exclude each other")
		}
		q := agentd.DecideRequest{Point: args[0], Kind: o.kind, Binding: o.binding}
		var err error
		if q.Scope, err = parseScope(o.scope); err != nil {
			return err
		}
		if hookpoints.Standard().Point(q.Point) == nil {
			return fmt.Errorf("there is no point %q; see agentd points", q.Point)
		}
		if q.Payload, err = e.readValue(o.payload, "--payload"); err != nil {
			return fmt.Errorf("%w; agentd points %s shows one", err, q.Point)
		}
		for _, f := range []struct {
			flag, from string
			file       bool
			into       *payload.Value
		}{{"--config", o.config, false, &q.Config}, {"--facts", o.facts, true, &q.Facts}, {"--hook-state", o.state, true, &q.State}} {
			switch {
			case f.from == "":
				continue
			case f.file:
				*f.into, err = e.readValue(f.from, f.flag)
			default:
				*f.into, err = payload.ParseString(f.from)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", f.flag, err)
			}
		}
		p, err := e.places()
		if err != nil {
			return err
		}
		res, err := e.decide(c.Context(), p, q, o.dev, o.revision)
		if err != nil {
			return err
		}
		return e.decided(res)
	}}
	f := c.Flags()
	f.StringVar(&o.payload, "payload", "-", "the payload, a `FILE`, or - for standard input")
	f.StringArrayVar(&o.scope, "scope", nil, "a field of the scope, as `K=V`")
	f.StringVar(&o.kind, "kind", "", "the normal tool `KIND`: shell, read, write ...")
	f.StringVar(&o.binding, "binding", "", "only the binding `ID`, whatever it matches")
	f.StringVar(&o.config, "config", "", "the binding's config, as `JSON`")
	f.StringVar(&o.facts, "facts", "", "a `FILE` with the facts, an object by key")
	f.StringVar(&o.state, "hook-state", "", "a `FILE` with the hook's state")
	f.BoolVar(&o.dev, "dev", false, "the working files instead of what is published")
	f.StringVar(&o.revision, "revision", "", "the revision `R` instead of the head; its id, or the first letters of it")
	return c
}

func (e *env) decide(ctx context.Context, p config.Places, q agentd.DecideRequest, dev bool, rev string) (agentd.DecideResult, error) {
	if !dev && rev == "" {
		socket, err := p.Socket()
		if err != nil {
			return agentd.DecideResult{}, err
		}
		if c, err := api.Dial(ctx, socket); err == nil {
			defer c.Close()
			return c.Decide(ctx, q)
		}
	}
	v, err := daemon.Look(ctx, p, e.getenv, dev)
	if err != nil {
		return agentd.DecideResult{}, err
	}
	defer v.Close()
	if rev != "" {
		if err := v.At(ctx, rev); err != nil {
			return agentd.DecideResult{}, err
		}
	}
	if err := e.sound(v); err != nil {
		return agentd.DecideResult{}, err
	}
	return v.Runtime.Decide(ctx, v.Generation, q)
}

// sound tells the notes of a view, and fails where not all of it could be built: what is missing may
// have decided otherwise.
func (e *env) sound(v *daemon.View) error {
	for _, n := range v.Notes {
		e.note("note: %s", n)
	}
	switch n := len(v.Faults); n {
	case 0:
		return nil
	case 1:
		return v.Faults[0]
	default:
		return fmt.Errorf("%w (and %d more, see agentd test)", v.Faults[0], n-1)
	}
}

// decided prints a result and turns its outcome into the exit code.
func (e *env) decided(res agentd.DecideResult) error {
	for _, t := range res.Trace {
		e.note("%s %s: %s", t.Kind, t.BindingID, t.Text)
	}
	if e.json {
		if err := e.print(res); err != nil {
			return err
		}
	} else {
		e.say("%s", res.Outcome)
		if res.Reason != "" {
			e.say("reason: %s", res.Reason)
		}
		e.say("payload: %s", res.Payload)
		if res.Value.Exists() {
			e.say("answer: %s", res.Value)
		}
		for _, text := range res.Context {
			e.say("context: %s", text)
		}
		if res.State.Exists() {
			e.say("state: %s", res.State)
		}
		for _, f := range res.Effects {
			e.say("effect: %s %s, %s, by %s", f.Name, f.Arguments, f.When, f.BindingID)
		}
		for _, r := range res.Records {
			e.say("  %-28s %-8s %s (fuel %d, %d bytes, %d us)", r.BindingID, r.Part, decided(r), r.Fuel, r.Bytes, r.Micros)
		}
	}
	switch res.Outcome {
	case hookpoints.Rejected, hookpoints.Stopped, hookpoints.Denied:
		return exit(exitRejected)
	case hookpoints.Asked:
		return exit(exitPerson)
	case hookpoints.Failed:
		return exit(exitFailed)
	}
	return nil
}

// readValue reads JSON from a file or standard input.
func (e *env) readValue(from, flag string) (payload.Value, error) {
	var text []byte
	var err error
	if from == "-" {
		text, err = io.ReadAll(io.LimitReader(e.stdin, hookpoints.MaxPayload+1))
	} else {
		text, err = os.ReadFile(from)
	}
	if err != nil {
		return payload.Value{}, fmt.Errorf("%s: %w", flag, err)
	}
	v, err := payload.Parse(text)
	if err != nil {
		return v, fmt.Errorf("%s: %w", flag, err)
	}
	return v, nil
}

// parseScope reads K=V; a V that is an integer is one.
func parseScope(list []string) (payload.Value, error) {
	var fields []payload.Field
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return payload.Value{}, usagef("--scope %q is no K=V", kv)
		}
		value := payload.NewString(v)
		if i, err := strconv.ParseInt(v, 10, 64); err == nil && (k == "turn" || k == "step") {
			value = payload.NewInt(i)
		}
		fields = append(fields, payload.Field{Name: k, Value: value})
	}
	return payload.NewObject(fields...), nil
}
