package operation_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
)

// lab is a journal, hooks from a script, tools that note what they did, and a person. A restart is a
// new session over the same lab.
type lab struct {
	t       *testing.T
	journal *journaltest.Memory
	rt      *agentd.Runtime
	triple  operation.Triple
	person  *person
	at      func(place string)
	ticks   func() int64
	rival   func(c operation.Commit) // another session, which is quicker than this commit
	later   time.Duration            // since it began
	check   func(operation.WaitingRow, operation.Answer) error
	readers bool // it also hurries before those who only look

	mu    sync.Mutex
	ran   []string          // the witness: one entry an action, written by the action itself
	files map[string]string // what write actions wrote
	tries map[string]int    // actions started, by operation
	told  []string          // records, as they were told
	trace []string
}

var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Now and Nanos are the lab's clocks.
func (l *lab) Now() time.Time { return began.Add(l.later) }
func (l *lab) Nanos() int64 {
	if l.ticks != nil {
		return l.ticks()
	}
	return 0
}

// Trace implements hookpoints.Tracer.
func (l *lab) Trace(id, kind, text string) { l.trace = append(l.trace, id+" "+kind+": "+text) }

// person answers questions, "wait" (nobody is there), "allow", "for N", "deny" or "edit JSON", the next one each
// time.
type person struct {
	answers []string
	always  map[string]string // the answer about an operation, whenever it is asked about
	asked   []string
	seen    func(q operation.Question)
}

// Ask implements operation.Gate.
func (p *person) Ask(_ context.Context, q operation.Question) (operation.Answer, error) {
	line := strings.TrimSpace(q.OpID + " " + q.Prompt + " " + q.Preview)
	if q.Again != "" {
		line += " (" + q.Again + ")"
	}
	p.asked = append(p.asked, line)
	if p.seen != nil {
		p.seen(q)
	}
	next := p.always[q.OpID]
	if next == "" && len(p.answers) > 0 {
		next, p.answers = p.answers[0], p.answers[1:]
	}
	verb, rest, _ := strings.Cut(next, " ")
	switch verb {
	case "":
		return operation.Answer{}, operation.ErrWaiting
	case "for":
		n, err := strconv.Atoi(rest)
		return operation.Answer{Verb: operation.Allow, Who: "me", For: n}, err
	case "wait":
		return operation.Answer{}, operation.ErrWaiting
	case "edit":
		v, err := payload.ParseString(rest)
		if err != nil {
			return operation.Answer{}, err
		}
		return operation.Answer{Verb: "allow", Who: "me", Edit: []payload.Field{{Name: "arguments", Value: v}}}, nil
	}
	return operation.Answer{Verb: verb, Reason: rest, Who: "me"}, nil
}

func newLab(t *testing.T, script string, hooks ...agentd.GoHook) *lab {
	t.Helper()
	return openLab(t, true, script, hooks...)
}

// openLab is newLab, with a gate or without.
func openLab(t *testing.T, gate bool, script string, hooks ...agentd.GoHook) *lab {
	t.Helper()
	l := &lab{t: t, journal: journaltest.NewMemory(), files: map[string]string{}, tries: map[string]int{}, person: &person{}}
	var asks operation.Gate
	if gate {
		asks = asker{l}
	}
	var err error
	l.rt, err = agentd.Open(agentd.Options{Journal: contested{l.journal, l}, Clock: l, Monotonic: l, Gate: asks, Effects: hands{l}, Tracer: l, Hooks: hooks,
		Decided: func(h operation.Head, rec hookpoints.Record) { l.told = append(l.told, h.ID+" "+rec.BindingID) },
		At: func(place string) {
			if l.at != nil {
				l.at(place)
			}
		},
		CheckAnswer: func(w operation.WaitingRow, a operation.Answer) error {
			if l.check == nil {
				return nil
			}
			return l.check(w, a)
		}})
	if err != nil {
		t.Fatal(err)
	}
	l.serve(script)
	return l
}

// contested is the lab's journal, which another session writes to as well.
type contested struct {
	*journaltest.Memory
	l *lab
}

// Commit implements operation.Journal.
func (j contested) Commit(ctx context.Context, c operation.Commit) error {
	if j.l.rival != nil {
		j.l.rival(c)
	}
	return j.Memory.Commit(ctx, c)
}

// serve makes a script the hooks of operations to come.
func (l *lab) serve(script string) {
	l.t.Helper()
	var layers []*revision.Layer
	for _, which := range []hookpoints.Layer{hookpoints.Shipped, hookpoints.Project} {
		var files []revision.File
		if which == hookpoints.Project {
			files = []revision.File{{Path: "hooks/test.star", Text: []byte(script)}}
		}
		layer, err := l.rt.Build(l.t.Context(), which, files, layers)
		if err == nil {
			if granted := grants(layer); granted != "" {
				files = append(files, revision.File{Path: "agentd.yaml", Text: []byte("grants: {" + granted + "}")})
				layer, err = l.rt.Build(l.t.Context(), which, files, layers)
			}
		}
		if err != nil {
			l.t.Fatal(err)
		}
		layers = append(layers, layer)
	}
	g, err := l.rt.Serve(l.t.Context(), layers)
	if err != nil {
		l.t.Fatal(err)
	}
	l.triple = g.Triple
}

// grants lets every hook ask for what it declares, but for those whose id begins with "ungranted".
func grants(l *revision.Layer) string {
	var out []string
	for _, d := range l.Definitions {
		if len(d.Effects) > 0 && !strings.HasPrefix(d.HookID, "ungranted") {
			out = append(out, d.HookID+": ["+strings.Join(d.Effects, ", ")+"]")
		}
	}
	return strings.Join(out, ", ")
}

// hands does effects: it notes what it does, and how that ends is what the message says.
type hands struct{ l *lab }

// Idempotent implements operation.Effects.
func (h hands) Idempotent(name string) bool { return name == "git.commit" || name == "snapshot.create" }

// Do implements operation.Effects.
func (h hands) Do(ctx context.Context, head operation.Head, name string, args payload.Value) (payload.Value, string) {
	l := h.l
	l.mu.Lock()
	l.tries[head.ID]++
	l.ran = append(l.ran, head.ID+" "+name+" "+args.String())
	l.mu.Unlock()
	if l.at != nil {
		l.at("inside.effect")
	}
	switch message := args.Get("message").Text() + args.Get("label").Text(); {
	case ctx.Err() != nil:
		return object(field("error", text("cancelled"))), operation.Cancelled
	case message == operation.Failed || message == operation.UnknownStat:
		return object(field("error", text("it is "+message))), message
	}
	return object(field("n", payload.NewInt(int64(l.tries[head.ID])))), operation.Succeeded
}

// asker is the lab's person, who may be replaced or gone.
type asker struct{ l *lab }

func (a asker) Ask(ctx context.Context, q operation.Question) (operation.Answer, error) {
	if a.l.person == nil {
		return operation.Answer{}, operation.ErrWaiting
	}
	return a.l.person.Ask(ctx, q)
}

// session opens a session as a new process does: with what is durable of a run.
func (l *lab) session(run string) *operation.Session {
	l.t.Helper()
	s, err := l.rt.Session(l.t.Context(), "s")
	if err == nil {
		err = s.Resume(l.t.Context(), run)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) head(id, kind string) operation.Head {
	return operation.Head{ID: id, Kind: kind, RunID: "r", SessionID: "s", Revisions: l.triple, Began: began}
}

func (l *lab) around(h operation.Head, fields ...payload.Field) *hookpoints.Around {
	fields = append(fields, field("operation_id", text(h.ID)), field("session_id", text(h.SessionID)))
	if h.Instance != "" {
		fields = append(fields, field("instance_id", text(h.Instance)))
	}
	scope, err := hookpoints.NewScope(object(fields...))
	if err != nil {
		l.t.Fatal(err)
	}
	return &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}
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

func parse(t *testing.T, s string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func replaced(s, what string) string { return strings.Replace(s, what, "", 1) }
