//go:build !race

package interptest

// What the race detector adds: nothing without it.
const (
	RaceSlack    = 0
	RaceSlowdown = 1
)
