package agentd

import (
	"context"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/elicit"
	"agentd/internal/secret"
	"agentd/operation"
)

// Question is what a person is asked for: a text, a choice, several, a secret, yes or no, a form, or
// what fits a schema. [ParseQuestion] reads one.
type Question = elicit.Question

// ParseQuestion reads a question from JSON, as the tool ask takes it.
func ParseQuestion(v payload.Value) (Question, error) { return elicit.Parse(v) }

// Reply is what came of a question.
type Reply struct {
	// Answer fits the question; a secret in it is a handle. Absent if it was declined.
	Answer payload.Value
	// Declined: a person or a hook said no, nobody can be asked, or nobody answered in time.
	Declined bool
	Reason   string // of a declined one
	By       string // who answered or declined: a person, or a binding
}

// Elicit asks a person, after the hooks at the point elicit, which may answer or decline. The question
// is an operation of its own, a part of the one that asks, whose id it begins with; asked again with
// the same head it recalls the answer. While a person has to decide the error is operation.ErrWaiting:
// take the session up again when they have. An answer whose secret is lost, as the process that kept
// it is gone, is asked for again.
func (r *Runtime) Elicit(ctx context.Context, s *operation.Session, asks operation.Head, q Question) (Reply, error) {
	if err := q.Check(); err != nil {
		return Reply{}, err
	}
	if q.Sensitive() && r.vault == nil {
		return Reply{}, ErrNoVault
	}
	for n := 1; ; n++ {
		a, err := r.question(partOf(asks, n), q)
		if err != nil {
			return Reply{}, err
		}
		done, err := s.Do(ctx, a)
		if err != nil {
			return Reply{}, err
		}
		if done.State != operation.Responded {
			return Reply{Declined: true, Reason: done.Reason, By: done.By}, nil
		}
		if _, again := s.Saved(partOf(asks, n+1).ID); !again && (s.Replaying() || a.Answer(done.Raw) == nil) {
			return Reply{Answer: done.Raw, By: done.By}, nil
		}
	}
}

// partOf is the head of the n-th time that a question is put.
func partOf(asks operation.Head, n int) operation.Head {
	h := asks
	h.ID, h.Parent, h.Kind, h.Composite = fmt.Sprintf("%s/e%d", asks.ID, n), asks.ID, "elicit", false
	return h
}

// question is a question as an operation: its result is the answer.
func (r *Runtime) question(h operation.Head, q Question) (operation.Action, error) {
	h.Began = r.clock.Now()
	scope, err := partScope(h)
	a := questionShape(q)
	a.Head, a.Input, a.Around = h, q.Payload(), &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}
	a.Answer = func(v payload.Value) error { return r.CheckAnswer(h.SessionID, q, v) }
	return a, err
}

func questionShape(q Question) operation.Action {
	return operation.Action{Points: operation.Points{Before: "elicit"}, Elicits: string(q.Kind)}
}

// QuestionShape is a recorded question as an action, with what decides about it: for replay, where
// what has the form of a handle counts as one that opens.
func QuestionShape(input payload.Value) (operation.Action, error) {
	q, err := elicit.Parse(input)
	a := questionShape(q)
	a.Answer = func(v payload.Value) error { return q.CheckSealed(v, secret.IsHandle) }
	return a, err
}

// partScope is the scope of a part of an operation.
func partScope(h operation.Head) (hookpoints.Scope, error) {
	instance := h.Instance
	if instance == "" {
		instance = hookpoints.Main
	}
	var fields []payload.Field
	for _, f := range [][2]string{{"run_id", h.RunID}, {"session_id", h.SessionID}, {"instance_id", instance}, {"operation_id", h.ID}, {"parent_operation_id", h.Parent},
		{"agent", h.Agent}, {"purpose", "action"}, {"published_revision", h.Revisions.Project}} {
		if f[1] != "" {
			fields = append(fields, payload.Field{Name: f[0], Value: payload.NewString(f[1])})
		}
	}
	scope, err := hookpoints.NewScope(payload.NewObject(fields...))
	if err != nil {
		return scope, fmt.Errorf("operation %.100s: %w", h.ID, err)
	}
	return scope, nil
}
