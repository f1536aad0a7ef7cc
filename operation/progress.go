package operation

import (
	"context"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Hooks of a host that aren't declared replay-safe may do something, so their progress is saved one by
// one: a row before the hook is called, another one with what it said. A chain that is computed again
// recalls what is there. Of a hook that was started, or that failed, and isn't replay-safe, nobody
// knows how far it got; that is for a person to settle.
type (
	// HookRow is durable before such a hook is called.
	HookRow struct {
		Head     Head
		Original payload.Value // of a before chain: what the operation was given
		N        int           // counts the starts of the operation's hooks
		Call     HookCall
	}
	// HookedRow is what the hook of the HookRow with the number Of said, or what a person says about
	// it, who is Who then. The last one counts.
	HookedRow struct {
		Op        string
		N         int
		Of        int
		Decisions []hookpoints.Decision
		Fuel      int64
		Bytes     int64
		Error     string // the word of a failure
		Again     bool   // it may be called again
		Who       string
		Reason    string
	}
)

// HookCall is one call of a hook among those of its operation.
type HookCall struct {
	Point, BindingID string
	Part             hookpoints.Part
	Attempt          int    // of which outcome, or which of a part's chains
	Pass             int    // how often it ran before in this chain: guards look again
	Input            string // the digest of the payload that it sees
}

// Key implements Row.
func (r HookRow) Key() Key { return Key{r.Head.ID, StHook, r.N} }

// Key implements Row.
func (r HookedRow) Key() Key { return Key{r.Op, StHooked, r.N} }

// progress implements hookpoints.Progress for one part of one chain.
type progress struct {
	s    *Session
	ctx  context.Context
	h    Head
	q    *chainRun
	past []hookpoints.Record // of the chains of this operation before
}

// call says which call of its hook this is.
func (p *progress) call(c *hookpoints.Call, part hookpoints.Part) HookCall {
	k := HookCall{Point: c.Point.Name, BindingID: c.Binding.BindingID, Part: part, Attempt: p.q.attempt, Input: c.Payload.Digest()}
	for _, r := range p.past {
		if r.Ran && r.BindingID == k.BindingID && r.Point == k.Point && r.Part == part {
			k.Pass++
		}
	}
	return k
}

// Begin implements hookpoints.Progress.
func (p *progress) Begin(c *hookpoints.Call, part hookpoints.Part) (*hookpoints.Said, error) {
	if _, rehearses := p.s.runner.Journal.(*notes); rehearses { // it would do it again
		return nil, fmt.Errorf("%s at %s isn't replay-safe, so it can't be computed again", c.Binding.BindingID, c.Point.Name)
	}
	rows, err := p.s.runner.Journal.Rows(context.WithoutCancel(p.ctx), p.h.ID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	call, hooks := p.call(c, part), hooksOf(rows)
	last := hooks.find(call)
	if last != nil && !last.again() {
		if last.row.Head.Revisions != p.h.Revisions {
			return nil, fmt.Errorf("%w: %s at %s of operation %s ran under other revisions; go on with those", ErrRecovery, call.BindingID, call.Point, p.h.ID)
		}
		if last.settled() && last.row.Call.Input != call.Input {
			return nil, fmt.Errorf("%w: %s at %s of operation %s ran on another payload than it would see now", ErrRecovery, call.BindingID, call.Point, p.h.ID)
		}
		return last.recall(c)
	}
	row := HookRow{Head: p.h, Original: p.q.original, N: len(hooks.started), Call: call}
	if err := p.commit(row); err != nil {
		return nil, err
	}
	p.s.at("hook." + p.h.Kind)
	return nil, nil
}

// End implements hookpoints.Progress.
func (p *progress) End(c *hookpoints.Call, part hookpoints.Part, said hookpoints.Said) error {
	rows, err := p.s.runner.Journal.Rows(context.WithoutCancel(p.ctx), p.h.ID)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	hooks := hooksOf(rows)
	last := hooks.find(p.call(c, part))
	row := HookedRow{Op: p.h.ID, N: hooks.ended, Of: last.row.N, Decisions: said.Decisions, Fuel: said.Usage.Fuel, Bytes: said.Usage.Bytes}
	if said.Err != nil {
		row.Decisions, row.Error = nil, hookpoints.Word(said.Err)
	}
	if err := p.commit(row); err != nil {
		return err
	}
	p.s.at("hooked." + p.h.Kind)
	return nil
}

// commit makes a row durable by itself. What is pending, and the cells, wait for the row of the chain:
// a crash in between computes it again, and recalls this.
func (p *progress) commit(r Row) error {
	if err := p.s.runner.Journal.Commit(context.WithoutCancel(p.ctx), Commit{Rows: []Row{r}}); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
}

// startedHook is a call of a hook, and what is known of it.
type startedHook struct {
	row  HookRow
	said *HookedRow
}

// hooks are the calls of an operation's hooks.
type hooks struct {
	started []*startedHook
	ended   int // rows that say how a call came out
}

func hooksOf(rows []Row) (h hooks) {
	for _, r := range rows {
		switch r := r.(type) {
		case HookRow:
			h.started = append(h.started, &startedHook{row: r})
		case HookedRow:
			h.ended++
			if r.Of >= 0 && r.Of < len(h.started) {
				h.started[r.Of].said = &r
			}
		}
	}
	return h
}

// find is the last start of a call, whatever it saw.
func (h hooks) find(call HookCall) (last *startedHook) {
	for _, s := range h.started {
		had := s.row.Call
		had.Input = call.Input
		if had == call {
			last = s
		}
	}
	return last
}

func (s *startedHook) again() bool { return s.said != nil && s.said.Again }

// settled reports whether it is known what the hook said.
func (s *startedHook) settled() bool {
	return s.said != nil && (s.said.Error == "" || s.said.Who != "")
}

// recall is what the hook said. Where a failure changes nothing, a half-done hook has failed.
func (s *startedHook) recall(c *hookpoints.Call) (*hookpoints.Said, error) {
	switch {
	case s.said != nil && s.settled(), s.said != nil && c.Point.Ignores(c.Binding):
		said := &hookpoints.Said{Decisions: s.said.Decisions, Usage: hookpoints.Usage{Fuel: s.said.Fuel, Bytes: s.said.Bytes}}
		if s.said.Error != "" {
			said.Err = hookpoints.Known(s.said.Error)
		}
		return said, nil
	case c.Point.Ignores(c.Binding):
		return &hookpoints.Said{Err: hookpoints.ErrHookFailed}, nil
	}
	return nil, fmt.Errorf("%w: %s; look what it did, then say so with agentd ops reconcile %s", ErrRecovery, s.problem(), s.row.Head.ID)
}

// HalfDone says which hook of an operation a person has to settle, "" if none.
func HalfDone(rows []Row) string {
	last := hooksOf(rows).unsettled()
	if last == nil {
		return ""
	}
	return last.problem()
}

func (s *startedHook) problem() string {
	what := "was started and its decision was never recorded"
	if s.said != nil {
		what = "failed (" + s.said.Error + ")"
	}
	return fmt.Sprintf("%s at %s of operation %s %s, and it isn't replay-safe", s.row.Call.BindingID, s.row.Call.Point, s.row.Head.ID, what)
}
