package agentd_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

// check holds a step to what it wants.
func (w *world) check(s *stepSpec, name string, got payload.Value, err error) {
	w.t.Helper()
	fail := func(what string, problem error) {
		w.t.Helper()
		if problem != nil {
			w.t.Errorf("%s: %s: %v", name, what, problem)
		}
	}
	fail("error", wantError(s.Error, err))
	if s.Want != nil {
		fail("want", matches(s.Want, got))
	}
	if s.Witness != nil && !slices.Equal(s.Witness, w.witness) {
		fail("witness", fmt.Errorf("%q, want %q", w.witness, s.Witness))
	}
	for hook, n := range s.Called {
		if w.called[hook] != n {
			fail("called", fmt.Errorf("%s %d times, want %d", hook, w.called[hook], n))
		}
	}
	if s.Requests != nil && len(w.requests) != *s.Requests {
		fail("requests", fmt.Errorf("%d, want %d", len(w.requests), *s.Requests))
	}
	if s.Request != nil {
		fail("request", w.wantLines(s.Request))
	}
	fail("told", w.wantTold(s.Told, s.Untold))
	fail("journal", w.checkJournal(s, got, err))
}

func wantError(want string, err error) error {
	word, known := errorWords[want]
	switch {
	case want == "" && err == nil:
		return nil
	case want == "" || err == nil:
		return fmt.Errorf("%v, want %q", err, want)
	case known && errors.Is(err, word), !known && regexp.MustCompile(want).MatchString(err.Error()):
		return nil
	}
	return fmt.Errorf("%v, want %q", err, want)
}

// wantLines holds the last request to patterns, a message each.
func (w *world) wantLines(want []string) error {
	if len(w.requests) == 0 {
		return errors.New("there was none")
	}
	var got []string
	for m := range w.requests[len(w.requests)-1].Items() {
		line := m.Get("role").Text() + ": " + m.Get("content").Text()
		for c := range m.Get("tool_calls").Items() {
			line += " -> " + c.Get("function").Get("name").Text() + " " + c.Get("function").Get("arguments").Text()
		}
		got = append(got, strings.ReplaceAll(line, "\n", "\\n"))
	}
	got = got[min(1, len(got)):] // the system's
	if len(got) != len(want) {
		return fmt.Errorf("%d messages, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, pattern := range want {
		if !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got[i]) {
			return fmt.Errorf("message %d is %q, want %q", i, got[i], pattern)
		}
	}
	return nil
}

func (w *world) wantTold(told, untold []string) error {
	rest := w.events
	for _, pattern := range told {
		i := slices.IndexFunc(rest, regexp.MustCompile(pattern).MatchString)
		if i < 0 {
			return fmt.Errorf("no %q in\n%s", pattern, strings.Join(w.events, "\n"))
		}
		rest = rest[i+1:]
	}
	for _, pattern := range untold {
		if i := slices.IndexFunc(w.events, regexp.MustCompile(pattern).MatchString); i >= 0 {
			return fmt.Errorf("%q was told", w.events[i])
		}
	}
	return nil
}

// checkJournal looks into the store as another process would.
func (w *world) checkJournal(s *stepSpec, got payload.Value, err error) (all error) {
	if s.Rows == nil && s.Saved == nil && s.Records == nil && s.Absent == nil && s.Present == nil && s.Cells == nil {
		return nil
	}
	r, openErr := store.OpenReader(w.t.Context(), w.statePath(), nil)
	if openErr != nil {
		return openErr
	}
	defer r.Close()
	note := func(what string, problem error) {
		if problem != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", what, problem))
		}
	}
	rowsOf := func(op string) []operation.Row {
		rows, err := r.Rows(w.t.Context(), op)
		note(op, err)
		return rows
	}
	for op, want := range s.Rows {
		if stages := w.stages(rowsOf(op)); stages != want {
			note("rows of "+op, fmt.Errorf("%q, want %q", stages, want))
		}
	}
	for op, want := range s.Saved {
		note("saved "+op, matches(want, saved(operation.Summarise(rowsOf(op)))))
	}
	for op, want := range s.Records {
		recs, err := payload.From(operation.Records(rowsOf(op)))
		note("records of "+op, errors.Join(err, matches(want, recs)))
	}
	if s.Cells != nil {
		cells, err := r.Cells(w.t.Context(), "s")
		note("cells", err)
		for name, want := range s.Cells {
			note("cell "+name, matches(want, cells[name].Value))
		}
	}
	if s.Absent != nil || s.Present != nil {
		text := w.everything(r) + got.String() + fmt.Sprint(err) + strings.Join(w.events, "\n")
		for _, secret := range s.Absent {
			if strings.Contains(text, secret) {
				note("absent", fmt.Errorf("%q is there", secret))
			}
		}
		for _, word := range s.Present {
			if !strings.Contains(text, word) {
				note("present", fmt.Errorf("%q is nowhere", word))
			}
		}
	}
	return all
}

// everything is the text of all that the journal keeps.
func (w *world) everything(r *store.Reader) string {
	var b strings.Builder
	ops, err := r.Operations(w.t.Context(), store.Filter{})
	if err != nil {
		w.t.Error(err)
	}
	for _, op := range ops {
		rows, err := r.Rows(w.t.Context(), op.Head.ID)
		if err != nil {
			w.t.Error(err)
		}
		for _, row := range rows {
			e, err := operation.EncodeRow(row)
			if err != nil {
				w.t.Error(err)
			}
			b.Write(e.Body)
			for _, blob := range e.Blobs {
				b.Write(blob.Text)
			}
		}
	}
	return b.String()
}

// saved is an operation as its rows tell it.
func saved(s operation.Summary) payload.Value {
	out := payload.NewObject(field("state", string(s.State)), field("status", s.Status), field("by", s.By), field("reason", s.Reason),
		payload.Field{Name: "attempts", Value: payload.NewInt(int64(s.Attempts))}, payload.Field{Name: "whole", Value: payload.NewBool(s.Whole)})
	for name, v := range map[string]payload.Value{"original": s.Original, "final": s.Final, "raw": s.Raw, "output": s.Output} {
		if v.Exists() {
			out = out.With(payload.Field{Name: name, Value: v})
		}
	}
	return out
}
