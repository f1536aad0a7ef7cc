package journaltest

import (
	"fmt"
	"testing"
)

// crash is what a test panics with where a process would die.
type crash struct{ place string }

// CrashAt dies at the n-th time that a place is passed, counted from 1; "" is any place.
func CrashAt(place string, n int) func(here string) {
	return func(here string) {
		if place == "" || place == here {
			if n--; n == 0 {
				panic(crash{here})
			}
		}
	}
}

// Dies runs f and says where it died, "" if it didn't.
func Dies(f func()) (place string) {
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(crash)
			if !ok {
				panic(p)
			}
			place = c.place
		}
	}()
	f()
	return ""
}

// FailsAtAnyCommit runs a test for each of so many commits, twice: with a journal in which it fails and
// writes nothing, and with one in which it writes everything and yet fails.
func FailsAtAnyCommit(t *testing.T, commits int, test func(t *testing.T, spoil func(*Memory))) {
	for _, lost := range []bool{false, true} {
		for n := 1; n <= commits; n++ {
			t.Run(fmt.Sprintf("commit %d, durable all the same %v", n, lost), func(t *testing.T) {
				test(t, func(m *Memory) { m.fault(n, ErrFull, lost) })
			})
		}
	}
}

// MustDie runs f, which must come to the place where it should die.
func MustDie(t *testing.T, f func()) {
	t.Helper()
	if Dies(f) == "" {
		t.Fatal("it didn't come to the place where it should die")
	}
}
