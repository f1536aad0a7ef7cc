package revision

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/operation"
)

// bind makes the bindings: one for each hook that names a point, then what agentd.yaml says.
func (w *build) bind() {
	configured := map[string]bool{}
	for _, e := range w.Config.Hooks {
		if owner, name := w.owner(e.BindingID); owner == w.Layer {
			configured[name] = true
		}
	}
	for i := range w.Definitions {
		d := &w.Definitions[i]
		if w.Definition(d.HookID) != d { // registered twice, which is a fault already
			continue
		}
		w.checkDefinition(d)
		if len(d.Points) > 0 && !configured[d.HookID] { // an entry of this id replaces the automatic binding
			w.add(d, wanted{Entry: Entry{BindingID: d.HookID}, owner: w.Layer, points: d.Points}, Fault{BindingID: w.qualified(d.HookID), File: source(d), Line: d.Line})
		}
	}
	seen := map[string]bool{}
	for i, e := range w.Config.Hooks {
		if e.BindingID != "" { // which is a fault already
			w.bindEntry(e, i+1, seen)
		}
	}
}

// wanted is an entry whose names were looked up.
type wanted struct {
	Entry
	owner  *Layer // whose binding it is
	points []string
	order  int // the place among the entries of agentd.yaml, 0 of an automatic binding
}

// owner finds whose binding an entry is about, and its id there: LAYER/ID is about a layer below. It
// returns nil if this layer may not touch it.
func (w *build) owner(id string) (*Layer, string) {
	layer, rest, ok := strings.Cut(id, "/")
	if which, known := hookpoints.ParseLayer(layer); ok && known {
		return w.lower(which), rest
	}
	return w.Layer, id
}

// lower finds a layer below this one, if this one may touch it.
func (w *build) lower(which hookpoints.Layer) *Layer {
	if w.Layer.Layer != hookpoints.User {
		return nil
	}
	for _, l := range w.below {
		if l.Layer == which {
			return l
		}
	}
	return nil
}

// idForm is that of hooks and bindings. It stands in what models and people read, so it is narrow.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_.:-][A-Za-z0-9_.:/-]{0,199}$`)

// bindEntry makes the bindings of one entry of agentd.yaml.
func (w *build) bindEntry(e Entry, order int, seen map[string]bool) {
	at := Fault{BindingID: e.BindingID, File: ConfigFile, Line: e.Line}
	owner, name := w.owner(e.BindingID)
	if owner == nil {
		w.faultAt(at, fmt.Sprintf("the %s layer can't configure %q", w.Layer.Layer, e.BindingID),
			"only the user's agentd.yaml may name shipped/ID; ids of the own layer are written without it")
		return
	}
	at.BindingID = owner.qualified(name)
	switch {
	case !idForm.MatchString(name):
		w.faultAt(at, fmt.Sprintf("the binding_id %q is no id", name), "use 1 to 200 of A-Z a-z 0-9 _ . : / - that don't begin with /")
		return
	case seen[at.BindingID]:
		w.faultAt(at, "this binding_id stands twice", "give one of them another binding_id")
		return
	}
	seen[at.BindingID] = true
	var had []*hookpoints.Binding // of a layer below, which this entry replaces or switches off
	if owner != w.Layer {
		had = owner.bindings(name)
		order += len(owner.Config.Hooks)
	}
	d := w.hookOf(e, owner, name, had, at)
	if d == nil {
		return
	}
	if e.Enabled != nil && !*e.Enabled {
		w.Disables = append(w.Disables, at.BindingID)
		return
	}
	points, fault, fix := pointsOf(e, d, had)
	if fault != "" {
		w.faultAt(at, fault, fix)
		return
	}
	e.BindingID = name
	w.add(d, wanted{e, owner, points, order}, at)
}

// bindings finds the bindings of an id, one a point.
func (l *Layer) bindings(id string) (out []*hookpoints.Binding) {
	for _, b := range l.Bindings {
		if b.BindingID == l.qualified(id) {
			out = append(out, b)
		}
	}
	return out
}

// hookOf finds the hook of an entry, nil beside a fault: the one that it names, that of the binding
// which it replaces, or the one of its own id.
func (w *build) hookOf(e Entry, owner *Layer, name string, had []*hookpoints.Binding, at Fault) *interp.Definition {
	from, id := owner, name
	switch {
	case e.HookID != "":
		if from, id = w.owner(e.HookID); from == nil {
			w.faultAt(at, fmt.Sprintf("the %s layer can't use the hook %q", w.Layer.Layer, e.HookID), hookChoices(w.Layer))
			return nil
		}
	case len(had) > 0:
		id = had[0].HookID
	}
	d := from.Definition(id)
	switch {
	case d == nil:
		w.faultAt(at, fmt.Sprintf("there is no hook %q in the %s layer", id, from.Layer), hookChoices(from))
		return nil
	case e.Version != "" && e.Version != d.Version:
		w.faultAt(at, fmt.Sprintf("the hook %q has version %q, not %q", id, d.Version, e.Version), "write version: "+d.Version)
		return nil
	}
	return d
}

func hookChoices(l *Layer) string {
	if len(l.Definitions) == 0 {
		return "the " + l.Layer.String() + " layer has no hooks; write one in " + HooksDir
	}
	var ids []string
	for _, d := range l.Definitions {
		ids = append(ids, d.HookID)
	}
	slices.Sort(ids)
	return "the " + l.Layer.String() + " layer has " + strings.Join(slices.Compact(ids), ", ")
}

// pointsOf says where an entry wants its hook: where it says, where the replaced binding was, or where
// the hook says.
func pointsOf(e Entry, d *interp.Definition, had []*hookpoints.Binding) (points []string, fault, fix string) {
	switch {
	case e.Points != nil:
		points = e.Points
	case len(had) > 0:
		for _, b := range had {
			points = append(points, b.Point)
		}
	default:
		points = d.Points
	}
	if len(points) == 0 {
		return nil, fmt.Sprintf("neither this entry nor the hook %q names a point", d.HookID), "write point: NAME, see agentd points"
	}
	for i, p := range points {
		if slices.Contains(points[:i], p) {
			return nil, fmt.Sprintf("the point %q stands twice", p), "name it once"
		}
	}
	return points, "", ""
}

// add makes one binding a point, checks it, and puts it where it belongs.
func (w *build) add(d *interp.Definition, e wanted, at Fault) {
	base := w.binding(d, e)
	w.checkConfig(d, base, at)
	for _, name := range e.points {
		p := w.Points.Point(name)
		if p == nil {
			w.faultAt(at, fmt.Sprintf("there is no point %q", name), "see agentd points")
			continue
		}
		b := *base
		b.Point = name
		w.Terms.keepOut(&b)
		if !w.fits(&b, p, at) {
			continue
		}
		if e.owner == w.Layer {
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

func (w *build) binding(d *interp.Definition, e wanted) *hookpoints.Binding {
	b := &hookpoints.Binding{
		BindingID: e.owner.qualified(e.BindingID), HookID: d.HookID, Version: d.Version, Priority: d.Priority, Layer: e.owner.Layer,
		File: d.File, Line: d.Line, ConfigOrder: e.order,
		Purposes: d.Purposes, Instances: d.Instances, Targets: d.Targets, Kinds: d.Kinds, Clients: d.Clients, Config: d.Default,
		Timeout: d.Timeout, FailurePolicy: d.FailurePolicy, Observation: d.Observation, Guard: d.Guard, Background: d.Background,
		Isolate: d.Isolate, ReplaySafe: !d.NotReplaySafe, Stream: d.Stream, Contract: d.Contract, FactKeys: d.FactKeys, Effects: d.Effects, StateProject: d.StateProject,
		Hook: d.Hook,
	}
	if len(d.Effects) > 0 {
		b.CheckEffect = w.CheckEffect
	}
	b.StateCell = b.BindingID
	if d.StateName != "" {
		b.StateCell = e.owner.qualified(d.StateName)
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
