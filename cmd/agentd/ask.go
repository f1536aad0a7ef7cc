package main

import (
	"bufio"
	"strings"
	"sync"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/operation"
)

// person is who sits at the terminal. They are asked while events go on coming, since a question can
// also be answered elsewhere, and the run be cancelled.
type person struct {
	*follower
	reading sync.Once

	mu   sync.Mutex
	open string // the operation that is asked about
	gone bool   // they closed their input
	talk *talk  // the open question, if it asks for more than yes or no
}

// ask puts a question. What isn't a clear yes is a no.
func (p *person) ask(q payload.Value) {
	p.mu.Lock()
	p.open = q.Get("id").Text()
	gone := p.gone
	p.mu.Unlock()
	if q.Get("kind").Text() == operation.Confirm {
		p.note("\n%s\n%s", q.Get("prompt").Text(), indent(q.Get("preview").Text()))
		p.stderr.Write([]byte("[y]es, or [n]o and why: "))
	} else if !gone {
		p.elicits(q)
	}
	if gone {
		p.answer(api.Answer{Verb: "deny", Reason: "nobody answered"})
		return
	}
	// The reader ends with the input or with the process: nothing else can end a read from a terminal.
	p.reading.Do(func() { go p.read() })
}

func (p *person) read() {
	lines := bufio.NewScanner(p.stdin)
	for lines.Scan() {
		p.line(lines.Text())
	}
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	p.answer(api.Answer{Verb: "deny", Reason: "nobody answered"})
}

func understood(line string) api.Answer {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		return api.Answer{Verb: "allow"}
	case "n", "no":
		return api.Answer{Verb: "deny", Reason: strings.TrimSpace(rest)}
	}
	return api.Answer{Verb: "deny", Reason: strings.TrimSpace(line)}
}

// answer answers the open question; what is said when none is open is nobody's answer.
func (p *person) answer(a api.Answer) {
	p.mu.Lock()
	id := p.open
	p.open = ""
	p.reveal()
	p.talk = nil
	p.mu.Unlock()
	if id == "" {
		return
	}
	if _, err := p.conn.Answer(p.ctx, id, a); err != nil && p.ctx.Err() == nil {
		p.note("agentd: %v", err)
	}
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
