package realtest

import (
	"path/filepath"
	"strings"
	"testing"
)

const qwenProgram = "@qwen-code/qwen-code/cli.js"

// qwen runs the real Qwen Code once, without a person, with everything allowed that hooks don't forbid.
func (w *world) qwen(s *chatServer, prompt string) ran {
	w.t.Helper()
	w.write(filepath.Join("..", "home", ".qwen", "settings.json"), `{"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},
"security":{"auth":{"selectedType":"openai"},"folderTrust":{"enabled":false}},"telemetry":{"enabled":false}}`)
	return w.client(append(node(w.t, qwenProgram), "--approval-mode", "yolo", "-p", prompt),
		"HTTP_PROXY=", "HTTPS_PROXY=", "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+s.URL+"/v1", "OPENAI_MODEL=none", "QWEN_CODE_NO_RELAUNCH=true")
}

const qwenHooks = `
def prompt(ctx, call):
    return context("prompt context: " + call.prompt)

def before(ctx, call):
    line = tool.commands(call)[0].line
    if "denied" in line:
        return reject("touch nothing")
    if "original" in line:
        return patch(arguments = call.arguments | {"command": line.replace("original", "changed")})

def after(ctx, call):
    if "alpha" in str(call.value):
        return context("read with care")

def end(ctx, call):
    if call.continuation < 2:
        return proceed("go on, number %d" % call.continuation)

hook(id = "prompt", version = "1", run = prompt, point = "turn.before")
hook(id = "before", version = "1", run = before, point = "tool.before", kinds = ["shell"])
hook(id = "after", version = "1", run = after, point = "tool.after")
hook(id = "end", version = "1", run = end, point = "turn.after")
`

// TestQwenDoesWhatItsHooksDecide is one session through the events that an unattended one has.
func TestQwenDoesWhatItsHooksDecide(t *testing.T) {
	node(t, qwenProgram)
	w := newWorld(t, qwenHooks, map[string]string{"notes.txt": "alpha\n"})
	w.run("install", "qwen")
	w.serve()
	sh := func(line string) Chunk {
		return Chunk{Call: "run_shell_command", Args: map[string]any{"command": line, "is_background": false}}
	}
	s := newChatServer(t, sh("touch denied.txt"), sh("echo original > out.txt"), Chunk{Call: "read_file", Args: map[string]any{"file_path": filepath.Join(w.project, "notes.txt")}}, Chunk{Text: "Done."})
	r := w.qwen(s, "do it")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	seen := s.seen()
	if len(seen) != 6 { // four, and two that a hook sent it on with
		t.Fatalf("%d requests, want 6\n%s%s", len(seen), r.out, r.err)
	}
	holds(t, "the first request", seen[0], "prompt context: do it")
	holds(t, "the denied call", seen[1], "touch nothing")
	holds(t, "the result with context", seen[3], "alpha", "read with care")
	holds(t, "the last request", seen[5], "go on, number 1")
	if strings.Contains(seen[5], "prompt context: go on") {
		t.Error("what a hook sent it on with was taken for a prompt")
	}
	holds(t, "the call that it can't rewrite", seen[2], "a hook wants arguments to be", "echo changed")
	if w.read("denied.txt") != "" || w.read("out.txt") != "" {
		t.Error("what was denied ran")
	}
	ops := w.ops("qwen")
	for want, n := range map[string]int{"tool run_shell_command rejected": 1, "tool read_file finished": 1, "turn.after  finished": 3} {
		if ops[want] != n {
			t.Errorf("%d times %q, want %d: %v", ops[want], want, n, ops)
		}
	}
}
