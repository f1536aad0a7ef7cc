package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
)

// say is a hook that says a word about every shell call.
func says(word string) string {
	return fmt.Sprintf(`
def note(ctx, call):
    return annotate(word = %q)

hook(id = "note", version = "v1", run = note, point = "tool.before", kinds = ["shell"])
`, word)
}

// words are what the hooks of a run said, call by call.
func (h *host) words(run string) string {
	h.l.t.Helper()
	ops, err := h.Operations(h.l.t.Context(), api.OperationFilter{Run: run, Kind: "tool"})
	if err != nil {
		h.l.t.Fatal(err)
	}
	var out []string
	for _, o := range ops {
		op, err := h.Operation(h.l.t.Context(), o.ID, false)
		if err != nil {
			h.l.t.Fatal(err)
		}
		for _, r := range op.Records {
			out = append(out, text(r.Annotations, "word"))
		}
	}
	return strings.Join(out, " ")
}

func TestNewHeadServesNewRunsAndOldOnesStayWithTheirs(t *testing.T) {
	l := newLab(t)
	l.project("hooks/note.star", says("old"))
	m := l.model("ask", shell("c1", "true"), shell("c2", "true"), say("Done."), shell("c1", "true"), say("Done."))
	h := l.published()
	f := h.run(api.StartRun{Task: "one", Interactive: true})
	first := f.until("question")
	l.project("hooks/note.star", says("new"))
	res := l.publish(h, api.Publish{Note: "second"})
	if res.Parent == "" || len(res.Changed) == 0 || res.Bindings[0] != "project/note" {
		t.Errorf("published: %+v", res)
	}
	for q := first; ; q = f.until("question") {
		if _, err := h.Answer(t.Context(), text(q, "question", "id"), api.Answer{Verb: "allow"}); err != nil {
			t.Fatal(err)
		}
		if q.String() != first.String() {
			break
		}
	}
	f.end()
	if got := h.words(text(first, "run_id")); got != "old old" {
		t.Errorf("the run that was going on heard %q", got)
	}
	second := text(h.run(api.StartRun{Task: "two", Yes: true}).end(), "run_id")
	if got := h.words(second); got != "new" {
		t.Errorf("the new run heard %q", got)
	}
	rows, err := h.Revisions(t.Context())
	if err != nil || len(rows) != 2 || !rows[0].Head || rows[0].Note != "second" || rows[1].Head {
		t.Errorf("revisions: %+v, %v", rows, err)
	}
	_ = m
}

func TestFailingTestsPublishNothing(t *testing.T) {
	l := newLab(t)
	l.project("hooks/clamp.star", clamp(7))
	h := l.published()
	l.project("hooks/clamp.star", clamp(9))
	l.project("hooks/clamp_test.star", `
def test_seven():
    got = decide("tool.before", {"name": "read_file", "tool_id": "read_file", "implementation_id": None, "parameters": {}, "arguments": {}})
    assert.eq(got.payload.arguments.limit, 7)
`)
	res, err := h.Publish(t.Context(), api.Publish{})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Errors) != 1 || res.Errors[0].File != "hooks/clamp_test.star" || res.Errors[0].Line != 4 || !strings.Contains(res.Errors[0].Message, "test_seven failed") || res.Revision != "" {
		t.Errorf("published: %+v", res)
	}
	if got := h.limit(); got != "7" {
		t.Errorf("the limit is %s", got)
	}
	if rows, err := h.Revisions(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("revisions: %+v, %v", rows, err)
	}
	for name, want := range map[string]string{"shipped": "only project and user", "other": "only project and user"} {
		if _, err := h.Publish(t.Context(), api.Publish{Layer: name}); !errors.Is(err, api.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("the layer %s: %v", name, err)
		}
	}
}

func TestPublishingTheSameAgainChangesNothing(t *testing.T) {
	l := newLab(t)
	l.project("hooks/clamp.star", clamp(7))
	h := l.serve(l.options())
	first := l.publish(h, api.Publish{Note: "first"})
	again := l.publish(h, api.Publish{Note: "again"})
	if again.Revision != first.Revision || len(again.Changed) != 0 {
		t.Errorf("%+v, then %+v", first, again)
	}
	if rows, err := h.Revisions(t.Context()); err != nil || len(rows) != 1 || rows[0].Note != "first" {
		t.Errorf("revisions: %+v, %v", rows, err)
	}
}

func TestManyPublishAtOnce(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	l.project("hooks/clamp.star", clamp(1))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if res, err := h.Publish(t.Context(), api.Publish{Note: fmt.Sprint(i)}); err != nil || len(res.Errors) > 0 {
				t.Errorf("%+v, %v", res, err)
			}
		})
		wg.Go(func() {
			if _, err := h.Status(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := h.limit(); got != "1" {
		t.Errorf("the limit is %s", got)
	}
}

func TestUserLayerIsPublishedIntoTheUsersDatabaseAndServesEveryProject(t *testing.T) {
	l := newLab(t)
	l.user("hooks/clamp.star", clamp(3))
	h := l.serve(l.options())
	res := l.publish(h, api.Publish{Layer: "user"})
	if res.Bindings[0] != "user/clamp" {
		t.Errorf("published: %+v", res)
	}
	if got := h.limit(); got != "3" {
		t.Errorf("the limit is %s", got)
	}
	if rows, err := h.Revisions(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("the project's database lists %+v, %v", rows, err)
	}
	h.stop()
	other := l.options()
	l.mkdir(filepath.Join(l.dir, "q", ".agentd"))
	other.Places = l.find(filepath.Join(l.dir, "q"))
	h = l.serve(other)
	if got := h.limit(); got != "3" {
		t.Errorf("in another project the limit is %s", got)
	}
	// A run there is pinned to it, and goes on when the user's database is gone.
	m := modeltest.New(nil, modeltest.Turn{Hold: true})
	t.Cleanup(m.Close)
	l.put(filepath.Join(l.dir, "q", ".agentd", "agentd.yaml"), fmt.Sprintf("agents: {default: {model: {provider: openai, name: m, base_url: %q}, tools: [read_file], confirm: allow}}\n", m.URL))
	l.publish(h, api.Publish{})
	f := h.run(api.StartRun{Task: "x"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	h.stop()
	f.end()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		l.remove(l.places.UserDatabase() + suffix)
	}
	m.Add(modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "read_file", Arguments: `{"path":"f","limit":50}`}}}, say("Done."))
	h = l.serve(other)
	if got := h.limit(); got != "5000" {
		t.Errorf("without the user's revision the limit is %s", got)
	}
	if last := h.resume(run, api.ResumeRun{RetryUnknownModels: true}).end(); text(last, "status") != "completed" {
		t.Errorf("the run ended with %s", last)
	}
	op, err := h.Operation(t.Context(), run+"/t1/s1/c1", false)
	if err != nil || text(op.FinalInput, "arguments", "limit") != "3" {
		t.Errorf("its call ran with %s, %v", op.FinalInput, err)
	}
}

func (l *lab) remove(path string) {
	l.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		l.t.Fatal(err)
	}
}

func TestProjectCanNotTouchTheUsersHooks(t *testing.T) {
	for name, yaml := range map[string]string{
		"replace":      "hooks: [{binding_id: user/clamp, hook_id: clamp, point: tool.before}]\n",
		"disable":      "hooks: [{binding_id: user/clamp, enabled: false}]\n",
		"of the house": "hooks: [{binding_id: shipped/anything, enabled: false}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.user("hooks/clamp.star", clamp(3))
			h := l.serve(l.options())
			l.publish(h, api.Publish{Layer: "user"})
			l.project("agentd.yaml", yaml)
			res, err := h.Publish(t.Context(), api.Publish{})
			if err != nil || len(res.Errors) == 0 || res.Errors[0].File != "agentd.yaml" {
				t.Errorf("published: %+v, %v", res, err)
			}
			if got := h.limit(); got != "3" {
				t.Errorf("the limit is %s", got)
			}
		})
	}
	t.Run("an id that looks the same is another binding", func(t *testing.T) {
		l := newLab(t)
		l.user("hooks/clamp.star", clamp(3))
		l.project("hooks/clamp.star", strings.Replace(clamp(9), `run = clamp`, `run = clamp, priority = 1`, 1))
		h := l.serve(l.options())
		l.publish(h, api.Publish{Layer: "user"})
		l.publish(h, api.Publish{})
		if got := h.limit(); got != "3" { // the user's comes later and wins
			t.Errorf("the limit is %s", got)
		}
		rows, err := h.Hooks(t.Context())
		if err != nil || len(rows) != 2 {
			t.Errorf("hooks: %+v, %v", rows, err)
		}
	})
}

func TestDevStoresAGenerationBeforeItServesSoThatItsRunsGoOn(t *testing.T) {
	l := newLab(t)
	l.project("hooks/note.star", says("dev"))
	m := l.model("ask", shell("c1", "true"), shell("c2", "true"), say("Done."))
	o := l.options()
	o.Dev = true
	l.trust()
	h := l.serve(o)
	f := h.run(api.StartRun{Task: "one", Interactive: true})
	q := f.until("question")
	run := text(q, "run_id")

	// The files change while the run waits; the run stays with its own.
	events := h.listen()
	l.project("hooks/note.star", says("edited"))
	events.until("generation.active")
	if _, err := h.Answer(t.Context(), text(q, "question", "id"), api.Answer{Verb: "allow"}); err != nil {
		t.Fatal(err)
	}
	f.until("question")
	f.cancel()
	events.until("run.waiting")
	events.cancel()
	if rows, err := h.Revisions(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("unlisted revisions are listed: %+v, %v", rows, err)
	}
	h.stop()

	l.remove(filepath.Join(l.places.Project, ".agentd", "hooks"))
	h = l.serve(l.options()) // not even in dev mode
	if last := h.resume(run, api.ResumeRun{Yes: true}).end(); text(last, "status") != "completed" {
		t.Errorf("the run ended with %s", last)
	}
	if got := h.words(run); got != "dev dev" {
		t.Errorf("its hooks said %q", got)
	}
	if len(m.Requests()) != 3 {
		t.Errorf("the model was asked %d times", len(m.Requests()))
	}
}

func TestDevKeepsTheLastGoodFiles(t *testing.T) {
	l := newLab(t)
	l.project("hooks/clamp.star", clamp(7))
	o := l.options()
	o.Dev = true
	l.trust()
	h := l.serve(o)
	if got := h.limit(); got != "7" {
		t.Fatalf("the limit is %s when it says that it is ready", got)
	}
	events := h.listen()
	defer events.cancel()
	hooks := filepath.Join(l.places.Project, ".agentd", "hooks")
	whole := clamp(8)
	for _, step := range []struct {
		name   string
		do     func()
		event  string
		limit  string
		errors int
	}{
		{"half a file", func() { l.project("hooks/clamp.star", whole[:len(whole)/2]) }, "generation.refused", "7", 1},
		{"the other half", func() { l.project("hooks/clamp.star", whole) }, "generation.active", "8", 0},
		{"a broken agentd.yaml", func() { l.project("agentd.yaml", "hooks: [\n") }, "generation.refused", "8", 1},
		{"mended", func() { l.project("agentd.yaml", "hooks: []\n") }, "generation.unchanged", "8", 0},
		{"deleted", func() { l.remove(hooks) }, "generation.active", "5000", 0},
		{"made again", func() { l.project("hooks/clamp.star", clamp(9)) }, "generation.active", "9", 0},
		{"the user's comes", func() { l.user("hooks/more.star", strings.ReplaceAll(clamp(2), `"clamp"`, `"more"`)) }, "generation.active", "9", 0},
		{"by a link", func() {
			l.put(filepath.Join(l.dir, "elsewhere.star"), clamp(4))
			l.remove(filepath.Join(hooks, "clamp.star"))
			if err := os.Symlink(filepath.Join(l.dir, "elsewhere.star"), filepath.Join(hooks, "clamp.star")); err != nil {
				t.Fatal(err)
			}
		}, "generation.active", "4", 0},
	} {
		step.do()
		for { // a deletion and what replaces it may be seen as two
			events.until(step.event)
			if step.event != "generation.active" || h.limit() == step.limit {
				break
			}
		}
		if got := h.limit(); got != step.limit {
			t.Errorf("%s: the limit is %s, want %s", step.name, got, step.limit)
		}
		s, err := h.Status(t.Context())
		if err != nil || len(s.Errors) != step.errors || s.Mode != "dev" {
			t.Errorf("%s: status %+v, %v", step.name, s, err)
		}
	}
}

func TestDevSaysWhatKeepsTheFirstFilesFromServing(t *testing.T) {
	l := newLab(t)
	l.project("hooks/clamp.star", "def")
	o := l.options()
	o.Dev = true
	l.trust()
	h := l.serve(o)
	s, err := h.Status(t.Context())
	if err != nil || len(s.Errors) != 1 || s.Errors[0].File != "hooks/clamp.star" || s.Errors[0].Line != 1 {
		t.Errorf("status %+v, %v", s, err)
	}
	if got := h.limit(); got != "5000" {
		t.Errorf("the limit is %s", got)
	}
}
