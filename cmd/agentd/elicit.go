package main

import (
	"agentd"
	"agentd/internal/api"
	"agentd/internal/elicit"
	"agentd/operation"
)

// talk is a question that asks for more than yes or no, on its way over a terminal.
type talk struct {
	*elicit.Dialog
	show func() error // ends the hiding of what is typed; nil while it is shown
}

// elicits begins such a question.
func (q *question) elicits() error {
	asked, err := agentd.ParseQuestion(q.v.Get("arguments"))
	if err != nil {
		return err
	}
	q.talk = &talk{Dialog: elicit.NewDialog(asked)}
	q.note("\n%s", indent(q.talk.Intro()))
	return nil
}

// next shows what is asked now.
func (q *question) next() {
	prompt, hidden := q.talk.Next()
	if hidden {
		show, err := hideInput(q.stdin)
		if err != nil {
			q.note("agentd: %v", err)
			return
		}
		q.talk.show = show
	}
	q.stderr.Write([]byte(prompt))
}

// take takes a line of the dialog.
func (q *question) take(line string) (a api.Answer, ok bool) {
	if reason, ok := elicit.Declined(line); ok {
		return api.Answer{Verb: operation.Deny, Reason: reason}, true
	}
	done, err := q.talk.Take(line)
	if err != nil {
		q.note("%s", elicit.Plain(err.Error()))
	}
	return api.Answer{Verb: operation.Respond, Value: q.talk.Answer()}, done
}

// reveal shows again what is typed.
func (q *question) reveal() {
	if q.talk == nil || q.talk.show == nil {
		return
	}
	if err := q.talk.show(); err != nil {
		q.note("agentd: the terminal still hides what is typed: %v; see stty echo", err)
	}
	q.talk.show = nil
}
