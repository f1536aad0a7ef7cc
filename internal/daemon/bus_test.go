package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// take reads what is there, and how the flow ended: cut or open.
func drain(t *testing.T, s *subscription) (got []string, cut bool) {
	t.Helper()
	for {
		e, more, ok := s.take()
		switch {
		case more != nil:
			return got, false
		case !ok:
			return got, true
		}
		got = append(got, strings.TrimPrefix(e.ID, "e-1-")+":"+e.Type)
	}
}

func TestBusGivesEventsInOrderFromWhereAListenerWas(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		keep  keep
		want  string
	}{
		"a new listener hears what comes":         {"", keep{8, 1000}, ""},
		"after the first":                         {"e-1-1", keep{8, 1000}, "2:b 3:c 4:d"},
		"after the last":                          {"e-1-4", keep{8, 1000}, ""},
		"before the first":                        {"e-1-0", keep{8, 1000}, "1:a 2:b 3:c 4:d"},
		"what was dropped is said to be missed":   {"e-1-1", keep{2, 1000}, "2:events.missed 3:c 4:d"},
		"the oldest kept is no loss":              {"e-1-2", keep{2, 1000}, "3:c 4:d"},
		"of another process":                      {"e-0-3", keep{8, 1000}, "0:events.missed 1:a 2:b 3:c 4:d"},
		"no id at all":                            {"nonsense", keep{8, 1000}, "0:events.missed 1:a 2:b 3:c 4:d"},
		"from the future":                         {"e-1-99", keep{8, 1000}, "0:events.missed 1:a 2:b 3:c 4:d"},
		"bounded by size":                         {"e-1-0", keep{8, 25}, "2:events.missed 3:c 4:d"},
		"one that is too large is kept by itself": {"e-1-3", keep{8, 1}, "4:d"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBus("e-1", c.keep)
			for _, kind := range []string{"a", "b", "c", "d"} {
				b.publish(kind, "", make([]byte, 10))
			}
			got, cut := drain(t, b.subscribe(c.after))
			if strings.Join(got, " ") != c.want || cut {
				t.Errorf("got %v (cut %v), want %s", got, cut, c.want)
			}
		})
	}
}

func TestBusCutsOffWhoFallsBehindAndLetsThemComeBack(t *testing.T) {
	b := newBus("e-1", keep{4, 1000})
	slow, quick := b.subscribe(""), b.subscribe("")
	b.publish("k1", "", nil)
	e, _, _ := slow.take()
	for i := 2; i <= 6; i++ {
		b.publish(fmt.Sprintf("k%d", i), "", nil)
		drain(t, quick)
	}
	if got, cut := drain(t, slow); !cut || len(got) > 0 {
		t.Errorf("the slow one got %v, cut %v", got, cut)
	}
	if got, cut := drain(t, b.subscribe(e.ID)); cut || got[0] != "2:events.missed" || len(got) != 5 {
		t.Errorf("when it came back it got %v", got)
	}
	b.publish("k7", "", nil)
	if got, cut := drain(t, quick); cut || fmt.Sprint(got) != "[7:k7]" {
		t.Errorf("the quick one got %v, cut %v", got, cut)
	}
}

func TestBusLetsListenersHaveTheRestWhenItCloses(t *testing.T) {
	b := newBus("e-1", keepDefault)
	s := b.subscribe("")
	b.publish("a", "", nil)
	b.close()
	b.publish("late", "", nil)
	if e, ok := s.Next(t.Context()); !ok || e.Type != "a" {
		t.Errorf("got %v %v", e, ok)
	}
	if e, ok := s.Next(t.Context()); ok {
		t.Errorf("after the end came %v", e)
	}
	if e, ok := b.subscribe("e-1-1").Next(t.Context()); ok {
		t.Errorf("a late listener got %v", e)
	}
}

func TestBusWakesEveryListenerAndStopsAtTheirContext(t *testing.T) {
	b := newBus("e-1", keepDefault)
	var wg sync.WaitGroup
	const listeners, events = 8, 200
	for range listeners {
		s := b.subscribe("")
		wg.Go(func() {
			for i := 1; i <= events; i++ {
				if e, ok := s.Next(t.Context()); !ok || e.ID != fmt.Sprintf("e-1-%d", i) {
					t.Errorf("got %v %v, want number %d", e, ok, i)
					return
				}
			}
		})
	}
	for range events {
		b.publish("x", "", nil)
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, ok := b.subscribe("").Next(ctx); ok {
		t.Errorf("after its context ended it got %v", e)
	}
}

func TestKeyedLocksTakeNoMemoryWhenNobodyUsesThem(t *testing.T) {
	var k keyed
	var wg sync.WaitGroup
	count := map[string]int{}
	var mu sync.Mutex
	for i := range 64 {
		name := fmt.Sprint(i % 4)
		wg.Go(func() {
			defer k.lock(name)()
			mu.Lock()
			n := count[name]
			mu.Unlock()
			mu.Lock()
			count[name] = n + 1 // lost, if two of a name were in here
			mu.Unlock()
		})
	}
	wg.Wait()
	for name, n := range count {
		if n != 16 {
			t.Errorf("%s was counted %d times", name, n)
		}
	}
	if len(k.locks) != 0 {
		t.Errorf("%d locks are left", len(k.locks))
	}
}
