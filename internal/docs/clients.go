package main

import (
	"fmt"
	"strings"

	"agentd/internal/client"
)

// unseen says why the tests don't run a client that is open and starts without a person.
var unseen = map[string]string{
	"crush": "Its tests are constructed: its npm package (`@charmland/crush` 0.96.1) holds an installer only, which downloads the program from its makers'\n" +
		"releases, and its Go module isn't to be had from the module proxy either.",
	"goose": "Its tests are constructed: no package registry that the tests install from has the program.",
}

// besides says what no row of a client's tables does.
var besides = map[string]string{
	"opencode": "OpenCode 1.18.33 has no `batch` tool, only the setting `experimental.batch_tool` that nothing in it reads any more; of a version whose\n" +
		"`batch` runs calls inside of one, which no plugin is asked about, that one call is refused with the reason.",
}

// clients is what agentd knows of other agents' programs: their events, and what they can't be told.
func clients() string {
	var b strings.Builder
	b.WriteString("# Clients' events\n\n" + notice)
	b.WriteString("What [clients](clients.md) send, where it fires, and what they are told instead where they have no words for a decision. *Known by*\n" +
		"says what this rests on: `real client` (the tests run it), `recorded` (what it sends was recorded from the real client),\n" +
		"`schema` (what it is told is checked against its published schema), `constructed` (made from its manual).\n")
	for _, name := range client.Names() {
		c, err := client.For(name)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| event | fires | waits | sends on | known by |\n|---|---|---|---|---|\n", name)
		for _, k := range c.Events() {
			waits, proceeds := "", ""
			if k.Limit > 0 {
				waits = k.Limit.String()
			}
			if k.Point == "turn.after" {
				proceeds = "as often as it is told"
				if k.Proceeds > 0 {
					proceeds = fmt.Sprintf("%d times", k.Proceeds)
				}
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", k.Name, k.Point, waits, proceeds, k.Seen)
		}
		if why := unseen[name]; why != "" {
			b.WriteString("\n" + why + "\n")
		}
		if more := besides[name]; more != "" {
			b.WriteString("\n" + more + "\n")
		}
		rows := c.Downgrades()
		if len(rows) == 0 {
			b.WriteString("\nIt can be told everything.\n")
			continue
		}
		b.WriteString("\n| at | decided | versions | instead | as |\n|---|---|---|---|---|\n")
		for _, r := range rows {
			verb := r.Verb.String()
			if r.Field != "" {
				verb += " of " + r.Field
			}
			if r.Except != "" {
				verb += " (but for " + r.Except + " tools)"
			}
			if r.Dialect != "" {
				verb += " (" + r.Dialect + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Event, verb, r.Versions, r.Instead, r.Why)
		}
	}
	return b.String()
}
