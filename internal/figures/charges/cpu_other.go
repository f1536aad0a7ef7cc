//go:build !linux && !darwin

package charges

import "time"

var start = time.Now()

// Now is the wall clock, where there is none of the processor.
func Now() int64 { return int64(time.Since(start)) }
