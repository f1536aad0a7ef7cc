package realtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gemini runs the real Gemini CLI once, without a person, with everything allowed that hooks don't forbid.
func (w *world) gemini(s *geminiServer, prompt string) ran {
	w.t.Helper()
	argv := node(w.t, GeminiProgram)
	settings := map[string]any{
		"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}, "privacy": map[string]any{"usageStatisticsEnabled": false},
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}}, "telemetry": map[string]any{"enabled": false},
	}
	text, err := json.Marshal(settings)
	if err != nil {
		w.t.Fatal(err)
	}
	dir := filepath.Join(w.home, ".gemini")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), text, 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w.client(append(argv, "--model", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt),
		"GEMINI_CLI_HOME="+w.home, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+s.URL, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true")
}

// holds fails the test if a text lacks something.
func holds(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

const geminiHooks = `
def start(ctx, call):
    return context("session context")

def prompt(ctx, call):
    return context("prompt context: " + call.prompt)

def request(ctx, call):
    return patch(temperature = 0.25)

def select(ctx, call):
    return patch(tools = ["read_file", "run_shell_command", "write_file"], mode = "any")

def before(ctx, call):
    if ctx.kind == "shell" and call.arguments["command"].startswith("touch"):
        return reject("touch nothing")
    if ctx.kind == "write":
        return patch(arguments = call.arguments | {"content": "changed\n"})
    if ctx.kind == "read":
        return context("read with care")

def confirm(ctx, call):
    if ctx.kind == "shell" and "danger" in call.arguments["command"]:
        return ask("really?")

def after(ctx, call):
    if call.value != None and "secret" in str(call.value):
        return patch(value = "[redacted]")

def reply(ctx, call):
    if "password" in (call.content or ""):
        return patch(content = "[redacted reply]")

def end(ctx, call):
    return proceed("go on, number %d" % call.continuation)

hook(id = "start", version = "1", run = start, point = "session.start")
hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "request", version = "1", run = request, point = "model.chat.before")
hook(id = "select", version = "1", run = select, point = "tools.select")
hook(id = "before", version = "1", run = before, point = "tool.before")
hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm")
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "reply", version = "1", run = reply, point = "model.chat.after")
hook(id = "end", version = "1", run = end, point = "turn.after")
`

// TestGeminiDoesWhatItsHooksDecide is one session through all events, with the daemon up.
func TestGeminiDoesWhatItsHooksDecide(t *testing.T) {
	node(t, GeminiProgram)
	w := newWorld(t, geminiHooks, map[string]string{"notes.txt": "alpha\n", "hidden.txt": "a secret\n"})
	w.run("install", "gemini")
	w.serve()
	turns := [][]Chunk{
		{{Text: "First. "}, {Call: "run_shell_command", Args: map[string]any{"command": "touch denied.txt"}}},
		{{Call: "write_file", Args: map[string]any{"file_path": "out.txt", "content": "original\n"}}},
		{{Call: "read_file", Args: map[string]any{"file_path": "notes.txt"}}},
		{{Call: "read_file", Args: map[string]any{"file_path": "hidden.txt"}}},
		{{Call: "run_shell_command", Args: map[string]any{"command": "echo danger > danger.txt"}}},
		{{Text: "The password is 1234."}},
	}
	for _, topic := range []string{"ants", "bees", "cats", "dogs", "eels", "fish", "gnus", "hens", "ibex"} {
		turns = append(turns, []Chunk{{Text: "Now about " + topic + ", which is a subject of its own."}})
	}
	s := newGeminiServer(t, turns...)
	r := w.gemini(s, "do it")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	seen := s.seen()
	if len(seen) != 14 { // six, and eight that a hook sent it on with
		t.Fatalf("%d requests, want 14\n%s%s", len(seen), r.out, r.err)
	}
	holds(t, "the first request", seen[0].texts(), "<hook_context>session context</hook_context>", "prompt context: ", "do it")
	if q := seen[0]; q.GenerationConfig.Temperature == nil || *q.GenerationConfig.Temperature != 0.25 || q.GenerationConfig.TopP == nil {
		t.Errorf("the request's sampling: %s", q.raw)
	}
	if f := seen[0].ToolConfig.FunctionCallingConfig; f.Mode != "ANY" || strings.Join(f.Names, " ") != "read_file run_shell_command write_file" {
		t.Errorf("the choice of tools: %+v", f)
	}
	holds(t, "the denied call", seen[1].result(), "touch nothing")
	holds(t, "the rewritten call", seen[2].result(), "modified by a hook")
	if got := w.read("out.txt"); got != "changed\n" {
		t.Errorf("out.txt holds %q", got)
	}
	if w.read("denied.txt") != "" || w.read("danger.txt") != "" {
		t.Error("what was denied ran")
	}
	holds(t, "the result with context", seen[3].result(), "alpha", "read with care")
	holds(t, "the replaced result", seen[4].result(), "[redacted]")
	if strings.Contains(seen[4].result(), "secret") {
		t.Errorf("what was replaced got through: %s", seen[4].result())
	}
	holds(t, "what would have to be asked", seen[5].result(), "really?")
	holds(t, "what is printed", r.out, "[redacted reply]", "hens")
	if strings.Contains(r.out, "1234") || strings.Contains(r.out, "ibex") {
		t.Errorf("what is printed: %s", r.out)
	}
	holds(t, "the last request", seen[13].texts(), "go on, number 7")
	if strings.Contains(seen[13].texts(), "prompt context: go on") {
		t.Error("turn.before fired for what a hook said")
	}
	ops := w.ops("gemini")
	for want, n := range map[string]int{
		"tool run_shell_command rejected": 2, "tool write_file finished": 1, "tool read_file finished": 2,
		"session.start  finished": 1, "turn.after  finished": 9, "session.end  finished": 1,
	} {
		if ops[want] != n {
			t.Errorf("%d times %q, want %d: %v", ops[want], want, n, ops)
		}
	}
	if out := w.run("doctor", "gemini"); strings.Contains(out, "not as agentd had answered") {
		t.Errorf("doctor: %s", out)
	}
}

const geminiEnds = `
def prompt(ctx, call):
    return {"no": reject("not that prompt")}.get(call.prompt)

def request(ctx, call):
    last = call.messages[-1].content
    if last.endswith("answer"):
        return respond({"role": "assistant", "content": "From a hook."})

def before(ctx, call):
    return stop("enough of this")

hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "request", version = "1", run = request, point = "model.chat.before")
hook(id = "before", version = "1", run = before, point = "tool.before")
`

// TestGeminiWithoutADaemon: each event is decided in a process of its own.
func TestGeminiWithoutADaemon(t *testing.T) {
	node(t, GeminiProgram)
	w := newWorld(t, geminiEnds, nil)
	w.run("install", "gemini")
	turns := [][]Chunk{{{Call: "write_file", Args: map[string]any{"file_path": "out.txt", "content": "x"}}}, {{Text: "Done."}}}
	for _, c := range []struct {
		prompt   string
		requests int
		out, err string
	}{
		{"answer", 0, "From a hook.", ""},
		{"no", 0, "", "not that prompt"},
		{"write", 1, "", "enough of this"},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			s := newGeminiServer(t, turns...)
			r := w.gemini(s, c.prompt)
			if n := len(s.seen()); r.code != 0 || n != c.requests {
				t.Errorf("exit code %d, %d requests\n%s%s", r.code, n, r.out, r.err)
			}
			holds(t, "what is printed", r.out, c.out)
			holds(t, "what is said", r.err, c.err)
			if w.read("out.txt") != "" {
				t.Error("it wrote")
			}
		})
	}
}

const geminiStops = `
def prompt(ctx, call):
    return stop("no turn now") if call.prompt == "prompt" else None

def request(ctx, call):
    return stop("no request now") if call.messages[-1].content.endswith("request") else None

def reply(ctx, call):
    return stop("no such reply") if "forbidden" in (call.content or "") else None

def after(ctx, call):
    return stop("enough was read") if ctx.kind == "read" else None

hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "request", version = "1", run = request, point = "model.chat.before")
hook(id = "reply", version = "1", run = reply, point = "model.chat.after")
hook(id = "after", version = "1", run = after, point = "tool.after")
`

// TestGeminiStopsWhereItsHooksSayIt: what a stop holds back, a call in a forbidden reply above all, as the client would
// run it after a denial.
func TestGeminiStopsWhereItsHooksSayIt(t *testing.T) {
	node(t, GeminiProgram)
	w := newWorld(t, geminiStops, map[string]string{"notes.txt": "alpha\n"})
	w.run("install", "gemini")
	w.serve()
	write := Chunk{Text: "Something forbidden.", Call: "write_file", Args: map[string]any{"file_path": "out.txt", "content": "x"}}
	for _, c := range []struct {
		prompt   string
		requests int
		first    []Chunk
		err      string
	}{
		{"prompt", 0, []Chunk{{Text: "Done."}}, "no turn now"},
		{"request", 0, []Chunk{{Text: "Done."}}, "no request now"},
		{"reply", 1, []Chunk{write}, "no such reply"},
		{"read", 1, []Chunk{{Call: "read_file", Args: map[string]any{"file_path": "notes.txt"}}}, "enough was read"},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			s := newGeminiServer(t, c.first, []Chunk{{Text: "Went on."}})
			r := w.gemini(s, c.prompt)
			if n := len(s.seen()); r.code != 0 || n != c.requests {
				t.Errorf("exit code %d, %d requests, want %d\n%s%s", r.code, n, c.requests, r.out, r.err)
			}
			holds(t, "what is said", r.err, c.err)
			if strings.Contains(r.out, "forbidden") || strings.Contains(r.out, "Went on") || w.read("out.txt") != "" {
				t.Errorf("it got through: %s", r.out)
			}
		})
	}
}

const geminiGuard = `
def before(ctx, call):
    n = ctx.state.get("n", 0) + 1
    if call.arguments["command"].startswith("touch"):
        return [remember(n = n), reject("touch nothing, number %d" % n)]
    return remember(n = n)

hook(id = "before", version = "1", run = before, point = "tool.before", kinds = ["shell"])
`

// TestGeminiWhoseDaemonIsKilled: the daemon dies in the middle of a session. Nothing is let through, and what
// hooks remember goes on.
func TestGeminiWhoseDaemonIsKilled(t *testing.T) {
	node(t, GeminiProgram)
	w := newWorld(t, geminiGuard, nil)
	w.run("install", "gemini")
	w.serve()
	touch := func(name string) []Chunk {
		return []Chunk{{Call: "run_shell_command", Args: map[string]any{"command": "touch " + name}}}
	}
	s := newGeminiServer(t, touch("one.txt"), touch("two.txt"), touch("three.txt"), []Chunk{{Text: "Done."}})
	s.asked = func(n int) {
		if n == 2 {
			w.kill()
		}
	}
	r := w.gemini(s, "do it")
	seen := s.seen()
	if r.code != 0 || len(seen) != 4 {
		t.Fatalf("exit code %d, %d requests\n%s%s", r.code, len(seen), r.out, r.err)
	}
	for i, want := range []string{"touch nothing, number 1", "touch nothing, number 2", "touch nothing, number 3"} {
		holds(t, "a denied call", seen[i+1].result(), want)
	}
	for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
		if _, err := os.Stat(filepath.Join(w.project, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if n := w.ops("gemini")["tool run_shell_command rejected"]; n != 3 {
		t.Errorf("%d calls are recorded: %v", n, w.ops("gemini"))
	}
}
