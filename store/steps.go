package store

import (
	"context"
	"encoding/json"
	"time"

	"agentd/operation"
)

// Step is a row without what it says.
type Step struct {
	Stage operation.Stage `json:"stage"`
	N     int             `json:"n"`
	Bytes int             `json:"bytes"` // as it is stored, without large values
	At    time.Time       `json:"at"`    // when it was committed
}

// Steps are the rows of an operation in commit order, without their bodies: also where these can't be
// read any more.
func (r *Reader) Steps(ctx context.Context, op string) (steps []Step, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		found, err := v.find(op)
		if err != nil || found == nil {
			return err
		}
		last, err := json.Marshal([]int64{found.last})
		if err != nil {
			return err
		}
		return v.all(func(row scanner) error {
			var s Step
			var at int64
			err := row.Scan(&s.Stage, &s.N, &s.Bytes, &at)
			s.At = time.UnixMicro(at).UTC()
			steps = append(steps, s)
			return err
		}, `SELECT stage, n, length(body), at FROM rows WHERE seq IN `+chains+` ORDER BY seq`, string(last))
	})
	return steps, err
}
