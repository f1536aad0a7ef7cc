package revision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// HooksDir is the folder of a layer's scripts.
const HooksDir = "hooks/"

// Engines finds the engine of a script by its suffix, e.g. ".star".
type Engines map[string]interp.Engine

// Of returns the engine of a file, nil if it is no script.
func (e Engines) Of(file string) interp.Engine { return e[path.Ext(file)] }

// IsTest reports whether a script is a test: it is run before publishing and isn't frozen.
func IsTest(file string) bool {
	return strings.HasSuffix(strings.TrimSuffix(file, path.Ext(file)), "_test")
}

// IsModule reports whether a script is only loaded by others.
func IsModule(file string) bool { return strings.HasPrefix(file, HooksDir+"lib/") }

// Layer is what the files of a layer come to. It is immutable. A layer with faults doesn't serve.
type Layer struct {
	ID          string
	Layer       hookpoints.Layer
	Manifest    []byte
	Files       []File
	Config      Config
	Bindings    []*hookpoints.Binding // those that serve, of this layer
	Replaces    []*hookpoints.Binding // bindings of lower layers as this layer wants them
	Disables    []string              // ids of bindings, also of lower layers, that are switched off
	Definitions []interp.Definition
	Faults      []Fault
	Terms       Terms
	Ignored     []string // what its files say and its terms leave out, for people
}

// Builder builds layers. It is immutable.
type Builder struct {
	Engines Engines
	// Isolated are the same languages in a process that can do nothing but compute, for hooks that say
	// isolate. Where a language has none, such a hook is a fault.
	Isolated Engines
	// Strange are the same once more, for a layer that nobody trusts: its scripts share no process with those
	// of others. Where a language has none, its files are a fault.
	Strange Engines
	// Backwards reads the scripts from the last to the first, to show that nothing depends on it.
	Backwards bool
	Points    *hookpoints.Catalogue
	Limits    meter.Limits
	Host      []interp.Definition // hooks that a host wrote in Go; they belong to the shipped layer
	// Engine is what manifests say about this program; the zero value is the truth.
	Engine Engine
	// CheckFact says what is wrong with an entry of facts.allow; nil takes every entry.
	CheckFact func(pattern string) error
	// KnownEffects are the effects that there are; nil takes every name.
	KnownEffects []string
	// CheckEffect says what is wrong with an effect that a hook asks for, and is as pure as hooks are;
	// nil takes everything.
	CheckEffect func(name string, arguments payload.Value) error
	// CheckURL says what is wrong with an entry of webhooks.allow; nil takes every entry.
	CheckURL func(entry string) error
}

// Build loads the files of a layer that is trusted with all that it says.
func (b *Builder) Build(ctx context.Context, which hookpoints.Layer, files []File, below []*Layer) (*Layer, error) {
	return b.BuildUnder(ctx, which, files, below, Terms{})
}

// BuildUnder loads the files of a layer under terms; below is what serves under it, whose bindings only a
// user may replace. It never fails half way: faults are listed, and the error is the context's.
func (b *Builder) BuildUnder(ctx context.Context, which hookpoints.Layer, files []File, below []*Layer, terms Terms) (*Layer, error) {
	l := &Layer{Layer: which, Terms: terms}
	for _, f := range files {
		if IsTest(f.Path) {
			continue
		}
		l.Files = append(l.Files, f)
	}
	slices.SortFunc(l.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	w := &build{Builder: b, Layer: l, below: below}
	w.config()
	if err := w.scripts(ctx); err != nil {
		return nil, err
	}
	w.bind()
	w.checkGrants()
	if len(l.Faults) > 0 {
		slices.SortStableFunc(l.Faults, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
		return l, nil
	}
	manifest, err := w.manifest()
	if err != nil {
		return nil, fmt.Errorf("the manifest of the %s layer: %w", which, err)
	}
	l.Manifest, l.ID = manifest, ID(manifest)
	return l, nil
}

// build is one Build on its way.
type build struct {
	*Builder
	*Layer
	below []*Layer
}

func (w *build) fault(f Fault) { w.Faults = append(w.Faults, f) }

func (w *build) config() {
	for _, f := range w.Files {
		if f.Path == ConfigFile {
			c, faults := ParseConfig(f.Text)
			for i := range faults {
				if owner, name := w.owner(faults[i].BindingID); name != "" && owner != nil {
					faults[i].BindingID = owner.qualified(name)
				}
			}
			if w.Terms.Untrusted {
				w.Ignored = append(w.Ignored, "all of "+ConfigFile)
				continue
			}
			w.Config, w.Faults = c.without(w.Terms.Withheld), append(w.Faults, faults...)
		}
	}
	w.Ignored = append(w.Ignored, w.Terms.Withheld...)
	for i, pattern := range w.Config.Facts {
		if w.CheckFact == nil || i >= len(w.Config.FactLines) {
			break
		}
		if err := w.CheckFact(pattern); err != nil {
			w.fault(Fault{File: ConfigFile, Line: w.Config.FactLines[i], Message: "facts.allow: " + err.Error(), Fix: "see docs/facts.md"})
		}
	}
}

// scripts loads every script of the hooks folder that isn't a module.
func (w *build) scripts(ctx context.Context) error {
	files := slices.Clone(w.Files)
	if w.Backwards {
		slices.Reverse(files)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Path, HooksDir) {
			continue
		}
		engine := w.Engines.Of(f.Path)
		if engine != nil && w.Terms.Untrusted {
			if engine = w.Strange.Of(f.Path); engine == nil {
				w.fault(Fault{File: f.Path, Line: 1, Message: "nobody trusts these hooks, and this host has no worker to isolate them in", Fix: "look at them, then trust them with agentd trust"})
				continue
			}
		}
		if engine == nil { // what looks like a guard and is none would be worse than a fault
			w.fault(Fault{File: f.Path, Line: 1, Message: fmt.Sprintf("there is no language for a file that ends in %q", path.Ext(f.Path)),
				Fix: "write it as " + strings.Join(slices.Sorted(maps.Keys(w.Engines)), " or ") + ", or move it out of " + HooksDir})
			continue
		}
		if IsModule(f.Path) {
			continue
		}
		src := interp.Source{Name: strings.TrimPrefix(f.Path, HooksDir), Text: f.Text}
		defs, err := engine.Load(ctx, src, w.Module, w.Limits)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.fault(w.scriptFault(f.Path, err))
		}
		if !w.Terms.Untrusted && slices.ContainsFunc(defs, func(d interp.Definition) bool { return d.Isolate }) {
			if err := w.isolate(ctx, f, src, defs); err != nil {
				return err
			}
		}
		w.Definitions = append(w.Definitions, defs...)
	}
	if w.Layer.Layer == hookpoints.Shipped {
		w.Definitions = append(w.Definitions, w.Host...)
	}
	w.registerOnce()
	return nil
}

// isolate puts the hooks of a file that say so where they can do nothing else.
func (w *build) isolate(ctx context.Context, f File, src interp.Source, defs []interp.Definition) error {
	engine := w.Isolated.Of(f.Path)
	if engine == nil {
		w.fault(Fault{File: f.Path, Line: 1, Message: "a hook says isolate, and this host has no worker to isolate it in", Fix: "leave out isolate, or run it where there is a worker"})
		return nil
	}
	apart, err := engine.Load(ctx, src, w.Module, w.Limits)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.fault(w.scriptFault(f.Path, err))
		return nil
	}
	for i := range defs {
		j := slices.IndexFunc(apart, func(d interp.Definition) bool { return d.HookID == defs[i].HookID })
		if j < 0 {
			w.fault(Fault{File: f.Path, Line: defs[i].Line, Message: fmt.Sprintf("the worker knows no hook %q", defs[i].HookID), Fix: "look at agentd doctor"})
		} else if defs[i].Isolate {
			defs[i].Hook = apart[j].Hook
		}
	}
	return nil
}

func (w *build) registerOnce() {
	at := map[string]interp.Definition{}
	for _, d := range w.Definitions {
		if first, twice := at[d.HookID]; twice {
			w.fault(Fault{BindingID: w.qualified(d.HookID), File: source(&d), Line: d.Line,
				Message: fmt.Sprintf("the hook %q is registered twice, first at %s:%d", d.HookID, source(&first), first.Line), Fix: "give one of them another id"})
			continue
		}
		at[d.HookID] = d
	}
}

// Module finds a module for a script: only the layer's own.
func (l *Layer) Module(name string) (interp.Source, error) {
	for _, f := range l.Files {
		if f.Path == HooksDir+name {
			return interp.Source{Name: name, Text: f.Text}, nil
		}
	}
	return interp.Source{}, fmt.Errorf("there is no module %q in the hooks folder of the %s layer", "//"+name, l.Layer)
}

// qualified is the id of a binding as records show it.
func (l *Layer) qualified(id string) string { return l.Layer.String() + "/" + id }

// Definition finds a hook of this layer.
func (l *Layer) Definition(id string) *interp.Definition {
	for i := range l.Definitions {
		if l.Definitions[i].HookID == id {
			return &l.Definitions[i]
		}
	}
	return nil
}

// Agent returns an agent of this layer.
func (l *Layer) Agent(name string) (Agent, bool) {
	a, ok := l.Config.Agents[name]
	return a, ok
}

// Err is the first fault, and how many there are; nil without faults.
func (l *Layer) Err() error {
	switch n := len(l.Faults); n {
	case 0:
		return nil
	case 1:
		return l.Faults[0]
	default:
		return fmt.Errorf("%w (and %d more)", l.Faults[0], n-1)
	}
}
