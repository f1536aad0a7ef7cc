package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// table counts by place.
type table struct {
	mu   sync.Mutex
	rows map[string]*row
}

type row struct{ kills, lost, repeated, unknown, wrong int }

func (t *table) add(scenario string, tr *trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = map[string]*row{}
	}
	name := cmp.Or(tr.plan.place, "at random") + "\t" + scenario
	r := t.rows[name]
	if r == nil {
		r = &row{}
		t.rows[name] = r
	}
	v := tr.verdict
	r.kills += tr.kills
	r.lost += v.lost
	r.repeated += v.repeated
	r.unknown += v.unknown
	r.wrong += v.wrong
	for _, d := range v.details {
		fmt.Fprintf(os.Stderr, "%s, %s: %s\n", scenario, tr.plan, d)
	}
}

// print prints the table and reports whether all is well. A table without kills isn't.
func (t *table) print(w io.Writer) bool {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "killed\tin\tkills\tlost\trepeated\tunknown\twrong")
	var sum row
	for _, name := range slices.SortedFunc(maps.Keys(t.rows), strings.Compare) {
		r := t.rows[name]
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", name, r.kills, r.lost, r.repeated, r.unknown, r.wrong)
		sum.kills += r.kills
		sum.lost += r.lost
		sum.repeated += r.repeated
		sum.unknown += r.unknown
		sum.wrong += r.wrong
	}
	fmt.Fprintf(out, "all\t\t%d\t%d\t%d\t%d\t%d\n", sum.kills, sum.lost, sum.repeated, sum.unknown, sum.wrong)
	out.Flush()
	fmt.Fprintf(w, "%d kills: %d lost, %d repeated, %d wrong\n", sum.kills, sum.lost, sum.repeated, sum.wrong)
	return sum.kills > 0 && sum.lost+sum.repeated+sum.wrong == 0
}
