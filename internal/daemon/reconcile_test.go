package daemon

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/model/modeltest"
	"agentd/operation"
)

// A model's call whose answer was lost is settled by a person, while its run isn't going on, with
// something that is a reply.
func TestAPersonSaysWhatAModelSaid(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "x"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	op := run + "/t1/s1/m1"
	reply, err := payload.ParseString(`{"role":"assistant","content":"As I saw it."}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Reconcile(t.Context(), op, api.Reconcile{Verb: operation.SettleSucceeded, Value: reply}); !errors.Is(err, api.ErrBusy) {
		t.Errorf("while the run goes on: %v", err)
	}
	h.stop()
	f.end()
	h = l.serve(l.options())
	for _, q := range []struct {
		op   string
		q    api.Reconcile
		want error // a conflict is told as busy
	}{
		{"op-nobody", api.Reconcile{Verb: operation.Retry}, api.ErrNotFound},
		{op, api.Reconcile{Verb: "no"}, api.ErrBusy},
		{op, api.Reconcile{Verb: operation.SettleSucceeded}, api.ErrInvalid},
		{op, api.Reconcile{Verb: operation.SettleSucceeded, Value: payload.NewString("Done.")}, api.ErrInvalid},
		{run, api.Reconcile{Verb: operation.Retry}, api.ErrBusy},
	} {
		if _, err := h.Reconcile(t.Context(), q.op, q.q); !errors.Is(err, q.want) {
			t.Errorf("%s %+v: %v", q.op, q.q, err)
		}
	}
	res := h.raw("POST", "/v1/operations/"+op, "application/json", `{}`)
	res.Body.Close()
	if res.StatusCode != 404 {
		t.Errorf("without the verb: %d", res.StatusCode)
	}
	res = h.raw("POST", "/v1/operations/"+op+"/reconcile", "application/json", `{"verb":"succeeded","value":`+reply.String()+`}`)
	var got api.Operation
	err = json.NewDecoder(res.Body).Decode(&got)
	res.Body.Close()
	if err != nil || got.State != operation.Finished || got.ActualStatus != operation.Succeeded || got.By != "a person" {
		t.Errorf("%+v, %v", got, err)
	}
	last := h.resume(run, api.ResumeRun{}).end()
	if text(last, "status") != "completed" || !strings.Contains(last.String(), "As I saw it.") {
		t.Errorf("the run ended with %s", last)
	}
}
