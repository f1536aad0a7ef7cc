//go:build !race

package starlark

const raceSlack = 0
