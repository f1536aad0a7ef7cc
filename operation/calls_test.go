package operation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// call is one action of a case, a line "ID KIND ARGUMENTS [FLAG ...]".
type call struct {
	id, kind string
	args     payload.Value
	flags    []string
}

func parseCalls(t *testing.T, lines string) (out []call) {
	t.Helper()
	for line := range strings.Lines(lines) {
		parts := strings.Fields(line)
		if len(parts) == 0 {
			continue
		}
		if len(parts) < 3 {
			t.Fatalf("%q has %d parts, want ID KIND ARGUMENTS", line, len(parts))
		}
		out = append(out, call{parts[0], parts[1], parse(t, parts[2]), parts[3:]})
	}
	return out
}

func (c call) flag(name string) (value string, ok bool) {
	for _, f := range c.flags {
		if n, v, _ := strings.Cut(f, "="); n == name {
			return v, true
		}
	}
	return "", false
}

var toolSchema = parsed(`{"type":"object"}`)

// action is a call as a tool's operation. Every tool takes an object whose n, if it has one, is a
// number; a call with the flag once=... fails that many times.
func (l *lab) action(c call) operation.Action {
	h := l.head(c.id, "tool")
	h.Tool = c.kind
	kind := c.kind
	if !hookpoints.IsKind(kind) {
		kind = "other"
	}
	around := l.around(h, field("target", text(c.kind)), field("tool_id", text(c.kind)), field("kind", text(kind)), field("call_id", text(c.id)))
	a := operation.Action{
		Head: h, Around: around, Points: operation.Points{Before: "tool.before", Confirm: "tool.confirm", After: "tool.after"},
		Input: object(field("name", text(c.kind)), field("tool_id", text(c.kind)), field("implementation_id", payload.NewNull()),
			field("parameters", toolSchema), field("arguments", c.args)),
		Overlaps: slices.Contains([]string{"read", "search", "fetch"}, c.kind),
		Policy:   "allow",
		Validate: func(_ context.Context, in payload.Value) (payload.Value, error) {
			if n := in.Get("arguments").Get("n"); n.Exists() && n.Kind() != payload.Number {
				return in, errors.New("n is no number")
			}
			return in, nil
		},
		Confirm: func(in, write payload.Value) payload.Value {
			return object(field("name", in.Get("name")), field("tool_id", in.Get("tool_id")), field("kind", text(kind)),
				field("arguments", in.Get("arguments")), field("preview", text(write.Get("content").Text())))
		},
		Do: func(ctx context.Context, in, write payload.Value) (payload.Value, string, error) {
			return l.do(ctx, c, in, write)
		},
		After: func(in, raw payload.Value, status string) payload.Value {
			return object(field("value", raw), field("status", text(status)), field("evidence_arguments", in.Get("arguments")))
		},
		Effective:   func(after payload.Value) payload.Value { return after.Get("value") },
		UnknownText: text("nobody knows"),
	}
	if p, ok := c.flag("policy"); ok {
		a.Policy = p
	}
	_, a.Idempotent = c.flag("idempotent")
	if c.kind == "write" {
		a.Prepare = func(_ context.Context, in payload.Value) (payload.Value, error) {
			args := in.Get("arguments")
			if args.Get("path").Text() == "" {
				return payload.Value{}, errors.New("path is empty")
			}
			kind, base := "create", payload.NewNull()
			if was, there := l.files[args.Get("path").Text()]; there {
				kind, base = "save", text(was)
			}
			return object(field("path", args.Get("path")), field("kind", text(kind)), field("content", args.Get("content")), field("base_hash", base)), nil
		}
	}
	return a
}

// do notes itself as the witness, then does what the flags of the call say.
func (l *lab) do(ctx context.Context, c call, in, write payload.Value) (payload.Value, string, error) {
	l.mu.Lock()
	l.tries[c.id]++
	l.ran = append(l.ran, strings.TrimSpace(c.id+" "+argsText(in.Get("arguments"))))
	if write.Exists() {
		l.files[write.Get("path").Text()] = write.Get("content").Text()
	}
	l.mu.Unlock()
	if _, ok := c.flag("dies"); ok {
		return payload.Value{}, "", errors.New("the process goes down")
	}
	if err := ctx.Err(); err != nil {
		return payload.Value{}, "", err
	}
	if status, ok := c.flag("status"); ok {
		return object(field("error", text(status))), status, nil
	}
	return text("raw " + c.id), operation.Succeeded, nil
}

func argsText(args payload.Value) string {
	if args.Len() == 0 {
		return ""
	}
	return args.String()
}

// batch runs calls as one batch and commits what is left.
func (l *lab) batch(s *operation.Session, calls ...call) ([]operation.Done, error) {
	l.t.Helper()
	var actions []operation.Action
	for _, c := range calls {
		actions = append(actions, l.action(c))
	}
	done, err := s.Batch(l.t.Context(), actions)
	if err != nil {
		return nil, err
	}
	return done, s.Flush(l.t.Context())
}
