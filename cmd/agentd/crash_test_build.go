//go:build crashpoints

package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"agentd/revision"
)

// otherEngine makes this program say that it is another one: AGENTD_ENGINE is a JSON object with the
// fields of revision.Engine.
func otherEngine(getenv func(string) string) (e revision.Engine, err error) {
	if text := getenv("AGENTD_ENGINE"); text != "" {
		err = json.Unmarshal([]byte(text), &e)
	}
	return e, err
}

// crashPoint kills the process at a named place between two durable steps: AGENTD_CRASH_AT is PLACE, or
// PLACE:N for the N-th time that it is passed. AGENTD_CRASH_LOG is a file that gets the name of each
// place, a line each.
func crashPoint(getenv func(string) string) func(string) {
	place, nth, _ := strings.Cut(getenv("AGENTD_CRASH_AT"), ":")
	log := getenv("AGENTD_CRASH_LOG")
	if place == "" && log == "" {
		return nil
	}
	n, err := strconv.Atoi(nth)
	if err != nil {
		n = 1
	}
	var seen atomic.Int64
	return func(at string) {
		if log != "" {
			note(log, at)
		}
		if at == place && seen.Add(1) == int64(n) {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {} // until the signal arrives
		}
	}
}

func note(log, at string) {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(at + "\n"); err != nil {
		panic(err)
	}
}
