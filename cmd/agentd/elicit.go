package main

import (
	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/elicit"
	"agentd/operation"
)

// talk is a question that asks for more than yes or no, on its way over a terminal.
type talk struct {
	id     string
	dialog *elicit.Dialog
	show   func() error // ends the hiding of what is typed; nil while it is shown
}

// elicits puts such a question.
func (p *person) elicits(q payload.Value) {
	question, err := agentd.ParseQuestion(q.Get("arguments"))
	if err != nil {
		p.note("agentd: question %s can't be shown: %v", q.Get("id").Text(), err)
		return
	}
	t := &talk{id: q.Get("id").Text(), dialog: elicit.NewDialog(question)}
	p.note("\n%s", indent(t.dialog.Intro()))
	p.mu.Lock()
	p.talk = t
	p.mu.Unlock()
	p.next(t)
}

// next shows what is asked now.
func (p *person) next(t *talk) {
	prompt, hidden := t.dialog.Next()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.talk != t { // settled meanwhile
		return
	}
	if hidden {
		show, err := hideInput(p.stdin)
		if err != nil {
			p.note("agentd: %v", err)
			return
		}
		t.show = show
	}
	p.stderr.Write([]byte(prompt))
}

// line takes what was typed, for the question that is open.
func (p *person) line(text string) {
	p.mu.Lock()
	t := p.talk
	p.reveal()
	p.mu.Unlock()
	if t == nil {
		p.answer(understood(text))
		return
	}
	if reason, ok := elicit.Declined(text); ok {
		p.answer(api.Answer{Verb: operation.Deny, Reason: reason})
		return
	}
	done, err := t.dialog.Take(text)
	if err != nil {
		p.note("%s", elicit.Plain(err.Error()))
	}
	if !done {
		p.next(t)
		return
	}
	p.answer(api.Answer{Verb: operation.Respond, Value: t.dialog.Answer()})
}

// over lets a question go that was answered elsewhere.
func (p *person) over(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == id {
		p.open = ""
		p.reveal()
		p.talk = nil
	}
}

// leave leaves the terminal as it was.
func (p *person) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reveal()
	p.talk = nil
}

// reveal shows again what is typed. The lock is held.
func (p *person) reveal() {
	if p.talk == nil || p.talk.show == nil {
		return
	}
	if err := p.talk.show(); err != nil {
		p.note("agentd: the terminal still hides what is typed: %v; see stty echo", err)
	}
	p.talk.show = nil
}
