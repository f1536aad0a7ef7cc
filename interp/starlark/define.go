package starlark

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// The bounds of hook's arguments, which are those of the manifest.
const (
	maxVersion   = 200
	maxPriority  = 10_000
	maxTimeout   = 300 * time.Second
	maxListItems = 100
	maxName      = 200
)

// definitionBytes is the memory of a hook beside its arguments, and what it takes to grow a list of them.
const definitionBytes = 2 << 10

var hookID = regexp.MustCompile(`^[A-Za-z0-9_.:-][A-Za-z0-9_.:/-]{0,199}$`)

// definer reads the arguments of one call of hook.
type definer struct {
	r     *run
	def   interp.Definition
	run   *starlark.Function
	facts *starlark.Function
	given map[string]bool
}

// argument reads one argument, which is not None.
type argument func(d *definer, v starlark.Value) error

var hookArguments = map[string]argument{
	"id":             stringTo(func(d *definer) *string { return &d.def.HookID }),
	"version":        stringTo(func(d *definer) *string { return &d.def.Version }),
	"run":            (*definer).runFunction,
	"point":          (*definer).points,
	"guard":          boolTo(func(d *definer) *bool { return &d.def.Guard }),
	"observation":    boolTo(func(d *definer) *bool { return &d.def.Observation }),
	"background":     boolTo(func(d *definer) *bool { return &d.def.Background }),
	"isolate":        boolTo(func(d *definer) *bool { return &d.def.Isolate }),
	"facts":          (*definer).factsListOrFunction,
	"effects":        listTo(func(d *definer) *[]string { return &d.def.Effects }),
	"state":          (*definer).state,
	"kinds":          listTo(func(d *definer) *[]string { return &d.def.Kinds }, hookpoints.Kinds()...),
	"clients":        listTo(func(d *definer) *[]string { return &d.def.Clients }),
	"purposes":       listTo(func(d *definer) *[]string { return &d.def.Purposes }),
	"instances":      listTo(func(d *definer) *[]string { return &d.def.Instances }, hookpoints.Main, hookpoints.Child),
	"targets":        listTo(func(d *definer) *[]string { return &d.def.Targets }),
	"priority":       (*definer).priority,
	"timeout":        (*definer).timeout,
	"failure_policy": choiceTo(func(d *definer) *string { return &d.def.FailurePolicy }, hookpoints.Block, hookpoints.Continue),
	"stream":         choiceTo(func(d *definer) *string { return &d.def.Stream }, hookpoints.Held, hookpoints.Provisional),
	"contract":       (*definer).contract,
	"config":         objectTo(func(d *definer) *payload.Value { return &d.def.ConfigSchema }),
	"default":        objectTo(func(d *definer) *payload.Value { return &d.def.Default }),
}

// defineHook is hook(...).
func defineHook(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	l := r.loading
	if l == nil || len(l.files) == 0 {
		return nil, errors.New("hook can only be called while a file loads, at its top")
	}
	if len(l.files) > 1 {
		return nil, fmt.Errorf("hook can only be called by the main file, and %s is loaded as a module", l.files[len(l.files)-1])
	}
	if l.noHooks {
		return nil, errors.New("hook can't be called by a test file")
	}
	if len(args) > 0 {
		return nil, errors.New("hook takes named arguments only")
	}
	// It is held against all before it, and kept.
	if err := r.charge(int64(len(l.defs))/scanPerFuel, definitionBytes); err != nil {
		return nil, err
	}
	d := &definer{r: r, given: map[string]bool{}, def: interp.Definition{
		File: l.main, Line: int(r.thread.CallFrame(r.thread.CallStackDepth() - 1).Pos.Line),
		Priority: hookpoints.DefaultPriority, Timeout: hookpoints.HookTimeout,
		FailurePolicy: hookpoints.Block, Stream: hookpoints.Held, Contract: 2,
	}}
	err := d.read(kwargs)
	if err == nil {
		err = d.check(l.defs)
	}
	if err != nil {
		l.refused = idOf(kwargs)
		return nil, err
	}
	d.def.Hook = newHook(l, d.run, d.facts)
	l.defs = append(l.defs, d.def)
	return starlark.None, nil
}

// idOf finds the id that a call of hook gives, "" if there is none.
func idOf(kwargs []starlark.Tuple) string {
	for _, kv := range kwargs {
		if id, ok := kv[1].(starlark.String); ok && kv[0] == starlark.String("id") {
			return string(id)
		}
	}
	return ""
}

func (d *definer) read(kwargs []starlark.Tuple) error {
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		read := hookArguments[name]
		if read == nil {
			return fmt.Errorf("hook: there is no argument %s, want %s", name, strings.Join(sortedNames(hookArguments), ", "))
		}
		if kv[1] == starlark.None {
			continue
		}
		d.given[name] = true
		if err := read(d, kv[1]); err != nil {
			if d.r.meter.Spent() {
				return err
			}
			return fmt.Errorf("hook: argument %s: %w", name, err)
		}
	}
	for _, name := range []string{"id", "version", "run"} {
		if !d.given[name] {
			return fmt.Errorf("hook: argument %s is missing", name)
		}
	}
	return nil
}

// check holds the arguments against each other.
func (d *definer) check(before []interp.Definition) error {
	def := &d.def
	if !hookID.MatchString(def.HookID) {
		return fmt.Errorf("hook: argument id: %q is not 1 to 200 of A-Z a-z 0-9 _ . : / - that don't begin with /", def.HookID)
	}
	if n := utf8.RuneCountInString(def.Version); n < 1 || n > maxVersion {
		return fmt.Errorf("hook: argument version: it has %d characters, want 1 to %d", n, maxVersion)
	}
	for _, other := range before {
		if other.HookID == def.HookID {
			return fmt.Errorf("hook: %s is defined twice, first in line %d", def.HookID, other.Line)
		}
	}
	switch {
	case def.Guard && def.Observation:
		return errors.New("hook: guard excludes observation: a guard may block, an observation hook may not")
	case def.Background && !def.Observation:
		return errors.New("hook: background is for observation hooks only")
	case def.FailurePolicy == hookpoints.Continue && !def.Observation:
		return errors.New(`hook: failure_policy "continue" is for observation hooks only`)
	case def.Guard && len(def.Effects) > 0:
		return errors.New("hook: guard excludes effects: a guard may only let through or block")
	}
	return nil
}
