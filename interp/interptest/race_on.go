//go:build race

package interptest

const (
	// RaceSlack is what the race detector adds to the bytes of an attack: under it, pools such as those
	// of regexp forget on purpose much of what they are given.
	RaceSlack = 32 << 20
	// RaceSlowdown is how much slower everything is under it.
	RaceSlowdown = 20
)
