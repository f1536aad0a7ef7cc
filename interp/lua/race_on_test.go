//go:build race

package lua

const (
	// raceSlack is what the race detector adds to the bytes of an attack: under it, pools such as those
	// of regexp forget on purpose much of what they are given.
	raceSlack = 32 << 20
	// raceSlowdown is how much slower everything is under it.
	raceSlowdown = 20
)
