package store

import (
	"context"

	"agentd/operation"
)

var _ operation.ForeignFinder = (*Reader)(nil)

// OpenForeign implements operation.ForeignFinder.
func (r *Reader) OpenForeign(ctx context.Context, client, session, tool string) (heads []operation.Head, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			o, err := scanOperation(row)
			heads = append(heads, o.Head)
			return err
		}, `SELECT seq, `+opColumns+` FROM operations WHERE client = ? AND session_id = ? AND tool = ? AND state = ? AND done = 0 ORDER BY seq`,
			client, session, tool, string(operation.Unobserved))
	})
	return heads, err
}
