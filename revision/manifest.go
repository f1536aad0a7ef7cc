package revision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// format numbers the manifest's own shape.
const format = 1

func str(s string) payload.Value           { return payload.NewString(s) }
func num[T int | int64](n T) payload.Value { return payload.NewInt(int64(n)) }
func member(name string, v payload.Value) payload.Field {
	return payload.Field{Name: name, Value: v}
}

// list is an array, or null where the script said nothing.
func list(items []string) payload.Value {
	if items == nil {
		return payload.NewNull()
	}
	return payload.NewStrings(items)
}

// manifest writes down everything that decides how the layer behaves. What only moves a file to
// another folder or machine isn't in it.
func (w *build) manifest() ([]byte, error) {
	var engines, scripts []payload.Value
	seen := map[interp.Identity]bool{}
	for _, f := range w.Files {
		e := w.Engines.Of(f.Path)
		if e == nil || !strings.HasPrefix(f.Path, HooksDir) {
			continue
		}
		id := w.Engine.identity(e.Identity())
		if !seen[id] {
			seen[id] = true
			engines = append(engines, payload.NewObject(member("language", str(id.Language)), member("interpreter", str(id.Interpreter)), member("dialect", str(id.Dialect))))
		}
		scripts = append(scripts, payload.NewObject(member("path", str(f.Path)), member("language", str(id.Language)),
			member("sha256", str(hash(f.Text)))))
	}
	var bindings []payload.Value
	for i, b := range slices.Concat(w.Bindings, w.Replaces) {
		bindings = append(bindings, w.entry(b, i))
	}
	agents := []payload.Field{}
	for _, name := range slices.Sorted(maps.Keys(w.Config.Agents)) {
		v, err := payload.From(w.Config.Agents[name])
		if err != nil {
			return nil, err
		}
		agents = append(agents, member(name, v))
	}
	grants := []payload.Field{}
	for _, name := range slices.Sorted(maps.Keys(w.Config.Grants)) {
		grants = append(grants, member(name, payload.NewStrings(w.Config.Grants[name])))
	}
	rare := w.Terms.members() // what most layers don't have: without it they keep the id that they had before there was such a thing
	if len(w.Config.Webhooks) > 0 {
		rare = append(rare, member("webhooks", payload.NewStrings(w.Config.Webhooks)))
	}
	return Canonical(payload.NewObject(append(rare,
		member("module_id", str("hooks/v1")),
		member("format", num(format)),
		member("layer", str(w.Layer.Layer.String())),
		member("point_contract_version", num(hookpoints.ContractVersion)),
		member("total_timeout", seconds(hookpoints.ChainTimeout.Seconds())),
		member("limits", payload.NewObject(
			member("fuel", num(w.Limits.Fuel)), member("bytes", num(w.Limits.Bytes)),
			member("payload", num(hookpoints.MaxPayload)), member("patch", num(hookpoints.MaxPatch)), member("text", num(hookpoints.MaxText)),
			member("result_depth", num(hookpoints.MaxResultDepth)), member("source", num(interp.MaxSource)), member("nesting", num(interp.MaxNesting)))),
		member("schedule", num(cmp.Or(w.Engine.Schedule, meter.Schedule))),
		member("builtins", num(cmp.Or(w.Engine.Builtins, builtins.Version))),
		member("engines", payload.NewArray(engines)),
		member("scripts", payload.NewArray(scripts)),
		member("bindings", payload.NewArray(bindings)),
		member("disabled", payload.NewStrings(slices.Sorted(slices.Values(w.Disables)))),
		member("agents", payload.NewObject(agents...)),
		member("facts", payload.NewStrings(w.Config.Facts)),
		member("grants", payload.NewObject(grants...)))...))
}

// entry is one binding as the manifest names it: the seventeen keys of the base form, then ours.
func (w *build) entry(b *hookpoints.Binding, order int) payload.Value {
	p := w.Points.Point(b.Point)
	d, from := w.definition(b)
	schema := d.ConfigSchema
	if !schema.Exists() {
		schema = payload.NewObject(member("type", str("object")))
	}
	state := "session"
	if b.StateProject {
		state = "project"
	}
	return payload.NewObject(
		member("binding_id", str(b.BindingID)), member("hook_id", str(b.HookID)), member("point", str(b.Point)), member("version", str(b.Version)),
		member("priority", num(b.Priority)), member("timeout", seconds(b.Timeout.Seconds())), member("failure_policy", str(b.FailurePolicy)),
		member("config", b.Config), member("purposes", list(b.Purposes)), member("instances", list(b.Instances)), member("targets", payload.NewStrings(b.Targets)),
		member("config_schema", schema), member("code_hash", str(codeHash(from, d))), member("replay_safe", payload.NewBool(b.ReplaySafe)),
		member("observation", payload.NewBool(b.Observation)),
		member("point_contract", PointContract(p)), member("order", num(order)),
		member("kinds", list(b.Kinds)), member("clients", list(b.Clients)), member("guard", payload.NewBool(b.Guard)),
		member("background", payload.NewBool(b.Background)), member("isolate", payload.NewBool(b.Isolate)), member("stream", str(b.Stream)),
		member("contract", num(b.Contract)), member("facts", list(b.FactKeys)), member("effects", list(d.Effects)),
		member("state", payload.NewObject(member("cell", str(b.StateCell)), member("scope", str(state)))))
}

// hash is the SHA-256 of a text in hexadecimal.
func hash(text []byte) string { return strings.TrimPrefix(interp.Source{Text: text}.Hash(), "sha256:") }

// PointContract is a point as a manifest pins it.
func PointContract(p *hookpoints.Point) payload.Value {
	return payload.NewObject(
		member("name", str(p.Name)), member("phase", str(string(p.Phase))), member("set", str(p.Set)),
		member("writable_fields", payload.NewStrings(p.Writable)), member("allow_reject", payload.NewBool(p.Reject)),
		member("observation_only", payload.NewBool(p.Observation)), member("schema", p.Contract.Schema(true)),
		member("decisions", payload.NewStrings((p.Allows|hookpoints.SetOf(hookpoints.None, hookpoints.Annotate, hookpoints.Remember)).Names())))
}

// definition finds what a binding uses, in this layer or below, and whose it is.
func (w *build) definition(b *hookpoints.Binding) (*interp.Definition, *Layer) {
	for _, l := range append([]*Layer{w.Layer}, w.below...) {
		if d := l.Definition(b.HookID); d != nil && d.Hook == b.Hook {
			return d, l
		}
	}
	return &interp.Definition{}, w.Layer
}

// codeHash covers a hook's file and every module that it loads, which are of one layer.
func codeHash(l *Layer, d *interp.Definition) string {
	texts := map[string]string{}
	for _, f := range l.Files {
		texts[strings.TrimPrefix(f.Path, HooksDir)] = interp.Source{Text: f.Text}.Hash()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", d.File, texts[d.File])
	for _, m := range slices.Sorted(slices.Values(d.Modules)) {
		fmt.Fprintf(&b, "%s %s\n", m, texts[m])
	}
	return interp.Source{Text: []byte(b.String())}.Hash()
}

// seconds writes a time as a number without a needless fraction.
func seconds(s float64) payload.Value {
	v, err := payload.From(s)
	if err != nil {
		return payload.NewNull()
	}
	return v
}
