package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestACrewDoesAllOfItAtOnce: whoever comes doesn't wait for another, and after Wait nobody is left.
func TestACrewDoesAllOfItAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		var done atomic.Int32
		for range 3 { // the second time some are there already
			meet := make(chan struct{})
			for range 2 * idlers {
				c.Go(func() {
					<-meet
					done.Add(1)
				})
			}
			synctest.Wait()
			close(meet)
			synctest.Wait()
		}
		if n := len(c.idle); n != idlers {
			t.Errorf("%d wait for more, want %d", n, idlers)
		}
		c.Wait()
		c.Go(func() { done.Add(1) })
		c.Wait()
		if n := done.Load(); n != 6*idlers+1 {
			t.Errorf("%d were done, want %d", n, 6*idlers+1)
		}
	})
}
