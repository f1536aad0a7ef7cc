//go:build race

package starlark

// raceSlack is what the race detector adds to the bytes of an attack that uses patterns: under it, the
// pools of regexp forget on purpose much of what they are given. Nothing else takes more under it.
const raceSlack = 16 << 20
