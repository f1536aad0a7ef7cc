package agent_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentd/operation/journaltest"
)

// TestJumpsOfTheWallClockChangeNothing plays each scene under a clock that is set back and ahead by
// centuries each time that somebody looks at it: what happens, and in what order, stays the same. Only a
// question is over at a time of the wall clock, since it outlives the process; a jump denies it.
func TestJumpsOfTheWallClockChangeNothing(t *testing.T) {
	scenes(t, func(t *testing.T, of journaltest.Case) {
		if of.Part("person") != "" {
			t.Skip("a question expires by the wall clock")
		}
		calm, jumpy := staged(t, of), staged(t, of)
		looks := atomic.Int64{}
		jumpy.wall = func() time.Time {
			n := looks.Add(1)
			return began.AddDate(int(300*(n%3-1)), 0, int(n))
		}
		for _, c := range []*scene{calm, jumpy} {
			if _, err := c.play(hung(t)); err != nil {
				t.Fatal(err)
			}
		}
		if looks.Load() == 0 {
			t.Error("nobody looked at the clock")
		}
		same(t, "order", inOneOrder(jumpy.list), inOneOrder(calm.list))
	})
}

// TestNoMonotonicTimeIsStored plays each scene twice, under monotonic clocks that tick alike and began
// at another time: deadlines and readings differ, and every row and cell is the same. So none holds one.
func TestNoMonotonicTimeIsStored(t *testing.T) {
	scenes(t, func(t *testing.T, of journaltest.Case) {
		var stored []string
		for _, began := range []int64{0, 7_777_777_777_777_777} {
			c := staged(t, of)
			ticks := atomic.Int64{}
			c.nanos = func() int64 { return began + ticks.Add(int64(time.Millisecond)) }
			if _, err := c.play(hung(t)); err != nil {
				t.Fatal(err)
			}
			if ticks.Load() == 0 && of.Part("hooks.star") != "" {
				t.Error("nobody looked at the clock")
			}
			stored = append(stored, c.stored())
		}
		same(t, "stored", stored[1], stored[0])
	})
}

// stored is everything that the journal holds, as JSON.
func (c *scene) stored() string {
	c.t.Helper()
	ctx := c.t.Context()
	rows, err := c.store.RunRows(ctx, "r")
	if err != nil {
		c.t.Fatal(err)
	}
	cells, err := c.store.Cells(ctx, "s")
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := json.MarshalIndent([]any{rows, cells}, "", " ")
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), c.dir, "FOLDER")
}
