package tool

import (
	"context"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/internal/secret"
)

// Secrets are the handles that a session can open. Everything that tools are told and everything that
// they say is full of handles only; they are opened where a tool acts.
type Secrets interface {
	// Handles finds the handles in a text, in order, and fails where one can't be opened.
	Handles(text string) ([]secret.Handle, error)
	// Mask puts handles in the place of values.
	Mask(text string) string
}

// Open lets the tools of a set open handles: in the arguments of a call, and in the content of a
// [Write] when it is committed. What they give back is masked. No call may be running.
func (s *Set) Open(secrets Secrets) {
	for i, t := range s.tools {
		e := s.by[t.Spec().Name]
		e.tool = seal(t, secrets)
		s.tools[i], s.by[t.Spec().Name] = e.tool, e
	}
}

func seal(t Tool, secrets Secrets) Tool {
	switch t := t.(type) {
	case Asker: // it acts on nothing
		return t
	case Writer:
		return &sealedWriter{sealed{t, secrets}, t}
	}
	return &sealed{t, secrets}
}

// sealed is a tool that is given values and gives handles.
type sealed struct {
	Tool
	secrets Secrets
}

// spliced is a tool that has its own way to put values into its arguments.
type spliced interface {
	callWith(ctx context.Context, call Invocation, secrets Secrets) Result
}

// Call implements Tool.
func (t *sealed) Call(ctx context.Context, call Invocation) Result {
	if own, ok := t.Tool.(spliced); ok {
		return t.masked(own.callWith(ctx, call, t.secrets))
	}
	args, err := opened(t.secrets, call.Arguments)
	if err != nil {
		return failure(Failed, err)
	}
	return t.masked(t.Tool.Call(ctx, Invocation{Arguments: args, Key: call.Key}))
}

func (t *sealed) masked(r Result) Result {
	r.Value = secret.Map(r.Value, t.secrets.Mask)
	return r
}

type sealedWriter struct {
	sealed
	writer Writer
}

// Prepare implements Writer. The change that it gives is one in handles: a value that the file holds
// already is masked too, and comes back when the change is committed.
func (t *sealedWriter) Prepare(ctx context.Context, arguments payload.Value) (Write, error) {
	args, err := opened(t.secrets, arguments)
	if err != nil {
		return Write{}, err
	}
	w, err := t.writer.Prepare(ctx, args)
	if err != nil {
		return Write{}, &maskedError{t.secrets.Mask(err.Error()), err}
	}
	w.Path, w.Content = t.secrets.Mask(w.Path), t.secrets.Mask(w.Content)
	return w, nil
}

// Commit implements Writer.
func (t *sealedWriter) Commit(ctx context.Context, w Write) Result {
	for _, text := range []*string{&w.Path, &w.Content} {
		value, err := reveal(t.secrets, *text)
		if err != nil {
			return failure(Failed, err)
		}
		*text = value
	}
	return t.masked(t.writer.Commit(ctx, w))
}

// maskedError says what an error says, without values.
type maskedError struct {
	text string
	err  error
}

// Error implements error.
func (e *maskedError) Error() string { return e.text }

// Unwrap is for errors.Is.
func (e *maskedError) Unwrap() error { return e.err }

// opened puts values in the place of all handles of a value.
func opened(secrets Secrets, v payload.Value) (payload.Value, error) {
	var failed error
	out := secret.Map(v, func(text string) string {
		now, err := reveal(secrets, text)
		if err != nil {
			failed = err
			return text
		}
		return now
	})
	return out, failed
}

// reveal puts values in the place of the handles of a text.
func reveal(secrets Secrets, text string) (string, error) {
	found, err := secrets.Handles(text)
	if err != nil || found == nil {
		return text, err
	}
	var b strings.Builder
	at := 0
	for _, h := range found {
		b.WriteString(text[at:h.Start])
		b.WriteString(h.Value)
		at = h.End
	}
	b.WriteString(text[at:])
	return b.String(), nil
}
