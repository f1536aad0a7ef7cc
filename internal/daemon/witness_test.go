package daemon

import (
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
)

// TestToDecideIsToSaveNothing asks for decisions that remember, reject and annotate: POST /v1/decide
// answers at once, as there is nothing to commit, and the journal and the events stay as they are.
func TestToDecideIsToSaveNothing(t *testing.T) {
	l := newLab(t)
	l.project("hooks/a.star", `
def count(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), annotate(n = ctx.state.get("n", 0)), reject("no")]

hook(id = "count", version = "v1", run = count, point = "tool.before", state = {"name": "n", "scope": "project"})
`)
	h := l.published()
	seen := h.d.bus.next()
	for range 3 {
		res, err := h.Decide(t.Context(), agentd.DecideRequest{Point: "tool.before", Payload: parse(t, readCall)})
		if err != nil || res.Outcome != "rejected" || res.Annotations.Get("n").String() != "0" {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	ops, err := h.Operations(t.Context(), api.OperationFilter{})
	if err != nil || len(ops) > 0 {
		t.Errorf("%d operations, %v", len(ops), err)
	}
	cells, err := h.d.store.Cells(t.Context(), "s")
	if err != nil || len(cells) > 0 {
		t.Errorf("state: %v, %v", cells, err)
	}
	if now := h.d.bus.next(); now != seen {
		t.Errorf("%d events were told", now-seen)
	}
}

// TestWhoReadsEventsNeverSeesMoreThanTheJournalHolds makes commits fail one after the other: what came
// over the stream of events until then must be in the database, and a later failure adds nothing.
func TestWhoReadsEventsNeverSeesMoreThanTheJournalHolds(t *testing.T) {
	for _, stage := range []string{"intent", "outcome", "after"} {
		for n := range 5 {
			l := newLab(t)
			l.model("allow", shell("c1", "echo one >> witness"), say("All done."))
			l.project("hooks/a.star", `
hook(id = "look", version = "v1", run = lambda ctx, call: annotate(seen = True), point = ["tool.before", "tool.after", "turn.after"], observation = True)
hook(id = "hide", version = "v1", run = lambda ctx, call: None, point = "model.chat.after")
`)
			h := l.published()
			l.sql("CREATE TRIGGER fails BEFORE INSERT ON rows WHEN NEW.stage = '" + stage + "' AND (SELECT count(*) FROM rows WHERE stage = '" + stage + "') >= " + string(rune('0'+n)) +
				" BEGIN SELECT RAISE(ABORT, 'no space left'); END")
			f := h.run(api.StartRun{Task: "do it"})
			last := f.end()
			if n < 4 != (text(last, "type") == "run.failed") {
				t.Errorf("%s %d: it ended with %s", stage, n, last)
			}
			for _, e := range f.seen {
				v, err := payload.Parse(e.Data)
				if err != nil {
					t.Fatal(err)
				}
				id := v.Get("operation_id").Text()
				if id == "" {
					continue
				}
				op, err := h.Operation(t.Context(), id, false)
				switch {
				case err != nil:
					t.Errorf("%s %d: %s of %s: %v", stage, n, e.Type, id, err)
				case e.Type == "hook.decided" && !holds(op, v.Get("record").Get("point").Text()):
					t.Errorf("%s %d: %s tells of %s, which has only %+v", stage, n, e.Data, id, op.Records)
				case strings.HasSuffix(e.Type, ".completed") && !op.Output.Exists():
					t.Errorf("%s %d: %s of %s, which has no output", stage, n, e.Type, id)
				}
			}
		}
	}
}

func holds(op api.Operation, point string) bool {
	for _, rec := range op.Records {
		if rec.Point == point {
			return true
		}
	}
	return false
}
