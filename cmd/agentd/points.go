package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// pointRow is a point as --json prints it.
type pointRow struct {
	Name      string        `json:"name"`
	Set       string        `json:"set"`
	Phase     string        `json:"phase"`
	Fires     string        `json:"fires"`
	Writable  []string      `json:"writable"`
	Decisions []string      `json:"decisions"`
	Observed  bool          `json:"observation_only"`
	Schema    payload.Value `json:"schema"`
	Example   payload.Value `json:"example"`
}

func pointsVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "points [NAME]", Short: "Show the catalogue, with an example each", Args: cobra.MaximumNArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		rows := []pointRow{}
		for _, p := range hookpoints.Standard().All() {
			if len(args) == 0 || args[0] == p.Name {
				rows = append(rows, asPointRow(p))
			}
		}
		if len(rows) == 0 {
			return fmt.Errorf("there is no point %q; see agentd points", args[0])
		}
		switch {
		case e.json:
			return e.print(rows)
		case len(args) == 0:
			for _, r := range rows {
				e.say("%-24s %-8s %s", r.Name, r.Phase, strings.Join(r.Decisions, ", "))
			}
			return nil
		}
		r := rows[0]
		e.say("%s  (%s, %s)\n%s\n\nwritable:  %s\ndecisions: %s\n\nexample:\n%s\n\nschema:\n%s", r.Name, r.Phase, r.Set, r.Fires,
			orNone(r.Writable), orNone(r.Decisions), r.Example, r.Schema)
		return nil
	}}
}

func asPointRow(p *hookpoints.Point) pointRow {
	writable := p.Writable
	if writable == nil {
		writable = []string{}
	}
	all := p.Allows | hookpoints.SetOf(hookpoints.Annotate, hookpoints.Remember)
	return pointRow{p.Name, p.Set, string(p.Phase), p.Fires, writable, all.Names(), p.Observation, p.Contract.Schema(true), p.Example}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
