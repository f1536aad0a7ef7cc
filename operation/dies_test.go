package operation_test

import "testing"

// crash is what a test panics with where a process would die.
type crash struct{ place string }

// crashAt dies at the n-th time that a place is passed, counted from 1; "" is any place.
func crashAt(place string, n int) func(string) {
	return func(here string) {
		if place == "" || place == here {
			if n--; n == 0 {
				panic(crash{here})
			}
		}
	}
}

// dies runs f and says where it died, "" if it didn't.
func dies(f func()) (place string) {
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

func crashed(t *testing.T, f func()) {
	t.Helper()
	if dies(f) == "" {
		t.Fatal("it didn't come to the place where it should die")
	}
}
