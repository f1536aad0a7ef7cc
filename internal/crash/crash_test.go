package main

import (
	"strings"
	"testing"
)

// TestShort is the short form of make crash: a few of the places of each scenario, and a few random moments.
func TestShort(t *testing.T) {
	o := options{again: 1, random: 1, lanes: 2, places: 8}
	if testing.Short() {
		o.places = 2
	}
	var out strings.Builder
	ok, err := run(t.Context(), o, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if !ok {
		t.Error("something was lost, repeated or wrong")
	}
}

// A judge that finds nothing proves nothing: each fault that could be is one.
func TestTheJudgeSeesFaults(t *testing.T) {
	calm := outcome{runs: []ran{{Task: "a", Status: "completed", Answer: "A"}}, lines: map[string]int{"one": 1, "again-two": 1}, tree: map[string]string{"f": "text"},
		conversation: []string{"hello"}, asked: map[int]int{0: 1, 1: 1}, cells: map[string]string{"s n": "1"}, head: "h"}
	for name, c := range map[string]struct {
		change                func(o *outcome)
		lost, repeated, wrong int
	}{
		"nothing":                {func(*outcome) {}, 0, 0, 0},
		"an action isn't there":  {func(o *outcome) { o.lines = map[string]int{"again-two": 1} }, 1, 0, 0},
		"an action twice":        {func(o *outcome) { o.lines = map[string]int{"one": 2, "again-two": 1} }, 0, 1, 0},
		"one that may be, twice": {func(o *outcome) { o.lines = map[string]int{"one": 1, "again-two": 2} }, 0, 1, 0},
		"an unknown action":      {func(o *outcome) { o.lines = map[string]int{"one": 1, "again-two": 1, "x": 1} }, 0, 0, 1},
		"another status":         {func(o *outcome) { o.runs = []ran{{Task: "a", Status: "failed", Answer: "A"}} }, 0, 0, 1},
		"a run too many":         {func(o *outcome) { o.runs = append(o.runs[:1:1], o.runs[0]) }, 0, 0, 1},
		"another file":           {func(o *outcome) { o.tree = map[string]string{"f": "tex"} }, 0, 0, 1},
		"a file too many":        {func(o *outcome) { o.tree = map[string]string{"f": "text", "g": ""} }, 0, 0, 1},
		"another history":        {func(o *outcome) { o.conversation = []string{"hello", "hello"} }, 0, 0, 1},
		"the model asked twice":  {func(o *outcome) { o.asked = map[int]int{0: 2, 1: 1} }, 0, 1, 0},
		"the model not asked":    {func(o *outcome) { o.asked = map[int]int{1: 1} }, 1, 0, 0},
		"another state":          {func(o *outcome) { o.cells = map[string]string{"s n": "2"} }, 0, 0, 1},
		"another head":           {func(o *outcome) { o.head = "" }, 0, 0, 1},
	} {
		got := calm
		c.change(&got)
		tr := trial{}
		tr.check(calm, got)
		if v := tr.verdict; v.lost != c.lost || v.repeated != c.repeated || v.wrong != c.wrong {
			t.Errorf("%s: %+v", name, v)
		}
	}
	cut := trial{cut: map[string]string{"op#1": `{"command":"echo one; echo again-two"}`}, retries: 1}
	cut.check(calm, outcome{runs: calm.runs, lines: map[string]int{"again-two": 2}, tree: calm.tree, asked: map[int]int{0: 2, 1: 1}, head: "h"})
	if v := cut.verdict; v.lost+v.repeated+v.wrong > 0 {
		t.Errorf("what was cut off is excused: %+v", v)
	}
}
