package daemon

import (
	"errors"
	"fmt"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// TestInputsAreReadOnce: of as many open operations as are remembered each is read once, and what is forgotten or
// couldn't be read is read again.
func TestInputsAreReadOnce(t *testing.T) {
	var m inputs
	reads := 0
	of := func(i int) input {
		t.Helper()
		in, err := m.of(fmt.Sprint(i), func() ([]operation.Row, error) {
			reads++
			args := payload.NewObject(payload.Field{Name: "arguments", Value: payload.NewInt(int64(i))})
			return []operation.Row{operation.IntentRow{Decided: operation.Decided{Original: args, Final: args}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := inputOf(payload.NewInt(int64(i))); in.answered != want || in.asked != want {
			t.Fatalf("the input of %d is another's", i)
		}
		return in
	}
	broken := errors.New("the disk is gone")
	if _, err := m.of("0", func() ([]operation.Row, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for range 3 {
		for i := range rememberedInputs {
			of(i)
		}
	}
	if reads != rememberedInputs {
		t.Errorf("%d were read %d times", rememberedInputs, reads)
	}
	for i := range 3 * rememberedInputs {
		of(rememberedInputs + i)
	}
	if n := len(m.young) + len(m.old); n > 2*rememberedInputs {
		t.Errorf("%d are remembered", n)
	}
	reads = 0
	if of(0); reads != 1 {
		t.Error("what was forgotten wasn't read again")
	}
}
