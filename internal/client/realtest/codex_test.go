package realtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const codexProgram = "@openai/codex/bin/codex.js"

// codex runs the real Codex CLI once, without a person. Its hooks are believed as they stand, since nobody
// sits there to look at them.
func (w *world) codex(s *codexServer, prompt string) ran {
	w.t.Helper()
	w.write(filepath.Join("..", "home", ".codex", "config.toml"), fmt.Sprintf(`model = "none"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects.%q]
trust_level = "trusted"
`, s.URL, w.project))
	return w.client(append(node(w.t, codexProgram), "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "--sandbox", "danger-full-access", prompt),
		"CODEX_HOME="+filepath.Join(w.home, ".codex"), "MODEL_KEY=none", "SHELL=/bin/sh")
}

const codexHooks = `
def start(ctx, call):
    return context("session context")

def prompt(ctx, call):
    return context("prompt context: " + call.prompt)

def before(ctx, call):
    line = tool.commands(call)[0].line
    if "denied" in line:
        return reject("touch nothing")
    if "enough" in line:
        return stop("enough of this")
    if "original" in line:
        return patch(arguments = call.arguments | {"command": line.replace("original", "changed")})
    if "notes" in line:
        return context("read with care")

def confirm(ctx, call):
    line = tool.commands(call)[0].line
    if "danger" in line:
        return ask("really?")
    if "notes" in line:
        return allow("it only reads")

def after(ctx, call):
    if call.value != None and "secret" in str(call.value):
        return patch(value = "[redacted]")

def end(ctx, call):
    if call.continuation < 2:
        return proceed("go on, number %d" % call.continuation)

hook(id = "start", version = "1", run = start, point = "session.start")
hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "before", version = "1", run = before, point = "tool.before", kinds = ["shell"])
hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm", kinds = ["shell"])
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "end", version = "1", run = end, point = "turn.after")
`

// TestCodexDoesWhatItsHooksDecide is one session through the events that an unattended one has.
func TestCodexDoesWhatItsHooksDecide(t *testing.T) {
	node(t, codexProgram)
	w := newWorld(t, codexHooks, map[string]string{"notes.txt": "alpha\n", "hidden.txt": "a secret\n"})
	w.run("install", "codex")
	w.serve()
	sh := func(line string) []Chunk { return []Chunk{{Call: "exec_command", Args: map[string]any{"cmd": line}}} }
	s := newCodexServer(t, sh("touch denied.txt"), sh("echo original > out.txt"), sh("cat notes.txt"), sh("cat hidden.txt"), sh("echo danger > danger.txt"),
		sh("echo enough > enough.txt"), []Chunk{{Text: "Done."}})
	r := w.codex(s, "do it")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	seen := s.seen()
	if len(seen) != 9 { // seven, and two that a hook sent it on with
		t.Fatalf("%d requests, want 9\n%s%s", len(seen), r.out, r.err)
	}
	holds(t, "the first request", seen[0], "session context", "prompt context: do it")
	holds(t, "the denied call", seen[1], "touch nothing")
	holds(t, "the call with context", seen[3], "alpha", "read with care")
	holds(t, "the replaced result", seen[4], "[redacted]")
	if strings.Contains(seen[4], "a secret") {
		t.Errorf("what was replaced got through: %s", seen[4])
	}
	holds(t, "what would have to be asked", seen[5], "really?")
	holds(t, "the stop", seen[6], "enough of this")
	holds(t, "the last request", seen[8], "go on, number 1")
	if got := w.read("out.txt"); got != "changed\n" {
		t.Errorf("out.txt holds %q", got)
	}
	if w.read("denied.txt") != "" || w.read("danger.txt") != "" || w.read("enough.txt") != "" {
		t.Error("what was denied ran")
	}
	if strings.Contains(r.err+r.out, "Failed") {
		t.Errorf("Codex takes a hook for failed:\n%s%s", r.out, r.err)
	}
	ops := w.ops("codex")
	for want, n := range map[string]int{"tool Bash rejected": 2, "tool Bash stopped": 1, "tool Bash finished": 3, "session.start  finished": 1, "turn.after  finished": 3, "session.end  finished": 1} {
		if ops[want] != n {
			t.Errorf("%d times %q, want %d: %v", ops[want], want, n, ops)
		}
	}
}

// TestCodexIsDeniedWithoutADaemon: whoever comes first takes the lock and decides.
func TestCodexIsDeniedWithoutADaemon(t *testing.T) {
	node(t, codexProgram)
	w := newWorld(t, codexHooks, nil)
	w.run("install", "codex")
	s := newCodexServer(t, []Chunk{{Call: "exec_command", Args: map[string]any{"cmd": "touch denied.txt"}}}, []Chunk{{Text: "Done."}})
	r := w.codex(s, "do it")
	if seen := s.seen(); r.code != 0 || len(seen) < 2 {
		t.Fatalf("exit code %d, %d requests\n%s%s", r.code, len(seen), r.out, r.err)
	} else {
		holds(t, "the denied call", seen[1], "touch nothing")
	}
	if w.read("denied.txt") != "" {
		t.Error("what was denied ran")
	}
}
