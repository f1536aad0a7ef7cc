package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// engine loads scripts in a worker. It is immutable.
type engine struct {
	side     *side
	suffix   string
	identity interp.Identity
}

// Identity implements interp.Engine.
func (e *engine) Identity() interp.Identity { return e.identity }

// script is a file with the modules that it needs, as a worker that doesn't know it yet has to be told.
type script struct {
	key     string
	suffix  string
	source  interp.Source
	modules map[string]interp.Source
	limits  meter.Limits
	ids     []string // of what it defines; each worker has to say the same
}

// Load implements interp.Engine. Nothing of the file is looked at here: what it defines comes back as data.
func (e *engine) Load(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits) ([]interp.Definition, error) {
	var s *script
	var defs []definition
	err := e.side.use(ctx, func(p *process) (err error) {
		s = &script{suffix: e.suffix, source: src, modules: map[string]interp.Source{}, limits: limits}
		s.key = fmt.Sprintf("%s %s %d", src.Name, src.Hash(), e.side.next.Add(1)) // its modules aren't known yet
		defs, err = s.load(ctx, p, module)
		return err
	})
	if err != nil {
		var own *interp.Error
		if !errors.As(err, &own) { // the worker, not the script
			own = &interp.Error{File: src.Name, Message: err.Error(), Cause: hookpoints.ErrHookFailed}
		}
		return nil, own
	}
	out := make([]interp.Definition, len(defs))
	for i, d := range defs {
		out[i] = d.Definition
		out[i].File = src.Name
		s.ids = append(s.ids, d.HookID)
		h := &hook{side: e.side, script: s, index: i}
		out[i].Hook = h
		if d.Asks {
			out[i].Hook = &asking{h}
		}
	}
	return out, nil
}

// load tells a worker a script. Modules are asked for by name; each is asked for once and remembered.
func (s *script) load(ctx context.Context, w *process, module interp.Module) ([]definition, error) {
	q := object(text("do", "load"), text("key", s.key), text("suffix", s.suffix), text("name", s.source.Name), text("text", string(s.source.Text)),
		integer("fuel", s.limits.Fuel), integer("bytes", s.limits.Bytes))
	for {
		w.source += q.Size()
		a, err := w.ask(ctx, q)
		switch {
		case err != nil:
			return nil, err
		case a.Get("fault").Exists():
			return nil, unpackFault(s.source.Name, a.Get("fault"))
		case a.Get("definitions").Exists():
			defs, err := unpackDefinitions(a.Get("definitions"))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errLies, err)
			}
			w.loaded[s.key] = true
			return defs, nil
		case !a.Get("module").Exists():
			return nil, errLies
		}
		q = s.module(a.Get("module").Text(), module)
	}
}

func (s *script) module(name string, find interp.Module) payload.Value {
	m, known := s.modules[name]
	if !known && find != nil && len(s.modules) < maxModules {
		var err error
		if m, err = find(name); err != nil {
			return object(text("error", err.Error()))
		}
		s.modules[name] = m
	} else if !known {
		return object(text("error", fmt.Sprintf("there is no module %q", name)))
	}
	return object(text("name", m.Name), text("text", string(m.Text)))
}

// maxModules bounds what one script loads.
const maxModules = 1000

// know sees to it that a worker knows the script.
func (s *script) know(ctx context.Context, w *process) error {
	if w.loaded[s.key] {
		return nil
	}
	defs, err := s.load(ctx, w, nil)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(defs, s.ids, func(d definition, id string) bool { return d.HookID == id }) {
		return errLies
	}
	return nil
}

func unpackFault(file string, v payload.Value) *interp.Error {
	line, _ := v.Get("line").Int64()
	e := &interp.Error{File: file, Line: int(line), Message: hookpoints.Cut(v.Get("message").Text(), hookpoints.MaxText), HookID: hookpoints.Cut(v.Get("hook_id").Text(), 200),
		Backtrace: hookpoints.Cut(v.Get("backtrace").Text(), hookpoints.MaxText), Cause: unpackCause(v.Get("cause"))}
	if f := v.Get("file").Text(); f != "" && len(f) < 4096 {
		e.File = f
	}
	return e
}

func unpackCause(v payload.Value) error {
	place, ok := v.Int64()
	if word := reason(place); ok && word != nil {
		return word
	}
	return hookpoints.ErrHookFailed
}
