package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
)

// desk is an agent in a folder of its own, with a journal in memory. A restart is a new session over
// the same desk.
type desk struct {
	t       *testing.T
	dir     string
	journal *journaltest.Memory
	rt      *agentd.Runtime
	triple  operation.Triple
	person  operation.Gate
	at      func(place string)

	// reply answers for the model; requests are what it was sent.
	reply    func(ctx context.Context, req model.Request, stream func(string)) (payload.Value, error)
	requests []payload.Value

	mu     sync.Mutex
	events []agent.Event
}

var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Now and Nanos are the desk's clocks.
func (d *desk) Now() time.Time { return began }
func (d *desk) Nanos() int64   { return 0 }

// Ask is the desk's person.
func (d *desk) Ask(ctx context.Context, q operation.Question) (operation.Answer, error) {
	if d.person == nil {
		return operation.Answer{}, operation.ErrWaiting
	}
	return d.person.Ask(ctx, q)
}

// newDesk makes a desk. config is the lines of the agent in agentd.yaml, without model and tools.
func newDesk(t *testing.T, hooks, config, turns string, host ...agentd.GoHook) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), journal: journaltest.NewMemory()}
	d.open(d, host...)
	t.Cleanup(func() { d.replays(t) })
	d.serve(hooks, config)
	if turns != "" {
		s, err := model.ParseScenario("turns", []byte(turns))
		if err != nil {
			t.Fatal(err)
		}
		d.reply = s.Chat
	}
	return d
}

func (d *desk) open(gate operation.Gate, host ...agentd.GoHook) {
	var err error
	d.rt, err = agentd.Open(agentd.Options{Journal: d.journal, Clock: d, Monotonic: d, Gate: gate, Vault: agentd.NewVault(), Hooks: host, At: func(place string) {
		if d.at != nil {
			d.at(place)
		}
	}})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) serve(hooks, config string) {
	d.t.Helper()
	yaml := "agents:\n  default:\n    model: {provider: scripted, name: m}\n    tools: [read_file, write_file, edit_file, search_files, shell, ask]\n"
	if !strings.Contains(config, "confirm:") {
		config += "confirm: allow\n"
	}
	for line := range strings.Lines(config) {
		yaml += "    " + line
	}
	var layers []*revision.Layer
	for which, files := range [][]revision.File{nil, {{Path: "agentd.yaml", Text: []byte(yaml)}, {Path: "hooks/test.star", Text: []byte(hooks)}}} {
		layer := []hookpoints.Layer{hookpoints.Shipped, hookpoints.Project}[which]
		l, err := d.rt.Build(d.t.Context(), layer, files, layers)
		if err != nil {
			d.t.Fatal(err)
		}
		layers = append(layers, l)
	}
	g, err := d.rt.Serve(d.t.Context(), layers)
	if err != nil {
		d.t.Fatal(err)
	}
	d.triple = g.Triple
}

// Chat implements model.Provider.
func (d *desk) Chat(ctx context.Context, req model.Request, stream func(string)) (payload.Value, error) {
	d.requests = append(d.requests, req.Messages)
	return d.reply(ctx, req, stream)
}

func (d *desk) agent() *agent.Agent {
	return agent.New(agent.Options{
		Runtime: d.rt, Workspace: d.dir,
		Provider: func(revision.Model) (model.Provider, error) { return d, nil },
		Tools: func(names []string) (*tool.Set, error) {
			return tool.New(d.dir, names, tool.Options{Extra: []tool.Tool{note{d, "note", false}, note{d, "mark", true}}})
		},
		Emit: d.emitted,
	})
}

// emitted takes an event. One that says how an operation came out must not come before the commit that
// carries what its hooks made of it.
func (d *desk) emitted(e agent.Event) {
	switch e.Type {
	case "model.completed", "tool.completed", "tool.rejected", "tool.uncertain":
		for _, f := range e.Fields {
			if f.Name == "operation_id" && !d.summary(f.Value.Text()).Whole {
				d.t.Errorf("%s of %s was told before it was durable", e.Type, f.Value.Text())
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// note is a tool that appends a line to the witness file, and so shows when it ran.
type note struct {
	d          *desk
	name       string
	idempotent bool
}

// Spec implements tool.Tool.
func (n note) Spec() tool.Spec {
	return tool.Spec{Name: n.name, ID: n.name, Kind: tool.KindOther, Description: "Notes a line.", Idempotent: n.idempotent,
		Parameters: parsed(`{"type":"object","properties":{"line":{"type":"string"}},"required":["line"],"additionalProperties":false}`)}
}

// Call implements tool.Tool.
func (n note) Call(_ context.Context, call tool.Invocation) tool.Result {
	line := call.Arguments.Get("line").Text()
	f, err := os.OpenFile(filepath.Join(n.d.dir, "witness.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		err = errors.Join(err, f.Close())
	}
	if n.d.at != nil {
		n.d.at("inside." + n.name)
	}
	if err != nil {
		return tool.Errorf("%w", err)
	}
	return tool.Result{Value: object(field("noted", text(line))), Status: tool.Succeeded}
}

// witness is the lines of the witness file.
func (d *desk) witness() []string {
	text, err := os.ReadFile(filepath.Join(d.dir, "witness.txt"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func (d *desk) task(run, text string) agent.Task {
	return agent.Task{RunID: run, SessionID: "s", Text: text, Revisions: d.triple}
}

// start runs a task, or goes on with what is durable of it.
func (d *desk) start(ctx context.Context, t agent.Task) (agent.Result, error) {
	d.t.Helper()
	s, err := d.rt.Session(d.t.Context(), t.SessionID)
	if err == nil {
		err = s.Resume(d.t.Context(), t.RunID)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return d.agent().Run(ctx, s, t)
}

func (d *desk) run(t agent.Task) agent.Result {
	d.t.Helper()
	res, err := d.start(d.t.Context(), t)
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}

// want runs a task and compares its status and answer.
func (d *desk) want(t agent.Task, status, answer string) agent.Result {
	d.t.Helper()
	res := d.run(t)
	if res.Status != status || res.Answer != answer {
		d.t.Fatalf("the run is %+v, want %s with the answer %q", res, status, answer)
	}
	return res
}

func (d *desk) summary(op string) operation.Summary {
	d.t.Helper()
	rows, err := d.journal.Rows(d.t.Context(), op)
	if err != nil {
		d.t.Fatal(err)
	}
	return operation.Summarise(rows)
}

// lastRequest is what the model was sent last, without the system message.
func (d *desk) lastRequest() string {
	if len(d.requests) == 0 {
		return ""
	}
	return transcript(d.requests[len(d.requests)-1])
}

// transcript is a line a message.
func transcript(messages payload.Value) string {
	var b strings.Builder
	for m := range messages.Items() {
		content := strings.ReplaceAll(m.Get("content").Text(), "\n", "\\n")
		switch role := m.Get("role").Text(); role {
		case "system":
		case "tool":
			fmt.Fprintf(&b, "tool %s: %s\n", m.Get("tool_call_id").Text(), content)
		default:
			var calls []string
			for c := range m.Get("tool_calls").Items() {
				calls = append(calls, fmt.Sprintf(" -> %s %s", c.Get("function").Get("name").Text(), c.Get("function").Get("arguments").Text()))
			}
			fmt.Fprintf(&b, "%s: %s%s\n", role, content, strings.Join(calls, ""))
		}
	}
	return b.String()
}

// told is a line an event, without ids.
func (d *desk) told(skip ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, e := range d.events {
		if slices.Contains(skip, e.Type) {
			continue
		}
		b.WriteString(e.Type)
		for _, f := range e.Fields {
			if s := f.Value.String(); f.Value.Exists() && s != `""` && s != "null" && f.Name != "operation_id" && f.Name != "agent" {
				fmt.Fprintf(&b, " %s=%s", f.Name, s)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func text(s string) payload.Value                      { return payload.NewString(s) }
func object(fields ...payload.Field) payload.Value     { return payload.NewObject(fields...) }
func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }

func parsed(s string) payload.Value {
	v, err := payload.ParseString(s)
	if err != nil {
		panic(err)
	}
	return v
}
