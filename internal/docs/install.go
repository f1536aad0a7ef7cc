package main

import (
	"fmt"
	"strings"

	"agentd/internal/config"
	"agentd/internal/install"
)

// installs is the page of what install writes for each client.
func installs() string {
	var out strings.Builder
	out.WriteString("# Installing the hook\n\n" + notice + installText)
	for _, name := range install.Names() {
		c, err := install.For(name)
		if err != nil {
			panic(err) // it is one of the names
		}
		fmt.Fprintf(&out, "\n## %s\n\n`agentd install %s` writes `%s`, with `--user` `%s`.\n", c.Title, c.Name, strings.TrimPrefix(c.Project, "./"), c.User)
		if c.Then != "" {
			fmt.Fprintf(&out, "Then: %s.\n", c.Then)
		}
		if len(c.Needs.Argv) > 0 {
			fmt.Fprintf(&out, "It needs a version %s: %s.\n", c.Needs.Versions, c.Needs.Why)
		}
		if c.Plugin != "" {
			out.WriteString("That is a plugin: the client starts no commands. It asks over the daemon's socket, and starts `agentd-hook` where no daemon answers.\n")
		}
		out.WriteString("\n| event | point | timeout | without an answer |\n|---|---|---|---|\n")
		for _, r := range c.Registrations(config.Clients{}) {
			without := "it passes"
			if r.Closed {
				without = "it is refused"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", r.Event, r.Point, r.Timeout, without)
		}
		for _, event := range c.Skipped() {
			fmt.Fprintf(&out, "\nNot registered: `%s`, as %s.\n", event, c.Skip[event])
		}
	}
	return out.String()
}

const installText = `    agentd install CLIENT [--user] [--dry-run]
    agentd doctor CLIENT
    agentd uninstall CLIENT [--user] [--dry-run]

` + "`install`" + ` puts one handler an event into the client's configuration, after those that are there: of this project, or with
` + "`--user`" + ` of all your projects. What else stands in the file stays as it is, comments, order and blanks too; what
can't be read (also: not by the client, as Claude Code, Codex CLI and Continue CLI take no comments), or only be read, is refused, and then nothing is changed. The file as it was is kept in the state folder under
` + "`backup/`" + `. Doing it again changes nothing. ` + "`uninstall`" + ` takes out what ` + "`install`" + ` put in, and
nothing else; a file that nobody changed meanwhile is again what it was, to the byte.

The handler starts ` + "`agentd-hook`" + `, a small program that ` + "`install`" + ` writes into the state folder (beside it ` + "`agentd-hook.argv`" + `,
which says what it becomes where no daemon answers). It hands the event to the daemon and prints the answer; without a
daemon it becomes ` + "`agentd hook CLIENT`" + `. The daemon has 80 % of the client's timeout to answer. Where nobody has answered
after 90 %, or neither a daemon nor agentd is there, events at which something would happen or be shown unseen are
refused: exit code 2 and the reason on standard error, the one refusal that clients have in common, wherever they take
one. The others pass. Which are which ` + "`clients`" + ` in ` + "`agentd.yaml`" + ` can change, see [clients](clients.md); then install again.

The command line holds the path of this machine's state folder and nothing that changes when agentd does, so clients that
ask about new commands ask once.

` + "`doctor CLIENT`" + ` looks whether the handlers are there, as they should be and for all that happens (no matcher, no condition, nothing in the background), whether what they start is what was installed,
whether a switch or missing trust turns hooks off in one of the files that the client reads, whether the client itself is new enough, whether any hook serves,
when events arrived last (by point, where several events have one) and how long the answers took, and what the client can't be told. Then it starts what is registered, as the client would,
with a call that agentd always refuses, and looks whether it is refused. It exits with 1 if it found an error.

What it can't see is whether the client starts the handlers at all: that shows when events arrive.
`
