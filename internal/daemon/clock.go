package daemon

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// The real clocks and ids; everything below gets them handed in.

type wall struct{}

// Now implements operation.Clock.
func (wall) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

type monotonic struct{ start time.Time }

// Nanos implements hookpoints.Clock.
func (m monotonic) Nanos() int64 { return int64(time.Since(m.start)) }

// newID makes ids that sort by time and don't collide: prefix, seconds, randomness.
func newID(prefix string) string {
	var b [6]byte
	rand.Read(b[:]) // it never fails
	return prefix + "-" + time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(b[:])
}
