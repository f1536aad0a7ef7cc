package realtest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// openCode finds the real OpenCode, a program of its own for each system, or skips the test.
func openCode(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a real client")
	}
	name, ok := map[string]string{"linux/amd64": "opencode-linux-x64-baseline", "linux/arm64": "opencode-linux-arm64",
		"darwin/amd64": "opencode-darwin-x64-baseline", "darwin/arm64": "opencode-darwin-arm64"}[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		t.Skip("there is no OpenCode for " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	path, err := Installed(name + "/bin/opencode")
	if err != nil {
		t.Skip(err)
	}
	return path
}

// opencode runs the real OpenCode once, without a person, with everything allowed that hooks don't forbid. It
// would install what plugins may need from npm's registry and wait for that; ours needs nothing.
func (w *world) opencode(s *chatServer, args ...string) ran {
	w.t.Helper()
	w.configureOpencode(s)
	return w.client(append([]string{openCode(w.t), "run", "--auto"}, args...), opencodeEnv...)
}

func (w *world) configureOpencode(s *chatServer) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{
		"autoupdate": false, "share": "disabled", "model": "loopback/none", "enabled_providers": []string{"loopback"},
		"provider": map[string]any{"loopback": map[string]any{"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": s.URL + "/v1", "apiKey": "none"},
			"models": map[string]any{"none": map[string]any{"limit": map[string]any{"context": fullContext, "output": 1000}}}}},
		"mcp": map[string]any{"my.parrot": map[string]any{"type": "local", "command": []string{self}, "environment": map[string]any{mcpVariable: "1"}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join("..", "home", ".config", "opencode", "opencode.json"), string(config))
}

// opencodeEnv keeps it from looking for anything outside.
var opencodeEnv = []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "npm_config_offline=true"}

const opencodeHooks = `
def start(ctx, call):
    return context("session context")

def prompt(ctx, call):
    return context("prompt context: " + call.prompt, pin = True)

def before(ctx, call):
    line = str(tool.commands(call)[0].line) if ctx.kind == "shell" else ""
    if "denied" in line:
        return reject("touch nothing, " + ("subagent" if ctx.instance_id else "agent"))
    if "original" in line:
        return patch(arguments = call.arguments | {"command": line.replace("original", "changed")})
    if call.tool_id == "mcp:my.parrot:say":
        return patch(arguments = {"text": call.arguments["text"] + " of mine"})

def confirm(ctx, call):
    if ctx.kind == "shell" and "danger" in call.arguments["command"]:
        return ask("really?")

def after(ctx, call):
    if "secret" in str(call.value):
        return patch(value = "[redacted " + ctx.kind + "]")
    if "alpha" in str(call.value):
        return context("read with care")

def end(ctx, call):
    return proceed("now the tests")

hook(id = "start", version = "1", run = start, point = "session.start")
hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "before", version = "1", run = before, point = "tool.before")
hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm")
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "end", version = "1", run = end, point = "turn.after")
`

// shell is a turn with one command.
func shell(line string) Chunk {
	return Chunk{Call: "bash", Args: map[string]any{"command": line, "description": "Runs it"}}
}

// TestOpenCodeDoesWhatItsHooksDecide is one session through the events that an unattended one has, with a
// subagent, a tool of an MCP server, a tool that fails, and a conversation that is shortened.
func TestOpenCodeDoesWhatItsHooksDecide(t *testing.T) {
	openCode(t)
	w := newWorld(t, opencodeHooks, map[string]string{"notes.txt": "alpha\n", "hidden.txt": "a secret\n"})
	w.run("install", "opencode")
	w.run("install", "opencode", "--user") // one of the two speaks
	w.serve()
	file := func(name string) Chunk {
		return Chunk{Call: "read", Args: map[string]any{"filePath": filepath.Join(w.project, name)}}
	}
	s := newChatServer(t, shell("touch denied.txt"), shell("echo original > out.txt"), file("notes.txt"), file("hidden.txt"),
		Chunk{Call: "my_parrot_say", Args: map[string]any{"text": "a secret"}}, Chunk{Call: "my_parrot_say", Args: map[string]any{"text": "a word"}},
		shell("echo danger > danger.txt"), file("secret.txt"),
		Chunk{Call: "task", Args: map[string]any{"description": "help", "prompt": "help me", "subagent_type": "general"}}, shell("touch denied.txt"), Chunk{Text: "Helped."},
		shell("true"), file("notes.txt"), Chunk{Text: "Done."})
	s.full = 12
	r := w.opencode(s, "hello")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	seen := s.seen()
	if len(seen) != 14 {
		t.Fatalf("%d requests, want 14\n%s%s", len(seen), r.out, r.err)
	}
	result := func(n int) string { return seen[n][strings.LastIndex(seen[n], `"role":"tool"`):] } // that of the n-th turn, from 1
	holds(t, "the first request", seen[0], `hello\n\nsession context\n\nprompt context: hello"`)
	holds(t, "the denied call", result(1), "touch nothing, agent")
	holds(t, "the call with context", result(3), "alpha", "read with care")
	holds(t, "the replaced result", result(4), "[redacted read]")
	holds(t, "the replaced result of an MCP server's tool", result(5), "[redacted mcp]")
	holds(t, "the changed call of an MCP server's tool", result(6), "It says: a word of mine")
	holds(t, "what would have to be asked", result(7), "really?")
	holds(t, "the call that failed", result(8), "[redacted read]")
	if strings.Contains(seen[9], "prompt context") {
		t.Errorf("turn.before fired for a subagent's prompt: %s", seen[9])
	}
	holds(t, "the subagent's denied call", result(10), "touch nothing, subagent")
	holds(t, "the subagent's result", result(11), "Helped.")
	if strings.Contains(seen[11], "not found") {
		t.Errorf("what was replaced got through: %s", seen[11])
	}
	if strings.Contains(seen[12], "alpha") {
		t.Errorf("the conversation wasn't shortened: %s", seen[12])
	}
	holds(t, "the first result after that", result(13), "alpha", "prompt context: hello")
	holds(t, "what is said", r.err, "a hook wants the agent to go on: now the tests")
	if got := w.read("out.txt"); got != "changed\n" {
		t.Errorf("out.txt holds %q", got)
	}
	if w.read("denied.txt") != "" || w.read("danger.txt") != "" {
		t.Error("what was denied ran")
	}
	ops := w.ops("opencode")
	for want, n := range map[string]int{
		"tool bash rejected": 3, "tool bash finished": 2, "tool read finished": 4, "tool mcp:my.parrot:say finished": 2, "tool task finished": 1,
		"session.start  finished": 1, "turn.before  finished": 1, "turn.after  finished": 1,
		"context.compact.before  finished": 1, "context.compact.after  finished": 1,
	} {
		if ops[want] != n {
			t.Errorf("%d times %q, want %d: %v", ops[want], want, n, ops)
		}
	}
	if out := w.run("doctor", "opencode"); strings.Contains(out, "not as agentd had answered") {
		t.Errorf("doctor: %s", out)
	}
}

const opencodeServed = `
def prompt(ctx, call):
    if call.prompt == "no":
        return reject("not that prompt")
    return context("prompt context: " + call.prompt)

def after(ctx, call):
    if "secret" in str(call.value):
        return patch(value = "[redacted, %s]" % call.status)

def end(ctx, call):
    if call.continuation < 2 and call.prompt != "wait":
        return proceed("go on, number %d" % call.continuation)

hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "end", version = "1", run = end, point = "turn.after")
`

// TestOpenCodesServerDoesWhatItsHooksDecide: a prompt is refused, a command is cut off by the person, another
// prompt's turn is sent on, and the session is deleted. Its interface talks to such a server.
func TestOpenCodesServerDoesWhatItsHooksDecide(t *testing.T) {
	program := openCode(t)
	w := newWorld(t, opencodeServed, nil)
	w.run("install", "opencode")
	w.serve()
	s := newChatServer(t, shell("echo a secret; sleep 60"), Chunk{Text: "Done."})
	w.configureOpencode(s)
	c := exec.Command(program, "serve", "--port", "0")
	c.Dir, c.Env = w.project, w.env(opencodeEnv...)
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	address := ""
	for lines := bufio.NewScanner(said); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", address+"/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	happening := bufio.NewScanner(events.Body)
	happening.Buffer(nil, 1<<24)
	await := func(event string, with ...string) {
		t.Helper()
		for happening.Scan() {
			text := happening.Text()
			if strings.Contains(text, `"type":"`+event+`"`) && !slices.ContainsFunc(with, func(part string) bool { return !strings.Contains(text, part) }) {
				return
			}
		}
		t.Fatal("the server went away, or it took too long: " + event)
	}
	call := func(method, path, body string) (status int, id string) {
		q, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var about struct {
			ID string `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&about) // not all answers are objects
		return r.StatusCode, about.ID
	}
	_, session := call("POST", "/session", "{}")
	prompt := func(text string) (status int) {
		status, _ = call("POST", "/session/"+session+"/message", `{"parts":[{"type":"text","text":"`+text+`"}]}`)
		return status
	}
	if status := prompt("no"); status < 400 || len(s.seen()) != 0 {
		t.Errorf("the refused prompt: status %d, %d requests", status, len(s.seen()))
	}
	if status, _ := call("POST", "/session/"+session+"/prompt_async", `{"parts":[{"type":"text","text":"wait"}]}`); status >= 400 {
		t.Fatalf("the prompt: status %d", status)
	}
	await("message.part.updated", `"status":"running"`, `"output":"a secret`)
	call("POST", "/session/"+session+"/abort", "")
	await("session.idle")
	if status := prompt("hello"); status != http.StatusOK {
		t.Fatalf("the prompt: status %d", status)
	}
	for range 3 { // the reply to it, and to what a hook said
		await("message.updated", `"finish":"stop"`, `"completed":`)
		await("session.idle")
	}
	if n := len(s.seen()); n != 4 {
		t.Fatalf("%d requests, want 4", n)
	}
	last := s.seen()[3]
	holds(t, "the command that was cut off", s.seen()[1], "[redacted, ") // cancelled, if it takes long to die
	if strings.Contains(last, `"content":"a secret`) {
		t.Errorf("what was replaced got through: %s", last)
	}
	holds(t, "the last request", last, "prompt context: hello", "go on, number 0", "go on, number 1")
	if strings.Contains(last, "prompt context: go on") || strings.Contains(last, `"content":"no`) {
		t.Errorf("turn.before fired for what a hook said, or what it refused was kept: %s", last)
	}
	call("DELETE", "/session/"+session, "")
	await("session.deleted")
	call("POST", "/instance/dispose", "")
	await("server.instance.disposed") // after what hooks had to say
	for want, n := range map[string]int{"session.start  finished": 1, "turn.before  finished": 3, "turn.after  finished": 4, "tool bash finished": 1, "session.end  finished": 1} {
		if ops := w.ops("opencode"); ops[want] != n {
			t.Errorf("%d times %q, want %d: %v", ops[want], want, n, ops)
		}
	}
}

const opencodeEnds = `
def before(ctx, call):
    if "before" in call.arguments["command"]:
        return stop("enough before it")

def after(ctx, call):
    if "a secret" in str(call.value):
        return stop("enough after it")

def compact(ctx, call):
    return reject("nothing is forgotten")

hook(id = "before", version = "1", run = before, point = "tool.before")
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "compact", version = "1", run = compact, point = "context.compact.before")
`

// TestOpenCodeIsEndedWithoutADaemon: each event is decided in a process of its own. It is one session, and what
// a hook ended it for isn't shown when it goes on.
func TestOpenCodeIsEndedWithoutADaemon(t *testing.T) {
	openCode(t)
	w := newWorld(t, opencodeEnds, nil)
	w.run("install", "opencode")
	var last string
	for _, c := range []struct {
		prompt string
		turns  []Chunk
		err    string
	}{
		{"before", []Chunk{shell("touch before.txt")}, "Aborted"},
		{"after", []Chunk{shell("echo a secret")}, "Aborted"},
		{"compact", []Chunk{shell("true"), {Text: "Done."}}, "nothing is forgotten"},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			s := newChatServer(t, c.turns...)
			args := []string{c.prompt}
			if c.prompt != "before" {
				args = append(args, "--continue")
			}
			if c.prompt == "compact" {
				s.full = 1
			}
			r := w.opencode(s, args...)
			seen := s.seen()
			if r.code != 1 || len(seen) != 1 {
				t.Fatalf("exit code %d, %d requests, want 1\n%s%s", r.code, len(seen), r.out, r.err)
			}
			holds(t, "what is said", r.err, c.err)
			last = seen[0]
		})
	}
	if w.read("before.txt") != "" {
		t.Error("it ran")
	}
	holds(t, "the session that goes on", last, "the call is over, and its result is withheld: enough after it", "enough before it")
	if strings.Contains(last, `"content":"a secret`) {
		t.Errorf("what was withheld got through: %s", last)
	}
}

// TestOpenCodeWhoseDaemonIsKilled: the daemon dies in the middle of a session, and then nobody is left at all.
// Nothing is let through, and what hooks remember goes on as long as somebody is.
func TestOpenCodeWhoseDaemonIsKilled(t *testing.T) {
	openCode(t)
	w := newWorld(t, geminiGuard, nil)
	w.run("install", "opencode")
	w.serve()
	s := newChatServer(t, shell("touch one.txt"), shell("touch two.txt"), shell("touch three.txt"), Chunk{Text: "Done."})
	s.asked = func(n int) {
		switch n {
		case 2:
			w.kill()
		case 3:
			if err := os.Remove(filepath.Join(w.project, ".agentd", "state", "agentd-hook")); err != nil {
				t.Error(err)
			}
		}
	}
	r := w.opencode(s, "do it")
	seen := s.seen()
	if r.code != 0 || len(seen) != 4 {
		t.Fatalf("exit code %d, %d requests\n%s%s", r.code, len(seen), r.out, r.err)
	}
	for i, want := range []string{"touch nothing, number 1", "touch nothing, number 2", "agentd can't decide this: "} {
		holds(t, "a denied call", seen[i+1], want)
	}
	for _, name := range []string{"one.txt", "two.txt", "three.txt"} {
		if _, err := os.Stat(filepath.Join(w.project, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if n := w.ops("opencode")["tool bash rejected"]; n != 2 {
		t.Errorf("%d calls are recorded: %v", n, w.ops("opencode"))
	}
}
