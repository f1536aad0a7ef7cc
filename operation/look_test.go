package operation_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/operation"
)

// commits is a line a commit: the stages of its rows and whose they are.
func (l *lab) commits() string {
	var b strings.Builder
	for _, keys := range l.journal.Log() {
		for i, k := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s %s", k.Stage, k.Op)
			if k.N > 0 {
				fmt.Fprintf(&b, " %d", k.N)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// effects are a line an effect that the journal knows: how far it got.
func (l *lab) effects() string {
	l.t.Helper()
	var out []string
	seen := map[string]bool{}
	for _, keys := range l.journal.Log() {
		for _, k := range keys {
			if seen[k.Op] || !strings.Contains(k.Op, "/e/") {
				continue
			}
			seen[k.Op] = true
			sum := operation.Summarise(rowsOf[operation.Row](l, k.Op))
			line := fmt.Sprintf("%s %s %s %s %s", k.Op, sum.Head.Tool, sum.State, sum.Status, sum.Output)
			out = append(out, strings.TrimSpace(line+" "+strings.ReplaceAll(sum.Reason, " ", "_")))
		}
	}
	return lines(out)
}

// rows are the rows of an operation of one type.
func rowsOf[R operation.Row](l *lab, op string) (out []R) {
	l.t.Helper()
	rows, err := l.journal.Rows(l.t.Context(), op)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range rows {
		if r, ok := r.(R); ok {
			out = append(out, r)
		}
	}
	return out
}

// cell is what is durable of a hook's state in the lab's session.
func (l *lab) cell(name string) string {
	l.t.Helper()
	cells, err := l.journal.Cells(l.t.Context(), "s")
	if err != nil {
		l.t.Fatal(err)
	}
	return cells[name].Value.String()
}

// describe is what a caller gets of an action.
func describe(d operation.Done) string {
	out := []string{d.Head.ID, string(d.State), d.Status}
	add := func(name, s string) {
		if s != "" {
			out = append(out, name+"="+s)
		}
	}
	if d.Effective.Exists() {
		add("effective", d.Effective.String())
	}
	if d.Raw.Exists() && d.Raw.String() != d.Effective.String() {
		add("raw", d.Raw.String())
	}
	add("by", d.By)
	add("code", d.Code)
	add("reason", strings.ReplaceAll(d.Reason, " ", "_"))
	for _, text := range d.Texts {
		add("text", text.BindingID+":"+strings.ReplaceAll(text.Text, " ", "_"))
	}
	add("proceed", strings.ReplaceAll(d.Proceed, " ", "_"))
	if d.Write.Exists() {
		add("write", d.Write.Get("content").Text())
	}
	if d.Stop {
		out = append(out, "stop")
	}
	return strings.Join(out, " ")
}

// cells are all that is durable of the session's and the project's state.
func (l *lab) cells() string {
	l.t.Helper()
	cells, err := l.journal.Cells(l.t.Context(), "s")
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		out = append(out, name+" "+cells[name].Value.String())
	}
	return lines(out)
}

// records are a line a record of an operation's intent and after row: where, who, and what it decided
// or why not.
func (l *lab) records(op string) string {
	l.t.Helper()
	var all []hookpoints.Record
	for _, r := range rowsOf[operation.IntentRow](l, op) {
		all = append(all, r.Records...)
	}
	for _, r := range rowsOf[operation.AfterRow](l, op) {
		all = append(all, r.Records...)
	}
	var b strings.Builder
	for _, r := range all {
		part := ""
		if r.Part == hookpoints.Guards {
			part = "guard "
		}
		said := r.Why
		if r.Ran {
			said = cmp.Or(r.Decision, "none")
		}
		if r.Error != "" {
			said += " " + r.Error
		}
		fmt.Fprintf(&b, "%s %s %s%s: %s\n", op, r.Point, part, strings.TrimPrefix(r.BindingID, "project/"), said)
	}
	return b.String()
}
