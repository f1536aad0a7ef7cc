package store

import (
	"context"

	"agentd/operation"
)

var _ operation.ForeignFinder = (*Reader)(nil)

// OpenForeign implements operation.ForeignFinder.
func (r *Reader) OpenForeign(ctx context.Context, client, session, tool string) (heads []operation.Head, err error) {
	err = r.glance(ctx, func(v *snapshot) error {
		ops, err := v.list(Filter{Client: client, Session: session, Tool: tool, State: operation.Unobserved, open: true})
		for _, op := range ops {
			heads = append(heads, op.head())
		}
		return err
	})
	return heads, err
}
