package daemon

import (
	"errors"
	"strings"
	"testing"

	"agentd/internal/api"
	"agentd/revision"
)

func TestRollbackServesNewRunsAndOldOnesStayWithTheirs(t *testing.T) {
	l := newLab(t)
	l.project("hooks/note.star", says("one"))
	l.model("ask", shell("c1", "true"), shell("c2", "true"), say("Done."), shell("c1", "true"), say("Done."))
	h := l.published()
	rows, err := h.Revisions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := rows[0].Revision
	l.project("hooks/note.star", says("two"))
	two := l.publish(h, api.Publish{}).Revision
	f := h.run(api.StartRun{Task: "first", Interactive: true})
	q := f.until("question")
	all := h.listen()
	defer all.cancel()
	res, err := h.Rollback(t.Context(), one, api.Rollback{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Revision != one || res.Parent != two || res.Layer != "project" || len(res.Changed) == 0 || len(res.Notes) != 0 {
		t.Errorf("rolled back: %+v", res)
	}
	told := all.until("revision.rolled_back")
	if text(told, "revision") != one || text(told, "parent") != two || text(told, "layer") != "project" {
		t.Errorf("told: %s", told)
	}
	all.until("generation.active")
	for i := range 2 {
		if i > 0 {
			q = f.until("question")
		}
		if _, err := h.Answer(t.Context(), text(q, "question", "id"), api.Answer{Verb: "allow"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.words(text(f.end(), "run_id")); got != "two two" {
		t.Errorf("the run that was going on heard %q", got)
	}
	if got := h.words(text(h.run(api.StartRun{Task: "second", Yes: true}).end(), "run_id")); got != "one" {
		t.Errorf("the new run heard %q", got)
	}
	h.stop()
	h = l.serve(l.options())
	if rows, err := h.Revisions(t.Context()); err != nil || len(rows) != 2 || rows[0].Head || !rows[1].Head || rows[1].Revision != one {
		t.Errorf("after another start: %+v, %v", rows, err)
	}
}

func TestRollbackOfTheUserLayer(t *testing.T) {
	l := newLab(t)
	l.user("hooks/clamp.star", clamp(3))
	h := l.serve(l.options())
	three := l.publish(h, api.Publish{Layer: "user"}).Revision
	l.user("hooks/clamp.star", clamp(4))
	four := l.publish(h, api.Publish{Layer: "user"}).Revision
	res, err := h.Rollback(t.Context(), three[:12], api.Rollback{Layer: "user"})
	if err != nil || res.Revision != three || res.Parent != four {
		t.Errorf("rolled back: %+v, %v", res, err)
	}
	if got := h.limit(); got != "3" {
		t.Errorf("the limit is %s", got)
	}
	// It serves, so the project's database keeps it; published there it never was.
	for name, c := range map[string]struct {
		id, layer string
		kind      error
		says      string
	}{
		"in the project":      {three, "project", api.ErrNotFound, "was never published in the project layer"},
		"what nobody kept":    {strings.Repeat("0", 64), "user", api.ErrNotFound, revision.ErrNotFound.Error()},
		"a layer that ships":  {three, "shipped", api.ErrInvalid, "only project and user"},
		"too few of its head": {three[:3], "user", api.ErrNotFound, revision.ErrNotFound.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := h.Rollback(t.Context(), c.id, api.Rollback{Layer: c.layer}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	if got := h.limit(); got != "3" {
		t.Errorf("after the refusals the limit is %s", got)
	}
}
