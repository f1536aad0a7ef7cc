package facts

import (
	"context"
	"slices"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/store"
)

const (
	maxTrail     = 200
	trailText    = 512     // bytes of one text in the arguments of an action
	trailSize    = 4 << 10 // bytes of all its arguments
	trailNesting = 8       // levels of them
)

// lastActions are the session's last actions before this operation, oldest first: {id, kind, tool,
// arguments, decision, by, reason, state, status, cut}. Arguments are for recognising what was done:
// long texts in them are cut, and cut says so.
func (s *source) lastActions(ctx context.Context, arg string) (payload.Value, error) {
	n, ok := count(arg, maxTrail)
	switch {
	case !ok:
		return payload.Value{}, absent("trail: needs a number from 1 to %d", maxTrail)
	case s.opts.History == nil:
		return payload.Value{}, absent("there is no journal to read")
	case s.head.SessionID == "":
		return payload.Value{}, absent("this belongs to no session")
	}
	rows, err := s.opts.History.Trail(ctx, s.head.SessionID, n+1) // this operation may be among them
	if err != nil {
		return payload.Value{}, err
	}
	if s.uncommitted != nil { // else a rule over sequences is evaded by asking for the whole sequence at once
		late, err := s.uncommitted(ctx)
		if err != nil {
			return payload.Value{}, err
		}
		for _, unsaved := range late {
			p := store.TrailOf(unsaved)
			same := func(r store.TrailRow) bool { return r.Head.ID == p.Head.ID }
			if i := slices.IndexFunc(rows, same); i >= 0 {
				rows[i] = p // it knows more
			} else {
				rows = append(rows, p)
			}
		}
	}
	rows = slices.DeleteFunc(rows, func(r store.TrailRow) bool { return r.Head.ID == s.head.ID })
	rows = rows[max(0, len(rows)-n):]
	list := make([]payload.Value, len(rows))
	for i, r := range rows {
		list[i] = trailValue(r)
	}
	return payload.NewArray(list), nil
}

func trailValue(r store.TrailRow) payload.Value {
	decision := r.Outcome
	if decision == "" {
		decision = hookpoints.Continued
	}
	args, whole := shortened(r.Arguments)
	return payload.NewObject(
		field("id", textOf(r.Head.ID)), field("kind", textOf(r.Head.Kind)), field("tool", textOf(r.Head.Tool)), field("arguments", args),
		field("decision", textOf(string(decision))), field("by", textOf(r.By)), field("reason", textOf(r.Reason)),
		field("state", textOf(string(r.State))), field("status", textOf(r.Status)), field("cut", payload.NewBool(!whole)))
}

// shortened makes arguments small; null stands for none, and for what stays too large.
func shortened(v payload.Value) (out payload.Value, whole bool) {
	if !v.Exists() {
		return payload.NewNull(), true
	}
	if v.Size() <= trailText {
		return v, true
	}
	whole = true
	out = shorten(v, 0, &whole)
	if out.Size() > trailSize {
		return payload.NewNull(), false
	}
	return out, whole
}

func shorten(v payload.Value, depth int, whole *bool) payload.Value {
	if v.Size() <= trailText {
		return v
	}
	switch v.Kind() {
	case payload.String:
		text := v.Text()
		if len(text) <= trailText { // it has many escapes
			return v
		}
		*whole = false
		n := trailText
		for !utf8.RuneStart(text[n]) {
			n--
		}
		return payload.NewString(text[:n])
	case payload.Object:
		if depth == trailNesting {
			break
		}
		var fields []payload.Field
		for name, kid := range v.Members() {
			fields = append(fields, field(name, shorten(kid, depth+1, whole)))
		}
		return payload.NewObject(fields...)
	case payload.Array:
		if depth == trailNesting {
			break
		}
		var items []payload.Value
		for kid := range v.Items() {
			items = append(items, shorten(kid, depth+1, whole))
		}
		return payload.NewArray(items)
	}
	*whole = false
	return payload.NewNull()
}

// usage is {run, session}, each of input_tokens, output_tokens, total_tokens, model_calls and
// tool_calls. Tokens are as the model's server counted them, 0 where it doesn't.
func (s *source) usage(ctx context.Context, _ string) (payload.Value, error) {
	switch {
	case s.opts.History == nil:
		return payload.Value{}, absent("there is no journal to read")
	case s.head.SessionID == "":
		return payload.Value{}, absent("this belongs to no session")
	}
	run, session, err := s.opts.History.Usage(ctx, s.head.SessionID, s.head.RunID)
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewObject(field("run", usageValue(run)), field("session", usageValue(session))), nil
}

func usageValue(u store.Usage) payload.Value {
	return payload.NewObject(field("input_tokens", number(u.Input)), field("output_tokens", number(u.Output)), field("total_tokens", number(u.Total)),
		field("model_calls", number(u.ModelCalls)), field("tool_calls", number(u.ToolCalls)))
}
