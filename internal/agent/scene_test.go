package agent_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

// scene is an agent over a real store, with witnesses: the tools, the model, whoever reads events and is
// told of decisions, the person who is asked. Each notes what it sees in one list, and so does the
// journal, once a commit is durable. A witness that sees something which the store doesn't hold yet fails
// the test. Nothing here depends on time: who has to wait waits for a line of the list.
type scene struct {
	t      *testing.T
	rt     *agentd.Runtime
	store  *store.Store
	dir    string
	triple operation.Triple
	model  model.Provider
	answer string // of the person, "" if nobody can be asked
	failAt int    // the commit that fails, from 1; 0: none
	lost   bool   // it fails, and is durable all the same
	wall   func() time.Time
	nanos  func() int64

	mu      sync.Mutex
	list    []string
	changed chan struct{}
	commits int
	asked   int
}

func newScene(t *testing.T, hooks, config, turns string) *scene {
	t.Helper()
	c := &scene{t: t, dir: t.TempDir(), changed: make(chan struct{})}
	var err error
	if c.store, err = store.Open(t.Context(), filepath.Join(c.dir, "agentd.db"), store.Options{Clock: c}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.store.Close() })
	if c.model, err = model.ParseScenario("turns", []byte(turns)); err != nil {
		t.Fatal(err)
	}
	c.rt, err = agentd.Open(agentd.Options{Journal: watchedJournal{c.store, c}, Clock: c, Monotonic: c, Gate: c, Tracer: c, Decided: c.decided})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, rt: c.rt}
	d.serve(hooks, config)
	c.triple = d.triple
	return c
}

// Now implements operation.Clock.
func (c *scene) Now() time.Time {
	if c.wall != nil {
		return c.wall()
	}
	return began
}

// Nanos implements hookpoints.Clock.
func (c *scene) Nanos() int64 {
	if c.nanos != nil {
		return c.nanos()
	}
	return 0
}

// note puts a line into the list.
func (c *scene) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until a line is in the list.
func (c *scene) await(ctx context.Context, line string) error {
	for {
		c.mu.Lock()
		there, changed := slices.Contains(c.list, line), c.changed
		c.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%q didn't come: %w", line, ctx.Err())
		}
	}
}

// watchedJournal notes each commit once it is durable.
type watchedJournal struct {
	operation.Journal
	c *scene
}

// Commit implements operation.Journal.
func (j watchedJournal) Commit(ctx context.Context, commit operation.Commit) error {
	c := j.c
	c.mu.Lock()
	c.commits++
	fails := c.commits == c.failAt
	c.mu.Unlock()
	if fails && !c.lost {
		return errors.New("no space left")
	}
	if err := j.Journal.Commit(ctx, commit); err != nil {
		return err
	}
	if fails {
		return errors.New("nobody knows whether there was space left")
	}
	var what []string
	for _, r := range commit.Rows {
		what = append(what, string(r.Key().Stage)+" "+short(r.Key().Op))
	}
	for _, cell := range commit.Cells {
		what = append(what, "state "+cell.Name)
	}
	c.note("commit %s", strings.Join(what, ", "))
	return nil
}

// short is an operation's id without its run and turn.
func short(op string) string {
	op = strings.TrimPrefix(strings.TrimPrefix(op, "r/"), "t1/")
	return map[string]string{"r": "run", "t1": "turn"}[op] + map[bool]string{false: op}[op == "r" || op == "t1"]
}

// rows are the rows of an operation that are durable.
func (c *scene) rows(op string) []operation.Row {
	rows, err := c.store.Rows(context.Background(), op)
	if err != nil {
		c.t.Error(err)
	}
	return rows
}

// whole fails the test unless everything about an operation is durable.
func (c *scene) whole(op, who string) {
	if !operation.Summarise(c.rows(op)).Whole {
		c.t.Errorf("%s before everything about %s was durable", who, op)
	}
}

// emitted is who reads events.
func (c *scene) emitted(e agent.Event) {
	op := e.RunID
	for _, f := range e.Fields {
		if f.Name == "operation_id" {
			op = f.Value.Text()
		}
	}
	switch e.Type {
	case "model.completed", "tool.completed", "tool.rejected", "tool.uncertain":
		c.whole(op, e.Type)
	case "run.started", "tool.started":
		c.intended(op, e.Type)
	case "model.delta":
		c.note("event %s", e.Type)
		return
	default:
		c.t.Errorf("nobody knows when an event %s may come", e.Type)
	}
	c.note("event %s %s", e.Type, short(op))
}

// intended fails the test unless the intent of an operation is durable, and no outcome is.
func (c *scene) intended(op, who string) {
	sum := operation.Summarise(c.rows(op))
	if sum.State != operation.Unknown && sum.State != operation.Running {
		c.t.Errorf("%s of %s, which is %s in the journal", who, op, sum.State)
	}
}

// decided is who is told of decisions: a row must hold the record.
func (c *scene) decided(h operation.Head, rec hookpoints.Record) {
	found := false
	for _, r := range c.rows(h.ID) {
		chains, _ := operation.ChainsIn(r)
		found = found || slices.ContainsFunc(chains.Records, func(o hookpoints.Record) bool {
			return o.BindingID == rec.BindingID && o.Point == rec.Point && o.Decision == rec.Decision && o.Error == rec.Error
		})
	}
	if !found {
		c.t.Errorf("told that %s decided %q at %s of %s, which no row holds", rec.BindingID, rec.Decision, rec.Point, h.ID)
	}
	c.note("told %s at %s of %s", strings.TrimPrefix(rec.BindingID, "project/"), rec.Point, short(h.ID))
}

// Trace notes what hooks print: that they run.
func (c *scene) Trace(id, kind, text string) {
	c.note("hook %s: %s", strings.TrimPrefix(id, "project/"), text)
}

// Chat is the model: what it is sent is durable, with the end of every operation that the request tells of.
func (c *scene) Chat(ctx context.Context, req model.Request, stream func(string)) (payload.Value, error) {
	rows, err := c.store.RunRows(ctx, "r")
	if err != nil {
		c.t.Error(err)
	}
	c.asked++
	sent := false
	for _, r := range rows {
		row, ok := r.(operation.IntentRow)
		switch {
		case !ok || row.Head.Composite:
		case row.Head.Kind == "tool":
			c.whole(row.Head.ID, "the model is asked")
		case operation.Summarise(c.rows(row.Head.ID)).State == operation.Unknown:
			sent = sent || row.Final.Get("messages").String() == req.Messages.String()
		}
	}
	if !sent {
		c.t.Errorf("request %d stands in no intent", c.asked)
	}
	c.note("request %d: %s", c.asked, strings.Join(strings.Fields(transcript(payload.NewArray(slices.Collect(req.Messages.Items())[req.Messages.Len()-1:]))), " "))
	return c.model.Chat(ctx, req, stream)
}

// CanAsk and Ask are the person: a question is durable before they see it.
func (c *scene) CanAsk(string) bool { return c.answer != "" }

// Ask implements operation.Gate.
func (c *scene) Ask(_ context.Context, q operation.Question) (operation.Answer, error) {
	if operation.Summarise(c.rows(q.OpID)).State != operation.Waiting {
		c.t.Errorf("asked about %s, which doesn't wait in the journal", q.OpID)
	}
	c.note("asked about %s", short(q.OpID))
	return operation.Answer{Verb: c.answer, Who: "me"}, nil
}

// prop is a tool that notes when it begins and ends; in between it waits for lines.
type prop struct {
	c    *scene
	name string
	kind tool.Kind
}

// Spec implements tool.Tool.
func (p prop) Spec() tool.Spec {
	return tool.Spec{Name: p.name, ID: p.name, Kind: p.kind, Description: "Waits.",
		Parameters: parsed(`{"type":"object","properties":{"after":{"type":"array","items":{"type":"string"}},"fails":{"type":"string"}},"additionalProperties":false}`)}
}

// Call implements tool.Tool.
func (p prop) Call(ctx context.Context, call tool.Invocation) tool.Result {
	p.c.intended(call.Key, "a call")
	p.c.note("%s begins", short(call.Key))
	for line := range call.Arguments.Get("after").Items() {
		if err := p.c.await(ctx, line.Text()); err != nil {
			return tool.Errorf("%w", err)
		}
	}
	p.c.note("%s ends", short(call.Key))
	if fails := call.Arguments.Get("fails").Text(); fails != "" {
		return tool.Errorf("%s", fails)
	}
	return tool.Result{Value: text("raw " + short(call.Key)), Status: tool.Succeeded}
}

// play runs the scene to its end.
func (c *scene) play(ctx context.Context) (agent.Result, error) {
	c.t.Helper()
	c.mu.Lock()
	c.commits = 0 // of the scene only
	c.mu.Unlock()
	s, err := c.rt.Session(ctx, "s")
	if err == nil {
		err = s.Resume(ctx, "r")
	}
	if err != nil {
		c.t.Fatal(err)
	}
	a := agent.New(agent.Options{Runtime: c.rt, Workspace: c.dir, Emit: c.emitted,
		Provider: func(revision.Model) (model.Provider, error) { return c, nil },
		Tools: func(names []string) (*tool.Set, error) {
			return tool.New(c.dir, names, tool.Options{Extra: []tool.Tool{
				prop{c, "peek", tool.KindRead}, prop{c, "look", tool.KindSearch}, prop{c, "pull", tool.KindFetch}, prop{c, "turn", tool.KindOther}, prop{c, "twist", tool.KindMCP}}})
		}})
	return a.Run(ctx, s, agent.Task{RunID: "r", SessionID: "s", Text: "do it", Revisions: c.triple})
}
