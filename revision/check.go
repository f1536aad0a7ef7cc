package revision

import (
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// source is where a hook is defined, for people: a file of the layer, or a host's code.
func source(d *interp.Definition) string {
	if strings.HasPrefix(d.File, interp.GoFile) {
		return d.File
	}
	return HooksDir + d.File
}

// checkDefinition checks what a hook says of itself, whether it is bound or not.
func (w *build) checkDefinition(d *interp.Definition) {
	at := Fault{BindingID: w.qualified(d.HookID), File: source(d), Line: d.Line}
	layer, _, ok := strings.Cut(d.HookID, "/")
	if _, known := hookpoints.ParseLayer(layer); ok && known {
		w.faultAt(at, fmt.Sprintf("the id %q begins like that of a layer", d.HookID), "write the bare id; it is known as "+w.Layer.Layer.String()+"/ID")
	}
	if !idForm.MatchString(d.HookID) {
		w.faultAt(at, fmt.Sprintf("the id %q is no id", d.HookID), "use 1 to 200 of A-Z a-z 0-9 _ . : / - that don't begin with /")
	}
	if d.Contract != hookpoints.ContractVersion {
		w.faultAt(at, fmt.Sprintf("it was written for contract %d, and this agentd has %d", d.Contract, hookpoints.ContractVersion),
			fmt.Sprintf("write contract = %d, or leave it out", hookpoints.ContractVersion))
	}
	for _, name := range d.Effects {
		if message, fix := w.unknownEffect(name); message != "" {
			w.faultAt(at, message, fix)
		}
	}
	if !d.ConfigSchema.Exists() {
		return
	}
	if err := checkNumbers(d.ConfigSchema, "config"); err != nil {
		w.faultAt(at, err.Error(), "write a number that JSON can hold exactly")
	} else if _, err := NewSchema(d.ConfigSchema); err != nil {
		w.faultAt(at, "config is "+oneLine(err), "write a JSON Schema")
	}
}

// checkConfig checks a binding's config, and makes it the canonical one: what has the same id looks the
// same to the hook.
func (w *build) checkConfig(d *interp.Definition, b *hookpoints.Binding, at Fault) {
	if b.Config.Kind() != payload.Object {
		w.faultAt(at, "the config is "+b.Config.Kind().String()+", want an object", "write config: {KEY: VALUE}")
		return
	}
	if n := b.Config.Size(); n > hookpoints.MaxConfig {
		w.faultAt(at, fmt.Sprintf("the config has %d bytes, at most %d are allowed", n, hookpoints.MaxConfig), "make it smaller")
		return
	}
	if err := checkNumbers(b.Config, "config"); err != nil {
		w.faultAt(at, err.Error(), "write such a number as a string")
		return
	}
	if d.ConfigSchema.Exists() {
		schema, err := NewSchema(d.ConfigSchema)
		if err != nil { // a fault of the definition
			return
		}
		if err := schema.Check(b.Config); err != nil {
			fix := fmt.Sprintf("see config in %s:%d", source(d), d.Line)
			if at.File != ConfigFile {
				fix = "give the hook a default that fits, or a config in " + ConfigFile
			}
			w.faultAt(at, fmt.Sprintf("the config doesn't fit the schema of the hook %q: %s", d.HookID, oneLine(err)), fix)
			return
		}
	}
	text, err := Canonical(b.Config)
	if err == nil {
		b.Config, err = payload.Parse(text)
	}
	if err != nil {
		w.faultAt(at, "the config is no JSON: "+err.Error(), "write JSON values")
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

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
	if b.Guard && !p.Guarded() {
		w.faultAt(at, "a guard has nothing to decide at "+p.Name, "bind it at a point that has reject, stop, deny or ask, see agentd points")
	}
	return len(w.Faults) == n
}

// scriptFault is what a script's author is told of a file that doesn't load.
func (l *Layer) scriptFault(file string, err error) Fault {
	f := Fault{File: file, Line: 1, Message: oneLine(err), Fix: "correct it; nothing of the layer serves before it loads"}
	var script *interp.Error
	if !errors.As(err, &script) {
		return f
	}
	f.File, f.Message, f.Trace = HooksDir+script.File, script.Message, script.Backtrace
	if script.Line > 0 {
		f.Line = script.Line
	}
	if idForm.MatchString(script.HookID) {
		f.BindingID = l.qualified(script.HookID)
	}
	switch {
	case errors.Is(err, hookpoints.ErrBudget), errors.Is(err, hookpoints.ErrHostTimeout):
		f.Fix = "do less at the top of the file"
	case script.Line > 0:
		f.Fix = fmt.Sprintf("correct %s:%d; nothing of the layer serves before it loads", f.File, f.Line)
	}
	return f
}
