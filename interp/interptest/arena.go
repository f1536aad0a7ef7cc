package interptest

import (
	"context"
	"io/fs"
	"testing"
	"time"
)

// TooLong is how long the wall clock waits for all attacks of a file before it says that one hangs. It
// is far more than they need.
const TooLong = 4 * time.Minute

// Arena is an engine in which attacks run beside a hook that means well.
type Arena struct {
	// Attack loads an attack, and has it decide or calls its function. What it decided on must be what
	// it was afterwards.
	Attack func(ctx context.Context, t *testing.T, a Attack) Outcome
	// Decide has the hook decide, and says what it decided and used.
	Decide func(t *testing.T) string
	// Spare is how many bytes an attack may allocate beyond HeapFactor and HeapSlack.
	Spare func(a Attack, o Outcome) int64
}

// AttacksEndTheSameEachTime runs scripts that an instruction limit doesn't stop. Each must end as it
// says, with the same words after the same fuel and bytes, however often it runs, and allocate no more
// than it was charged for. All of a file share one engine: after each of them a hook that means well
// must decide as it did before any.
func AttacksEndTheSameEachTime(t *testing.T, files fs.FS, pattern string, open func(t *testing.T) Arena) {
	for _, name := range glob(t, files, pattern) {
		ctx, cancel := context.WithTimeout(t.Context(), TooLong)
		defer cancel()
		arena := open(t)
		want := arena.Decide(t)
		for _, a := range ReadAttacks(t, files, name) {
			t.Run(a.FullName(), func(t *testing.T) {
				first := arena.Attack(ctx, t, a)
				for range 2 {
					if again := arena.Attack(ctx, t, a); again.Text != first.Text {
						t.Fatalf("it ended in two ways:\n%s\n%s", first.Text, again.Text)
					}
				}
				if got := arena.Decide(t); got != want {
					t.Errorf("after it another hook decides %s, before it %s", got, want)
				}
				if most := arena.mayAllocate(a, first); first.Allocated > most {
					t.Errorf("it allocated %d bytes, at most %d are for the %d that it was charged", first.Allocated, most, first.Charged)
				}
				a.Check(t, first)
			})
		}
	}
}

func (x Arena) mayAllocate(a Attack, o Outcome) int64 {
	return HeapFactor*o.Charged + HeapSlack + x.Spare(a, o)
}

// AHookAnswersWhileOthersAttack runs attacks beside a hook that means well, in the same engine: it must
// decide as it does alone.
func AHookAnswersWhileOthersAttack(t *testing.T, arena Arena, attacks []Attack) {
	want := arena.Decide(t)
	ctx, cancel := context.WithTimeout(t.Context(), TooLong)
	defer cancel()
	attacked := make(chan bool, 1)
	go func() {
		defer func() { attacked <- true }()
		for _, a := range attacks {
			arena.Attack(ctx, t, a)
		}
	}()
	for {
		if got := arena.Decide(t); got != want {
			t.Errorf("it decided %s, alone it decided %s", got, want)
			cancel()
		}
		select {
		case <-attacked:
			return
		default:
		}
	}
}
