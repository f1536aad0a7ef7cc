package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"agentd/operation"
)

// Committed lists all rows without their contents, in commit order.
func (r *Reader) Committed(ctx context.Context) (list []operation.Committed, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		ids := map[int64]string{} // of operations, as their first rows say
		return v.all(func(row scanner) error {
			var c operation.Committed
			var op, at int64
			var id sql.NullString
			if err := row.Scan(&op, &c.Key.Stage, &c.Key.N, &id, &at); err != nil {
				return err
			}
			if id.Valid {
				ids[op] = id.String
			}
			known := false
			if c.Key.Op, known = ids[op]; !known {
				return fmt.Errorf("%w: the operation %d has no first row", ErrDamaged, op)
			}
			c.At, c.Commit = time.UnixMicro(at).UTC(), at
			list = append(list, c)
			return nil
		}, `SELECT op, stage, n, id, at FROM rows ORDER BY seq`)
	})
	return list, err
}
