package revision

import (
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/operation"
)

// bind makes the bindings: one for each hook that names a point, then what agentd.yaml says.
func (w *build) bind() {
	for i := range w.Definitions {
		d := &w.Definitions[i]
		if w.lines[d.HookID] {
			continue
		}
		w.lines[d.HookID] = true
		e := w.entryFor(d.HookID)
		if e != nil {
			continue // it replaces the automatic binding, below
		}
		if len(d.Points) > 0 {
			w.add(d, w.Layer.Layer, Entry{BindingID: d.HookID, Line: d.Line}, HooksDir+d.File)
		}
	}
	seen := map[string]bool{}
	for _, e := range w.Config.Hooks {
		if e.BindingID == "" {
			continue
		}
		if seen[e.BindingID] {
			w.fault(Fault{BindingID: w.qualified(e.BindingID), File: ConfigFile, Line: e.Line, Message: "this binding_id stands twice", Fix: "give one of them another binding_id"})
			continue
		}
		seen[e.BindingID] = true
		w.bindEntry(e)
	}
}

func (w *build) entryFor(id string) *Entry {
	for i := range w.Config.Hooks {
		if w.Config.Hooks[i].BindingID == id {
			return &w.Config.Hooks[i]
		}
	}
	return nil
}

// bindEntry makes the bindings of one entry of agentd.yaml.
func (w *build) bindEntry(e Entry) {
	owner, name := w.Layer, e.BindingID
	if layer, rest, ok := strings.Cut(e.BindingID, "/"); ok {
		if owner = w.lower(layer); owner == nil {
			w.fault(Fault{BindingID: e.BindingID, File: ConfigFile, Line: e.Line, Message: fmt.Sprintf("the %s layer can't configure %q", w.Layer.Layer, e.BindingID),
				Fix: "only the user's agentd.yaml may name shipped/ID; bindings of the own layer have no / in their id"})
			return
		}
		name = rest
	}
	id := owner.qualified(name)
	if e.Enabled != nil && !*e.Enabled {
		if owner.Definition(name) == nil && e.HookID == "" {
			w.fault(Fault{BindingID: id, File: ConfigFile, Line: e.Line, Message: "there is no hook of this id to switch off", Fix: "see agentd hooks list"})
			return
		}
		w.Disables = append(w.Disables, id)
		return
	}
	hookID, from := e.HookID, owner
	if hookID == "" {
		hookID = name
	}
	if layer, rest, ok := strings.Cut(hookID, "/"); ok {
		if from = w.lower(layer); from == nil {
			w.fault(Fault{BindingID: id, File: ConfigFile, Line: e.Line, Message: fmt.Sprintf("the hook %q is of no layer below this one", hookID), Fix: "see agentd hooks list"})
			return
		}
		hookID = rest
	}
	d := from.Definition(hookID)
	if d == nil {
		w.fault(Fault{BindingID: id, File: ConfigFile, Line: e.Line, Message: fmt.Sprintf("there is no hook %q in the %s layer", hookID, from.Layer), Fix: hookChoices(from)})
		return
	}
	if e.Version != "" && e.Version != d.Version {
		w.fault(Fault{BindingID: id, File: ConfigFile, Line: e.Line, Message: fmt.Sprintf("the hook %q has version %q, not %q", hookID, d.Version, e.Version), Fix: "write version: " + d.Version})
		return
	}
	if len(e.Points) == 0 && len(d.Points) == 0 {
		w.fault(Fault{BindingID: id, File: ConfigFile, Line: e.Line, Message: fmt.Sprintf("neither this entry nor the hook %q names a point", hookID), Fix: "write point: NAME, see agentd points"})
		return
	}
	e.BindingID = name
	w.add(d, owner.Layer, e, ConfigFile)
}

// lower finds a layer below this one by its name, if this one may touch it.
func (w *build) lower(name string) *Layer {
	if w.Layer.Layer != hookpoints.User {
		return nil
	}
	for _, l := range w.below {
		if l.Layer.String() == name {
			return l
		}
	}
	return nil
}

func hookChoices(l *Layer) string {
	if len(l.Definitions) == 0 {
		return "the layer has no hooks; write one in " + HooksDir
	}
	var ids []string
	for _, d := range l.Definitions {
		ids = append(ids, d.HookID)
	}
	slices.Sort(ids)
	return "it has " + strings.Join(slices.Compact(ids), ", ")
}

// add makes one binding a point, checks it, and puts it where it belongs.
func (w *build) add(d *interp.Definition, layer hookpoints.Layer, e Entry, file string) {
	points := d.Points
	if len(e.Points) > 0 {
		points = e.Points
	}
	id := layer.String() + "/" + e.BindingID
	base := binding(d, layer, id, e)
	base.FromConfig = file == ConfigFile
	at := Fault{BindingID: id, File: file, Line: e.Line}
	w.checkConfig(d, base, at)
	w.checkGrants(d, at)
	for _, name := range points {
		p := w.Points.Point(name)
		if p == nil {
			w.faultAt(at, fmt.Sprintf("there is no point %q", name), "see agentd points")
			continue
		}
		b := *base
		b.Point = name
		if !w.fits(&b, p, at) {
			continue
		}
		if layer == w.Layer.Layer {
			w.Bindings = append(w.Bindings, &b)
		} else {
			w.Replaces = append(w.Replaces, &b)
		}
	}
}

func (w *build) faultAt(at Fault, message, fix string) {
	at.Message, at.Fix = message, fix
	w.fault(at)
}

func binding(d *interp.Definition, layer hookpoints.Layer, id string, e Entry) *hookpoints.Binding {
	b := &hookpoints.Binding{
		BindingID: id, HookID: d.HookID, Version: d.Version, Priority: d.Priority, Layer: layer, File: d.File, Line: d.Line,
		Purposes: d.Purposes, Instances: d.Instances, Targets: d.Targets, Kinds: d.Kinds, Clients: d.Clients, Config: d.Default,
		Timeout: d.Timeout, FailurePolicy: d.FailurePolicy, Observation: d.Observation, Guard: d.Guard, Background: d.Background,
		Isolate: d.Isolate, ReplaySafe: true, Stream: d.Stream, Contract: d.Contract, FactKeys: d.FactKeys, StateProject: d.StateProject,
		Hook: d.Hook,
	}
	b.StateCell = id
	if d.StateName != "" {
		b.StateCell = layer.String() + "/" + d.StateName
	}
	if d.StateProject {
		b.StateCell = operation.ProjectCell + b.StateCell
	}
	if e.Priority != nil {
		b.Priority = *e.Priority
	}
	if e.Timeout != nil {
		b.Timeout = *e.Timeout
	}
	if e.FailurePolicy != nil {
		b.FailurePolicy = *e.FailurePolicy
	}
	if e.Config.Exists() {
		b.Config = e.Config
	}
	if !b.Config.Exists() {
		b.Config = payload.NewObject()
	}
	for _, list := range []struct {
		into *[]string
		said []string
	}{{&b.Purposes, e.Purposes}, {&b.Instances, e.Instances}, {&b.Targets, e.Targets}, {&b.Kinds, e.Kinds}, {&b.Clients, e.Clients}} {
		if list.said != nil {
			*list.into = list.said
		}
	}
	b.Targets = slices.Compact(slices.Sorted(slices.Values(b.Targets)))
	return b
}

// fits checks a binding against its point.
func (w *build) fits(b *hookpoints.Binding, p *hookpoints.Point, at Fault) bool {
	n := len(w.Faults)
	if message, fix := b.MatchFault(p); message != "" {
		w.faultAt(at, message, fix)
	}
	if p.Observation && !b.Observation {
		w.faultAt(at, p.Name+" takes observation hooks only", "write observation = True in the hook, or bind it elsewhere")
	}
	if b.FailurePolicy == hookpoints.Continue && !b.Observation {
		w.faultAt(at, "failure_policy continue is for observation hooks only", "leave failure_policy out, or write observation = True in the hook")
	}
	if b.Guard && p.Phase != hookpoints.Before && p.Phase != hookpoints.Confirm && !p.Allows.Has(hookpoints.Stop) {
		w.faultAt(at, "a guard has nothing to decide at "+p.Name, "bind it at a point that has reject, stop, deny or ask")
	}
	return len(w.Faults) == n
}

func (w *build) checkConfig(d *interp.Definition, b *hookpoints.Binding, at Fault) {
	if b.Config.Kind() != payload.Object {
		w.faultAt(at, "the config is "+b.Config.Kind().String()+", want an object", "write config: {KEY: VALUE}")
		return
	}
	if n := b.Config.Size(); n > hookpoints.MaxConfig {
		w.faultAt(at, fmt.Sprintf("the config has %d bytes, at most %d are allowed", n, hookpoints.MaxConfig), "make it smaller")
		return
	}
	if !d.ConfigSchema.Exists() {
		return
	}
	schema, err := NewSchema(d.ConfigSchema)
	if err != nil {
		w.fault(Fault{BindingID: at.BindingID, File: HooksDir + d.File, Line: d.Line, Message: "config is " + err.Error(), Fix: "write a JSON Schema"})
		return
	}
	if err := schema.Check(b.Config); err != nil {
		w.faultAt(at, "the config doesn't fit the hook's schema: "+oneLine(err), "see the config of hook "+d.HookID+" in "+HooksDir+d.File)
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// checkGrants refuses effects: there is nothing yet that would do them.
func (w *build) checkGrants(d *interp.Definition, at Fault) {
	for _, name := range d.Effects {
		w.faultAt(at, fmt.Sprintf("the effect %q isn't known to this agentd", name), "leave effects out")
	}
}
