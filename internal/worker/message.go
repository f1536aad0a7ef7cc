package worker

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// What is said seldom is JSON, a request {do, ...} and an object as the answer:
//
//	load    {key, suffix, name, text, fuel, bytes}  -> {definitions} or {fault}; {module: NAME} asks for a module first

func object(fields ...payload.Field) payload.Value { return payload.NewObject(fields...) }
func text(name, s string) payload.Field {
	return payload.Field{Name: name, Value: payload.NewString(strings.ToValidUTF8(s, string(utf8.RuneError)))}
}
func integer(name string, n int64) payload.Field {
	return payload.Field{Name: name, Value: payload.NewInt(n)}
}

// limitsOf reads a pair of limits.
func limitsOf(v payload.Value) meter.Limits {
	fuel, _ := v.Get("fuel").Int64()
	bytes, _ := v.Get("bytes").Int64()
	return meter.Limits{Fuel: min(max(fuel, 0), math.MaxInt64/4), Bytes: min(max(bytes, 0), math.MaxInt64/4)}
}

// words are the only reasons that cross, by their place.
var words = []error{hookpoints.ErrHookFailed, hookpoints.ErrBudget, hookpoints.ErrHostTimeout, hookpoints.ErrNotPermitted}

// wordOf is the place of the reason of an error.
func wordOf(err error) int {
	for i, known := range words {
		if errors.Is(err, known) {
			return i
		}
	}
	return 0
}

// reason is the word at a place, nil if there is none.
func reason(place int64) error {
	if place < 0 || place >= int64(len(words)) {
		return nil
	}
	return words[place]
}

// errLies is the kind of failure of a worker that says what no script could make it say.
var errLies = fmt.Errorf("%w: the worker answered what it can't have been asked", hookpoints.ErrHookFailed)
