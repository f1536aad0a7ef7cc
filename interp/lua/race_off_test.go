//go:build !race

package lua

const (
	raceSlack    = 0
	raceSlowdown = 1
)
