package agentd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
)

// actionSpec is an operation of the host. Its action notes "ID ARGUMENTS" with the witness.
type actionSpec struct {
	Kind      string         `yaml:"kind"`   // default tool
	Target    string         `yaml:"target"` // the tool's or the model's id
	Input     map[string]any `yaml:"input"`  // over the example of the before point
	Whole     map[string]any `yaml:"whole"`  // or the input as it stands
	Scope     map[string]any `yaml:"scope"`
	Schema    any            `yaml:"schema"`    // of the arguments, as the host's validator
	Normalise map[string]any `yaml:"normalise"` // and what it makes of them: {field: {from: to}}
	Overlaps  bool           `yaml:"overlaps"`
	// Idempotent, Composite and Unknown are as in operation.Action: what may run again when nobody
	// knows, what is known by its parts, what everybody is told.
	Idempotent bool     `yaml:"idempotent"`
	Composite  bool     `yaml:"composite"`
	Unknown    any      `yaml:"unknown"`
	Parts      []string `yaml:"parts"` // operations that the action does
	// Prepare is what a tool that writes files will write.
	Prepare map[string]any `yaml:"prepare"`
	// Results are those of the first action, the second ...; the last one stays.
	Results []resultSpec `yaml:"results"`
}

type resultSpec struct {
	Value  any    `yaml:"value"`
	Status string `yaml:"status"` // default succeeded
	Lost   bool   `yaml:"lost"`   // there is no result
	Cancel bool   `yaml:"cancel"` // whoever waits goes away in the middle
}

// do runs operations as one batch, or goes on with what is saved of them.
func (p *process) do(ids []string) (payload.Value, error) {
	s, err := p.rt.Session(p.ctx, "s")
	if err == nil {
		err = s.Resume(p.ctx, "r")
	}
	if err != nil {
		return payload.Value{}, err
	}
	var actions []operation.Action
	for _, id := range ids {
		actions = append(actions, p.action(s, id, ""))
	}
	done, err := s.Batch(p.ctx, actions)
	if err != nil {
		return payload.Value{}, err
	}
	if err := s.Flush(p.ctx); err != nil {
		return payload.Value{}, err
	}
	var out []payload.Value
	for _, d := range done {
		out = append(out, told(d))
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return payload.NewArray(out), nil
}

// told is what the caller of an operation gets.
func told(d operation.Done) payload.Value {
	texts := []payload.Value{}
	for _, t := range d.Texts {
		texts = append(texts, payload.NewString(t.Text))
	}
	out := payload.NewObject(field("id", d.Head.ID), field("state", string(d.State)), field("status", d.Status), field("by", d.By), field("reason", d.Reason),
		field("code", d.Code), payload.Field{Name: "stop", Value: payload.NewBool(d.Stop)}, payload.Field{Name: "texts", Value: payload.NewArray(texts)})
	if d.Effective.Exists() {
		out = out.With(payload.Field{Name: "effective", Value: d.Effective})
	}
	return out
}

func field(name, text string) payload.Field {
	return payload.Field{Name: name, Value: payload.NewString(text)}
}

func (p *process) action(s *operation.Session, id, parent string) operation.Action {
	spec, ok := p.spec.Operations[id]
	if !ok {
		p.t.Fatalf("there is no operation %q", id)
	}
	kind := spec.Kind
	if kind == "" {
		kind = "tool"
	}
	h := operation.Head{ID: id, Parent: parent, Kind: kind, RunID: "r", SessionID: "s", Tool: spec.Target, Composite: spec.Composite, Revisions: p.pinned(id), Began: p.Now()}
	if instance, ok := spec.Scope["instance_id"].(string); ok {
		h.Instance = instance
	}
	scope := []payload.Field{field("run_id", "r"), field("session_id", "s"), field("operation_id", id), field("published_revision", h.Revisions.Project)}
	if spec.Target != "" {
		scope = append(scope, field("target", spec.Target))
	}
	around, err := hookpoints.NewScope(payload.NewObject(scope...).With(p.fields(spec.Scope)...))
	if err != nil {
		p.t.Fatal(err)
	}
	before := p.rt.Points().Point(kind + ".before")
	if before == nil {
		p.t.Fatalf("there is no point %s.before", kind)
	}
	in := before.Example
	if kind == "tool" && spec.Target != "" {
		in = in.With(field("name", spec.Target), field("tool_id", spec.Target))
	}
	in = in.With(p.fields(spec.Input)...)
	if spec.Whole != nil {
		in = payload.NewObject(p.fields(spec.Whole)...)
	}
	a := operation.Action{
		Head: h, Points: operation.Points{Before: kind + ".before", After: kind + ".after"}, Around: &hookpoints.Around{Scope: around, Now: h.Began, Seed: id},
		Input: in, Overlaps: spec.Overlaps, Idempotent: spec.Idempotent, Again: spec.Composite, Policy: "allow",
		Validate: func(_ context.Context, in payload.Value) (payload.Value, error) { return p.validate(id, spec, in) },
		Do: func(ctx context.Context, in, _ payload.Value) (payload.Value, string, error) {
			return p.act(ctx, s, id, spec, in)
		},
		After: func(in, raw payload.Value, status string) payload.Value { return afterPayload(kind, in, raw, status) },
		Effective: func(after payload.Value) payload.Value {
			switch kind {
			case "tool":
				return after.Get("value")
			case "run", "subagent":
				return after.Get("output")
			}
			return after
		},
	}
	if spec.Unknown != nil {
		a.UnknownText = p.value(spec.Unknown)
	}
	if spec.Prepare != nil {
		a.Prepare = func(context.Context, payload.Value) (payload.Value, error) {
			p.note(id + " prepared")
			p.at("inside.prepare")
			return payload.NewObject(p.fields(spec.Prepare)...), nil
		}
	}
	return a
}

// pinned is the revisions of an operation: those it began with, if anything of it is saved.
func (p *process) pinned(op string) operation.Triple {
	if p.step.Repin {
		return p.serves
	}
	rows, err := p.store.Rows(p.ctx, op)
	if err != nil {
		p.t.Fatal(err)
	}
	if h := operation.Summarise(rows).Head; h.ID != "" {
		return h.Revisions
	}
	return p.serves
}

func afterPayload(kind string, in, raw payload.Value, status string) payload.Value {
	switch kind {
	case "tool":
		return payload.NewObject(payload.Field{Name: "value", Value: raw}, field("status", status), payload.Field{Name: "evidence_arguments", Value: in.Get("arguments")})
	case "run", "subagent":
		outcome := payload.NewNull()
		switch status {
		case operation.Succeeded:
			outcome = payload.NewString("complete")
		case operation.Blocked:
			outcome = payload.NewString("blocked")
		}
		return payload.NewObject(payload.Field{Name: "output", Value: raw}, field("status", status), payload.Field{Name: "outcome", Value: outcome})
	}
	return raw
}

// validate is the host's validator: the schema, what is authorised now, then the normal form.
func (p *process) validate(id string, spec actionSpec, in payload.Value) (payload.Value, error) {
	p.count("validate " + id)
	if p.withdrawn {
		return in, errors.New("it isn't authorised any more")
	}
	args := in.Get("arguments")
	if spec.Schema != nil {
		schema, err := revision.NewSchema(p.value(spec.Schema))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := schema.Check(args); err != nil {
			return in, err
		}
	}
	for name, by := range spec.Normalise {
		for from, to := range by.(map[string]any) {
			if args.Get(name).String() == from {
				args = args.With(payload.Field{Name: name, Value: p.value(to)})
			}
		}
	}
	if spec.Normalise == nil {
		return in, nil
	}
	return in.With(payload.Field{Name: "arguments", Value: args}), nil
}

func (p *process) act(ctx context.Context, s *operation.Session, id string, spec actionSpec, in payload.Value) (payload.Value, string, error) {
	n := p.try(id)
	line := id
	if args := in.Get("arguments"); args.Exists() {
		line += " " + args.String()
	}
	p.note(line)
	p.at("inside.action")
	for _, part := range spec.Parts {
		if _, err := s.Do(ctx, p.action(s, part, id)); err != nil {
			return payload.Value{}, "", err
		}
	}
	res := resultSpec{Value: "raw " + id}
	if len(spec.Results) > 0 {
		res = spec.Results[min(n, len(spec.Results)-1)]
	}
	switch {
	case res.Lost:
		return payload.Value{}, "", errors.New("the action was cut off")
	case res.Cancel:
		p.cancel()
		return payload.Value{}, "", ctx.Err()
	case res.Status == "":
		res.Status = operation.Succeeded
	}
	return p.value(res.Value), res.Status, nil
}

// stages lists the rows of an operation: their stages, a number where it isn't 0.
func (w *world) stages(rows []operation.Row) string {
	var out []string
	for _, r := range rows {
		k := r.Key()
		word := string(k.Stage)
		if k.N > 0 {
			word += fmt.Sprintf(":%d", k.N)
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
