package agent

import (
	"context"
	"errors"

	"agentd/operation"
)

// Settle closes what a run left open that nobody takes up now: results that no after chain has seen get
// theirs, and effects that were asked for are done. The session was opened with Session.Settle.
func (a *Agent) Settle(ctx context.Context, s *operation.Session, t Task) error {
	r, err := a.open(ctx, s, t, a.o.Runtime.Generation)
	if err != nil {
		return err
	}
	defer r.tools.Close()
	if _, err := s.Do(ctx, r.action()); err != nil && !errors.Is(err, operation.ErrNotSaved) && !errors.Is(err, errSteps) && !errors.Is(err, errRejected) && !errors.Is(err, errModel) {
		return err
	}
	return s.Flush(ctx)
}
