package hookpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// permitted checks all decisions of a hook before any is applied: a list holds or falls as one, but
// of an untrusted hook what is allowed stays.
func (r *running) permitted(b *Binding, ds []Decision) ([]Decision, error) {
	allowed := r.chain.point.Allows | everywhere
	switch {
	case b.Untrusted:
		allowed &= byUntrusted
	case b.Guard:
		allowed &= byGuards
	case b.Observation || r.chain.point.Observation:
		allowed &= byObservers
	}
	if b.Background {
		allowed = SetOf(None)
	}
	var refused error
	for _, d := range ds {
		if allowed.Has(d.Verb) {
			continue
		}
		refused = fmt.Errorf("%w: %s can't be decided at %s by %s", ErrNotPermitted, d.Verb, r.chain.point.Name, b.what())
		if !b.Untrusted {
			return nil, refused
		}
		ds = slices.DeleteFunc(slices.Clone(ds), func(d Decision) bool { return !allowed.Has(d.Verb) })
		break
	}
	if err := asOne(ds); err != nil {
		return nil, err
	}
	return ds, refused
}

func (b *Binding) what() string {
	switch {
	case b.Untrusted:
		return "an untrusted hook"
	case b.Guard:
		return "a guard"
	case b.Background:
		return "a background hook"
	case b.Observation:
		return "an observation hook"
	}
	return "a hook"
}

// asOne checks what must hold of a list as a whole.
func asOne(ds []Decision) error {
	if len(ds) < 2 {
		return nil
	}
	var end Verb
	var fields []string
	for _, d := range ds {
		if onlyOne.Has(d.Verb) {
			if end != None {
				return fmt.Errorf("%w: %s and %s in one list", ErrHookFailed, end, d.Verb)
			}
			end = d.Verb
		}
		if d.Verb != Patch && d.Verb != Edit {
			continue
		}
		for _, f := range d.Fields {
			if slices.Contains(fields, f.Name) {
				return fmt.Errorf("%w: field %q is patched twice in one list", ErrHookFailed, f.Name)
			}
			fields = append(fields, f.Name)
		}
	}
	return nil
}

// apply applies a list in order. Nothing of it stays if one of it fails.
func (r *running) apply(ctx context.Context, b *Binding, ds []Decision, rec *Record) error {
	before, cells := r.Result, r.cells
	for _, d := range ds {
		if err := r.applyOne(ctx, b, d, rec); err != nil {
			r.Result, r.cells, r.ended = before, cells, ""
			rec.Annotations, rec.Overrode, rec.Reason = payload.Value{}, nil, ""
			return err
		}
	}
	return nil
}

func (r *running) applyOne(ctx context.Context, b *Binding, d Decision, rec *Record) error {
	if rec.Decision != "" {
		rec.Decision += "+"
	}
	rec.Decision += d.Verb.String()
	switch d.Verb {
	case Patch, Edit:
		if err := r.patch(ctx, b, d, rec); err != nil {
			return err
		}
	case Annotate:
		merged := rec.Annotations
		if !merged.Exists() {
			merged = emptyObject
		}
		rec.Annotations = merged.With(d.Fields...)
	case Context:
		r.Texts = append(slices.Clip(r.Texts), Text{b.BindingID, Cut(d.Text, MaxText), d.Flag})
		return nil
	case Remember:
		return r.remember(b, d)
	case Effect:
		return r.request(b, d)
	case Stop:
		if d.Flag && r.chain.point.Name != "turn.after" { // nowhere else is there a whole turn to drop
			return fmt.Errorf("%w: stop with clear at %s, only turn.after has it", ErrNotPermitted, r.chain.point.Name)
		}
	case Respond:
		if r.q.Answer != nil {
			if err := r.q.Answer(d.Value); err != nil {
				return fmt.Errorf("%w: respond: %w", ErrHookFailed, err)
			}
		}
	}
	if d.Verb == Halt {
		r.ended, r.Halted = b.BindingID, b.BindingID
	}
	if d.Verb == Proceed {
		d.Text = Cut(d.Text, MaxText)
	}
	if out, ends := outcomeOf[d.Verb]; ends {
		r.Outcome, r.By, r.Decision, r.ended = out, b.BindingID, d, b.BindingID
		rec.Reason = d.Text
	}
	return nil
}

func (r *running) patch(ctx context.Context, b *Binding, d Decision, rec *Record) error {
	size := 0
	for _, f := range d.Fields {
		if !r.chain.point.CanWrite(f.Name) {
			return fmt.Errorf("%w: field %q of %s can't be written%s", ErrNotPermitted, f.Name, r.chain.point.Name, r.chain.point.writableNote())
		}
		if !f.Value.IsSource() { // what the host handed in isn't the hook's growth
			size += f.Value.Size()
		}
		rec.Fields = append(rec.Fields, f.Name)
	}
	if size > MaxPatch {
		return fmt.Errorf("%w: a patch of %d bytes, at most %d are allowed", ErrHookFailed, size, MaxPatch)
	}
	next := r.Payload.With(d.Fields...)
	if total := next.Size(); total > MaxPayload {
		return fmt.Errorf("%w: the patched payload has %d bytes, at most %d are allowed", ErrHookFailed, total, MaxPayload)
	}
	if err := r.chain.point.Contract.CheckPatch(next, d.Fields); err != nil {
		return fmt.Errorf("%w: patch: %w", ErrHookFailed, err)
	}
	if r.q.Validate != nil {
		valid, err := r.q.Validate(ctx, next)
		if err != nil {
			return fmt.Errorf("%w: patch: %w", ErrHookFailed, err)
		}
		next = valid
	}
	for _, f := range d.Fields {
		if by, ok := r.wrote[f.Name]; ok && by != b.BindingID && !slices.Contains(rec.Overrode, by) {
			rec.Overrode = append(rec.Overrode, by)
		}
		if r.wrote == nil {
			r.wrote = map[string]string{}
		}
		r.wrote[f.Name] = b.BindingID
	}
	r.Payload = next
	return nil
}

func (p *Point) writableNote() string {
	if len(p.Writable) == 0 {
		return ", as nothing of it can"
	}
	return ", only " + strings.Join(p.Writable, ", ")
}

// watched are the effects that a point may have which only watches.
var watched = []string{"log", "notify"}

func (r *running) request(b *Binding, d Decision) error {
	p := r.chain.point
	switch {
	case !slices.Contains(b.Grants, d.Name) && slices.Contains(b.Effects, d.Name):
		return fmt.Errorf("%w: effect %q isn't granted to %s; see grants in agentd.yaml", ErrNotPermitted, d.Name, b.BindingID)
	case !slices.Contains(b.Grants, d.Name):
		return fmt.Errorf("%w: effect %q isn't among the effects that the hook %s declares", ErrNotPermitted, d.Name, b.HookID)
	case d.Flag && p.Name != "tool.before":
		return fmt.Errorf("%w: effect %q with when = \"before\" at %s, only tool.before has it", ErrNotPermitted, d.Name, p.Name)
	case p.Observation && !slices.Contains(watched, d.Name):
		return fmt.Errorf("%w: effect %q at %s, which has only %s", ErrNotPermitted, d.Name, p.Name, strings.Join(watched, " and "))
	case len(r.Effects) == MaxEffects:
		return fmt.Errorf("%w: more than %d effects in one chain", ErrHookFailed, MaxEffects)
	}
	arguments := payload.NewObject(d.Fields...)
	if b.CheckEffect != nil {
		if err := b.CheckEffect(d.Name, arguments); err != nil {
			return fmt.Errorf("%w: %w", ErrHookFailed, err)
		}
	}
	n := 0
	for _, e := range r.Effects {
		if e.BindingID == b.BindingID {
			n++
		}
	}
	r.Effects = append(slices.Clip(r.Effects), EffectRequest{b.BindingID, p.Name, n, d.Name, d.Flag, arguments})
	return nil
}
