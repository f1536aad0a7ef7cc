package revision

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// unknownEffect says that there is no such effect; both are "" if there is.
func (b *Builder) unknownEffect(name string) (message, fix string) {
	if b.KnownEffects == nil || slices.Contains(b.KnownEffects, name) {
		return "", ""
	}
	return fmt.Sprintf("there is no effect %q", name), "use one of " + strings.Join(b.KnownEffects, ", ")
}

// checkGrants holds grants and webhooks of agentd.yaml to what there is: a grant with a mistake in it
// would be none, and nobody would know why.
func (w *build) checkGrants() {
	for _, id := range slices.Sorted(maps.Keys(w.Config.Grants)) {
		at := Fault{File: ConfigFile, Line: w.Config.GrantLines[id]}
		for _, name := range w.Config.Grants[id] {
			if message, fix := w.unknownEffect(name); message != "" {
				w.faultAt(at, "grants."+id+": "+message, fix)
			}
		}
		layer, _, qualified := strings.Cut(id, "/")
		which, known := hookpoints.ParseLayer(layer)
		switch {
		case qualified && known && which != w.Layer.Layer && w.Layer.Layer != hookpoints.User:
			w.faultAt(at, fmt.Sprintf("the %s layer can't grant anything to %s", w.Layer.Layer, id), "only the user's agentd.yaml may name other layers")
		case qualified && known && which != w.Layer.Layer: // what is there is known only when it serves
		case !w.has(strings.TrimPrefix(id, w.Layer.Layer.String()+"/")):
			w.faultAt(at, fmt.Sprintf("grants.%s: there is no hook and no binding %q in the %s layer", id, id, w.Layer.Layer), hookChoices(w.Layer))
		}
	}
	for i, entry := range w.Config.Webhooks {
		if w.CheckURL == nil || i >= len(w.Config.WebhookLines) {
			break
		}
		if err := w.CheckURL(entry); err != nil {
			w.fault(Fault{File: ConfigFile, Line: w.Config.WebhookLines[i], Message: "webhooks.allow: " + err.Error(), Fix: "write the beginning of a URL, like https://example.org/hooks/"})
		}
	}
}

// has reports whether an id is that of a hook or of an entry of this layer.
func (w *build) has(id string) bool {
	return w.Definition(id) != nil || slices.ContainsFunc(w.Config.Hooks, func(e Entry) bool { return e.BindingID == id })
}

// grants are those of the layer that a binding belongs to, and those of the user.
type grants struct{ own, user map[string][]string }

// allow reports whether a binding may ask for an effect: its own layer names it by its id or by that of
// its hook, or the user does with the layer before it.
func (g grants) allow(layer hookpoints.Layer, bindingID, hookID, effect string) bool {
	prefix := layer.String() + "/"
	for _, id := range []string{strings.TrimPrefix(bindingID, prefix), hookID} {
		if slices.Contains(g.own[id], effect) || slices.Contains(g.own[prefix+id], effect) || slices.Contains(g.user[prefix+id], effect) {
			return true
		}
	}
	return false
}

// granted is a binding with what layers grant it. A host's own code needs no grant.
func granted(b *hookpoints.Binding, layers []*Layer) *hookpoints.Binding {
	if len(b.Effects) == 0 || b.Untrusted {
		return b
	}
	g := grantsOver(b.Layer, layers)
	with := *b
	with.Grants = nil
	for _, name := range b.Effects {
		if strings.HasPrefix(b.File, interp.GoFile) || g.allow(b.Layer, b.BindingID, b.HookID, name) {
			with.Grants = append(with.Grants, name)
		}
	}
	return &with
}

func grantsOver(which hookpoints.Layer, layers []*Layer) (g grants) {
	for _, l := range layers {
		if l.Layer == which {
			g.own = l.Config.Grants
		}
		if l.Layer == hookpoints.User {
			g.user = l.Config.Grants
		}
	}
	return g
}

// Grants lists what the bindings of a layer's manifest may ask for, as "BINDING_ID: EFFECT", and what
// they declare and may not. below is what serves under the layer.
func Grants(manifest []byte, which hookpoints.Layer, below []*Layer) (granted, missing []string, err error) {
	if len(manifest) == 0 {
		return nil, nil, nil
	}
	m, err := payload.Parse(manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("the manifest: %w", err)
	}
	g := grantsOver(which, below)
	own := map[string][]string{}
	for id, names := range m.Get("grants").Members() {
		own[id] = names.Strings()
	}
	if g.own = own; which == hookpoints.User {
		g.user = own
	}
	for b := range m.Get("bindings").Items() {
		id := b.Get("binding_id").Text()
		layer, _, _ := strings.Cut(id, "/")
		owner, ok := hookpoints.ParseLayer(layer)
		if !ok {
			continue
		}
		mine := g
		if owner != which { // a user's own version of what ships
			mine.own = grantsOver(owner, below).own
		}
		for _, name := range b.Get("effects").Strings() {
			line := id + ": " + name
			if mine.allow(owner, id, b.Get("hook_id").Text(), name) {
				granted = append(granted, line)
			} else {
				missing = append(missing, line)
			}
		}
	}
	slices.Sort(granted)
	slices.Sort(missing)
	return slices.Compact(granted), slices.Compact(missing), nil
}
