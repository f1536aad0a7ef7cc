package main

import (
	"bufio"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
)

// ask puts a question to the person at the terminal. What isn't a clear yes is a no.
func (f *follower) ask(q payload.Value) {
	f.note("\n%s\n%s", q.Get("prompt").Text(), indent(q.Get("preview").Text()))
	f.stderr.Write([]byte("[y]es, or [n]o and why: "))
	line, err := bufio.NewReader(f.stdin).ReadString('\n')
	a := api.Answer{Verb: "deny"}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		a.Verb = "allow"
	default:
		a.Reason = rest
		if err != nil {
			a.Reason = "nobody answered"
		}
	}
	if err := f.conn.Answer(f.ctx, q.Get("id").Text(), a); err != nil {
		f.note("agentd: %v", err)
	}
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
