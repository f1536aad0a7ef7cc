package daemon

import (
	"fmt"

	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/internal/config"
	"agentd/internal/install"
	"agentd/revision"
)

// hearers are the clients that hooks are held against, beside those that they name: those that the hook is installed
// for.
func hearers(p config.Places) []string { return install.Installed(p.StateDir, p.UserState) }

// installedFor are the clients that the hook is installed for, with the scope.
func installedFor(p config.Places) map[string]string {
	out := map[string]string{}
	if p.Project != "" {
		for _, name := range install.Installed(p.StateDir) {
			out[name] = "project"
		}
	}
	for _, name := range install.Installed(p.UserState) {
		if out[name] == "" {
			out[name] = "user"
		} else {
			out[name] = "both"
		}
	}
	return out
}

// lacks says for each binding of a layer what its clients can't be told: those that it names, else the installed ones.
func lacks(l *revision.Layer, installed []string) (notes []string) {
	for _, b := range l.Bindings {
		for _, what := range bindingLacks(l, b, installed) {
			notes = append(notes, b.BindingID+": "+what)
		}
	}
	return notes
}

func bindingLacks(l *revision.Layer, b *hookpoints.Binding, installed []string) (out []string) {
	source := ""
	for _, f := range l.Files {
		if f.Path == revision.HooksDir+b.File || f.Path == b.File {
			source = string(f.Text)
			break
		}
	}
	if len(b.Clients) > 0 {
		return client.Lacks(b.Clients, b.Point, source)
	}
	for _, name := range installed {
		if b.Guard && !client.Fires(name, b.Point) {
			out = append(out, fmt.Sprintf("%s has no event that fires %s, so this guard doesn't hold there", name, b.Point))
		}
		out = append(out, client.Unsaid(name, b.Point, source)...)
	}
	return out
}

// HookRows are the rows of a generation, each with what its clients can't be told.
func HookRows(p config.Places, g *revision.Generation) []api.HookRow {
	rows, installed := api.Rows(g), hearers(p)
	for i, b := range g.Table.Bindings() {
		for _, l := range g.Layers {
			if l.Layer == b.Layer {
				rows[i].Lacks = append(rows[i].Lacks, bindingLacks(l, b, installed)...)
			}
		}
	}
	return rows
}

// allLack is lacks of all layers of a generation.
func allLack(p config.Places, g *revision.Generation) (notes []string) {
	installed := hearers(p)
	for _, l := range g.Layers {
		notes = append(notes, lacks(l, installed)...)
	}
	return notes
}
