//go:build crashpoints

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// crashPoint kills the process at a named place between two durable steps: AGENTD_CRASH_AT is
// PLACE or PLACE:N for the N-th time it is passed.
func crashPoint(getenv func(string) string) func(string) {
	place, nth, _ := strings.Cut(getenv("AGENTD_CRASH_AT"), ":")
	if place == "" {
		return nil
	}
	n, err := strconv.Atoi(nth)
	if err != nil {
		n = 1
	}
	var seen atomic.Int64
	return func(at string) {
		if at == place && seen.Add(1) == int64(n) {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {} // until the signal arrives
		}
	}
}
