//go:build race

package starlark

// raceSlack is what the race detector adds to the bytes of an attack: under it, pools such as those
// of regexp forget on purpose much of what they are given.
const raceSlack = 32 << 20
