package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/daemon"
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

// value reads what --value gives to a question. A secret is read from standard input only: others can see
// command lines, and shells keep them.
func (e *env) value(ctx context.Context, conn *daemon.Connection, id, given string) (payload.Value, error) {
	q, err := e.find(ctx, conn, id)
	if err != nil { // the daemon knows why it isn't open
		return payload.NewNull(), nil
	}
	asked, kind := q.v.Get("arguments"), elicit.Kind(q.v.Get("kind").Text())
	secret := asked.Get("sensitive").IsTrue()
	if given != "-" {
		if secret {
			return payload.Value{}, usagef("a secret on the command line can be seen by others and is kept by shells: use agentd answer %s on a terminal, or --value - with the secret on standard input; think about changing the one that you gave", id)
		}
		return valueOf(given, "--value")
	}
	text, err := io.ReadAll(io.LimitReader(e.stdin, elicit.MaxAnswer+2))
	if err != nil {
		return payload.Value{}, fmt.Errorf("the value can't be read: %w", err)
	}
	if kind == elicit.Secret {
		return payload.NewString(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")), nil
	}
	return valueOf(string(text), "what standard input gives")
}

// valueOf reads JSON and never quotes it, as there may be a secret in it.
func valueOf(text, what string) (payload.Value, error) {
	v, err := payload.ParseString(text)
	if err != nil {
		return v, usagef("%s is no JSON; a text needs quotation marks, such as '\"main\"'", what)
	}
	return v, nil
}
