package operation

import "context"

// Settle is Resume for a run that nobody takes up. Results that no after chain has seen get theirs, and
// effects that were asked for are done, in the order in which the run would have come to them. Nothing
// new is begun: the first thing of which nothing is saved gives ErrNotSaved, and so does a run that ends.
func (s *Session) Settle(ctx context.Context, run string) error {
	s.settles = true
	return s.Resume(ctx, run)
}

// tidy is Batch for that.
func (s *Session) tidy(ctx context.Context, actions []Action) ([]Done, error) {
	out, ops := make([]Done, len(actions)), make([]*open, len(actions))
	var cut error
	for i, a := range actions {
		o := s.take(a)
		ops[i] = o
		switch {
		case o.d.Head.Composite && o.intent && o.stage == toRun: // its parts may be open
			if _, _, err := a.Do(ctx, o.d.Final, o.d.Write); err != nil {
				return nil, err
			}
			cut = ErrNotSaved
		case o.stage == toFinish:
			if err := s.finish(ctx, o); err != nil {
				return nil, err
			}
		case o.stage != closed:
			cut = ErrNotSaved
		}
		out[i] = o.done()
	}
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	if err := s.follow(ctx, ops, out); err != nil {
		return nil, err
	}
	return out, cut
}
