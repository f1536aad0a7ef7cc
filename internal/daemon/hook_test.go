package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/internal/api"
	"agentd/operation"
	"agentd/revision"
)

const guards = `
def no_touch(ctx, call):
    if call.arguments.command.startswith("touch"):
        return reject("touch nothing")
    if call.arguments.command.startswith("crash"):
        return ctx.nothing

def rewrite(ctx, call):
    if call.arguments.command == "ls":
        return patch(arguments = call.arguments | {"command": "ls -l"})

hook(id = "no-touch", version = "v1", run = no_touch, point = "tool.before", kinds = ["shell"], guard = True)
hook(id = "rewrite", version = "v1", run = rewrite, point = "tool.before", kinds = ["shell"])
`

// event is one of Gemini CLI's for a shell command; input is its tool_input as written.
func event(name, session, input string) []byte {
	response := ""
	if name == "AfterTool" {
		response = `,"tool_response":{"llmContent":"out"}`
	}
	return fmt.Appendf(nil, `{"hook_event_name":%q,"session_id":%q,"cwd":"/","tool_name":"run_shell_command","tool_input":%s%s}`, name, session, input, response)
}

func (h *host) hook(stdin []byte) string {
	h.l.t.Helper()
	return h.hookOf("gemini", stdin)
}

func (h *host) hookOf(client string, stdin []byte) string {
	h.l.t.Helper()
	out, exit, err := h.Hook(h.l.t.Context(), client, "", stdin)
	if err != nil || exit != 0 {
		h.l.t.Fatalf("exit %d, %v", exit, err)
	}
	return strings.TrimSpace(string(out))
}

func (h *host) foreign() []api.Operation {
	h.l.t.Helper()
	ops, err := h.Operations(h.l.t.Context(), api.OperationFilter{Client: "gemini"})
	if err != nil {
		h.l.t.Fatal(err)
	}
	return slices.DeleteFunc(ops, func(op api.Operation) bool { return op.Kind != "tool" })
}

func TestAfterEventIsMatchedByWhatItSaysAndNotByHowItIsSpelled(t *testing.T) {
	const asked = `{"command":"é/😀 \"x\"","n":1.0,"list":[1,{"a":null}]}`
	for name, c := range map[string]struct {
		before, after string
		match         bool
	}{
		"the same bytes":          {asked, asked, true},
		"white space":             {asked, "{ \"command\" : \"é/😀 \\\"x\\\"\",\n\t\"n\": 1.0, \"list\": [ 1, { \"a\": null } ] }", true},
		"escapes":                 {asked, `{"command":"\u00e9\/\ud83d\ude00 \"x\"","n":1.0,"list":[1,{"a":null}]}`, true},
		"the order of fields":     {asked, `{"n":1.0,"list":[1,{"a":null}],"command":"é/😀 \"x\""}`, true},
		"the spelling of numbers": {asked, `{"command":"é/😀 \"x\"","n":1,"list":[1e0,{"a":null}]}`, true},
		"as it was answered":      {`{"command":"ls"}`, `{"command":"ls -l"}`, true},
		"as it was asked":         {`{"command":"ls"}`, `{"command":"ls"}`, true},
		"another value":           {asked, `{"command":"e/😀 \"x\"","n":1.0,"list":[1,{"a":null}]}`, false},
		"another number":          {asked, `{"command":"é/😀 \"x\"","n":1.5,"list":[1,{"a":null}]}`, false},
		"another order of items":  {`{"command":"a","l":[1,2]}`, `{"command":"a","l":[2,1]}`, false},
		"large numbers, the same": {`{"command":"a","n":12345678901234567890}`, `{"command":"a","n":12345678901234567890}`, true},
		"large numbers, another":  {`{"command":"a","n":12345678901234567890}`, `{"command":"a","n":12345678901234567891}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.project("hooks/guards.star", guards)
			h := l.published()
			h.hook(event("BeforeTool", "s", c.before))
			h.hook(event("AfterTool", "s", c.after))
			ops := h.foreign()
			if matched := len(ops) == 1; matched != c.match {
				t.Fatalf("%d operations: %+v", len(ops), ops)
			}
			if last := ops[len(ops)-1]; last.State != operation.Finished {
				t.Errorf("it is %s", last.State)
			}
		})
	}
}

func TestEqualCallsAreMatchedOldestFirst(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	for range 3 {
		h.hook(event("BeforeTool", "s", `{"command":"a"}`))
	}
	h.hook(event("AfterTool", "s", `{"command":"a"}`))
	var states []string
	for _, op := range h.foreign() {
		states = append(states, string(op.State))
	}
	if got := strings.Join(states, " "); got != "finished unobserved unobserved" && got != "finished running running" {
		t.Errorf("states: %s", got)
	}
	if sum, err := h.Operation(t.Context(), h.foreign()[0].ID, true); err != nil || text(sum.Output) != "out" {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestHookDeniesWhatItCanNotDecide(t *testing.T) {
	l := newLab(t)
	l.project("hooks/guards.star", guards)
	h := l.published()
	for name, c := range map[string]struct {
		stdin []byte
		want  string
	}{
		"no JSON":          {[]byte("{"), "agentd can't decide this: gemini's event"},
		"nothing":          {nil, "agentd can't decide this: gemini's event"},
		"no name":          {[]byte(`{"session_id":"s"}`), "has no hook_event_name"},
		"no tool":          {[]byte(`{"hook_event_name":"BeforeTool","tool_input":{}}`), "has no tool_name"},
		"an input of text": {[]byte(`{"hook_event_name":"BeforeTool","tool_name":"x","tool_input":"y"}`), "no tool_input object"},
		"a field twice":    {[]byte(`{"hook_event_name":"BeforeTool","hook_event_name":"X","tool_name":"x","tool_input":{}}`), "duplicate"},
		"a hook's no":      {event("BeforeTool", "s", `{"command":"touch x"}`), "touch nothing"},
		"a failed hook":    {event("BeforeTool", "s", `{"command":"crash"}`), "the hook project/no-touch failed (hook_failed)"},
		"half a surrogate": {event("BeforeTool", "s", `{"command":"\ud800"}`), "agentd can't decide this"},
	} {
		t.Run(name, func(t *testing.T) {
			out := parse(t, h.hook(c.stdin))
			if text(out, "decision") != "deny" || !strings.Contains(text(out, "reason"), c.want) {
				t.Errorf("got %s, want a denial with %q", out, c.want)
			}
		})
	}
	if _, _, err := h.Hook(t.Context(), "nobody", "", nil); !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), `agentd speaks `) {
		t.Errorf("a client that nobody knows: %v", err)
	}
}

func TestHookDeniesWhenNothingCanBeWritten(t *testing.T) {
	l := newLab(t)
	d, err := Open(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.store.Close(); err != nil { // as a full disk would, for what comes now
		t.Fatal(err)
	}
	for _, name := range []string{"BeforeTool", "AfterTool"} {
		out, exit, err := d.Hook(t.Context(), "gemini", "", event(name, "s", `{"command":"ls"}`))
		if err != nil || exit != 0 || text(parse(t, string(out)), "decision") != "deny" {
			t.Errorf("%s: %s, exit %d, %v", name, out, exit, err)
		}
	}
	if out, _, _ := d.Hook(t.Context(), "gemini", "", []byte(`{"hook_event_name":"SessionEnd","session_id":"s"}`)); strings.TrimSpace(string(out)) != "{}" {
		t.Errorf("an event that fires nowhere: %s", out)
	}
}

func TestHookWorksOutsideOfAnyProject(t *testing.T) {
	l := newLab(t)
	l.user("hooks/guards.star", guards)
	o := l.options()
	o.Places = l.find(l.dir)
	if o.Places.Project != "" || o.Places.StateDir != o.Places.UserState {
		t.Fatalf("%+v", o.Places)
	}
	h := l.serve(o)
	if _, err := h.Publish(t.Context(), api.Publish{}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("publishing a project that isn't there: %v", err)
	}
	l.publish(h, api.Publish{Layer: "user"})
	if out := h.hook(event("BeforeTool", "s", `{"command":"touch x"}`)); !strings.Contains(out, "touch nothing") {
		t.Errorf("got %s", out)
	}
	if out := h.hook(event("BeforeTool", "s", `{"command":"pwd"}`)); out != "{}" {
		t.Errorf("got %s", out)
	}
	if err := h.StartRun(t.Context(), api.StartRun{Task: "x"}, func(api.Event) {}); !errors.Is(err, api.ErrInvalid) || !strings.Contains(err.Error(), "agentd init") {
		t.Errorf("a run without a project: %v", err)
	}
	h.stop()
	if out := l.serve(o).hook(event("BeforeTool", "s", `{"command":"touch x"}`)); !strings.Contains(out, "touch nothing") {
		t.Errorf("after a restart: %s", out)
	}
}

func TestEndOfASessionClosesWhatNobodyReported(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	h.hook(event("BeforeTool", "one", `{"command":"a"}`))
	h.hook(event("BeforeTool", "two", `{"command":"a"}`))
	if out := h.hook([]byte(`{"hook_event_name":"SessionEnd","session_id":"one","reason":"exit"}`)); out != "{}" {
		t.Errorf("got %s", out)
	}
	h.hook(event("AfterTool", "one", `{"command":"a"}`)) // too late: an operation of its own
	h.hook(event("AfterTool", "two", `{"command":"a"}`))
	var got []string
	for _, op := range h.foreign() {
		got = append(got, op.SessionID+" "+string(op.State))
	}
	if want := "gemini:one unobserved,gemini:two finished,gemini:one finished"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestOldOperationsOfClientsAreClosedWhenTheDaemonStarts(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	h.hook(event("BeforeTool", "s", `{"command":"a"}`))
	if err := h.d.unobserve(t.Context(), "", "", time.Now().Add(-operation.UnobservedAfter)); err != nil {
		t.Fatal(err)
	}
	if n := l.open(h); n != 1 {
		t.Errorf("%d are open, want the one that just began", n)
	}
	if err := h.d.unobserve(t.Context(), "", "", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n := l.open(h); n != 0 {
		t.Errorf("%d are open", n)
	}
}

// open counts the operations of clients that still wait for their report.
func (l *lab) open(h *host) int {
	l.t.Helper()
	heads, err := h.d.store.OpenForeign(l.t.Context(), "", "", "")
	if err != nil {
		l.t.Fatal(err)
	}
	return len(heads)
}

func TestEventsOfManySessionsAtOnceAreAllAnswered(t *testing.T) {
	l := newLab(t)
	l.project("hooks/guards.star", guards)
	h := l.published()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			session := fmt.Sprint(i % 4)
			for n := range 3 {
				command := fmt.Sprintf(`{"command":"run %d %d"}`, i, n)
				if out := h.hook(event("BeforeTool", session, command)); out != "{}" {
					t.Errorf("before: %s", out)
				}
				if out := h.hook(event("AfterTool", session, command)); out != "{}" {
					t.Errorf("after: %s", out)
				}
				if out := h.hook(event("BeforeTool", session, `{"command":"touch x"}`)); !strings.Contains(out, "deny") {
					t.Errorf("touch: %s", out)
				}
			}
		})
	}
	wg.Wait()
	finished := 0
	for _, op := range h.foreign() {
		if op.State == operation.Finished {
			finished++
		}
	}
	if finished != 24 {
		t.Errorf("%d operations finished, want 24", finished)
	}
	if n := len(h.d.sessions.locks); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// A head that this agentd can't build may hold the hooks that would say no.
func TestNothingIsDecidedWhileWhatIsPublishedCanNotServe(t *testing.T) {
	l := newLab(t)
	l.unreplayable = "made for another agentd"
	l.project("hooks/guards.star", guards)
	l.published().stop()
	l.sql(`DELETE FROM revision_files`)
	h := l.serve(l.options())
	if out := h.hook(event("BeforeTool", "s", `{"command":"pwd"}`)); !strings.Contains(out, `"deny"`) || !strings.Contains(out, revision.ErrDrift.Error()) {
		t.Errorf("an event: %s", out)
	}
	if err := h.StartRun(t.Context(), api.StartRun{Task: "x"}, func(api.Event) {}); err == nil || !strings.Contains(err.Error(), "publish it again") {
		t.Errorf("a run: %v", err)
	}
	s, err := h.Status(t.Context())
	if err != nil || len(s.Errors) != 1 || !strings.Contains(s.Errors[0].Message, "publish it again") {
		t.Errorf("status: %+v, %v", s, err)
	}
	v, err := Look(t.Context(), l.places, func(string) string { return "" }, false)
	if err != nil {
		t.Fatal(err)
	}
	if s := v.Status(t.Context()); len(s.Errors) != 1 {
		t.Errorf("status without a daemon: %+v", s)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	// What the message says works.
	l.project("hooks/guards.star", guards+"\n# again\n")
	l.publish(h, api.Publish{})
	if out := h.hook(event("BeforeTool", "s", `{"command":"touch x"}`)); !strings.Contains(out, "touch nothing") {
		t.Errorf("after publishing: %s", out)
	}
}
