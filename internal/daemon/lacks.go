package daemon

import (
	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/revision"
)

// lacks says for each binding of a layer that names clients what those can't be told.
func lacks(l *revision.Layer) (notes []string) {
	for _, b := range l.Bindings {
		for _, what := range bindingLacks(l, b) {
			notes = append(notes, b.BindingID+": "+what)
		}
	}
	return notes
}

func bindingLacks(l *revision.Layer, b *hookpoints.Binding) []string {
	if len(b.Clients) == 0 {
		return nil
	}
	for _, f := range l.Files {
		if f.Path == revision.HooksDir+b.File || f.Path == b.File {
			return client.Lacks(b.Clients, b.Point, string(f.Text))
		}
	}
	return client.Lacks(b.Clients, b.Point, "")
}

// HookRows are the rows of a generation, each with what its clients can't be told.
func HookRows(g *revision.Generation) []api.HookRow {
	rows := api.Rows(g)
	for i, b := range g.Table.Bindings() {
		for _, l := range g.Layers {
			if l.Layer == b.Layer {
				rows[i].Lacks = append(rows[i].Lacks, bindingLacks(l, b)...)
			}
		}
	}
	return rows
}

// allLack is lacks of all layers of a generation.
func allLack(g *revision.Generation) (notes []string) {
	for _, l := range g.Layers {
		notes = append(notes, lacks(l)...)
	}
	return notes
}
