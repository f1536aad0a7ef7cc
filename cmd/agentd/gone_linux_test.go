package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nowhereToSay are standard outputs that take nothing.
var nowhereToSay = map[string]func(t *testing.T) *os.File{
	"a pipe that nobody reads": func(t *testing.T) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		return w
	},
	"a full disk": func(t *testing.T) *os.File {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	},
}

// TestAnAnswerThatCanNotBeWrittenRefuses: the exit code is all that is left then, and every client takes 2 for a
// refusal. At the end of a turn it would send the agent on, so there and where hooks only look it is none.
func TestAnAnswerThatCanNotBeWrittenRefuses(t *testing.T) {
	for what, open := range nowhereToSay {
		for _, c := range []struct {
			client, event, stdin string
			code                 int
		}{
			{"claude", "", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"}`, 0}, // it has nothing to say
			{"claude", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","tool_na`, 2},
			{"claude", "", `{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash"}`, 2},
			{"gemini", "", `{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"run_shell_command","tool_input":{"command":"ls"}}`, 2},
			{"gemini", "", `{"hook_event_name":"BeforeTool","session_id":"s","tool_na`, 2},
			{"gemini", "", `{"hook_event_name":"BeforeAgent","session_id":"s","prompt":"p"}`, 2},
			{"gemini", "", `{"hook_event_name":"AfterAgent","session_id":"s","prompt":"p","prompt_response":"r"}`, 1},
			{"gemini", "", `{"hook_event_name":"Notification","session_id":"s"}`, 1},
			{"cursor", "", `{"hook_event_name":"stop","conversation_id":"s","workspace_roots":["/"]}`, 1},
			{"copilot", "preToolUse", `{"sessionId":"s","timestamp":1,"toolName":"bash","toolArgs":1}`, 2},
		} {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".agentd"), 0o755); err != nil {
				t.Fatal(err)
			}
			gone := open(t)
			var talk bytes.Buffer
			cmd := exec.Command("agentd", "hook", c.client, "--event="+c.event, "--project", dir)
			cmd.Env = append(os.Environ(), "HOME="+dir)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), gone, &talk
			_ = cmd.Run()
			gone.Close()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("%s, %s: exit %d, %s", what, c.stdin, code, talk.String())
			} else if code == 2 && !strings.Contains(talk.String(), "agentd can't decide this: the answer can't be written") {
				t.Errorf("%s, %s: the reason is %q", what, c.stdin, talk.String())
			}
		}
	}
}

// TestAnAnswerThatNobodyTakesRefusesInTime: a pipe that is full takes nothing as long as nobody reads.
func TestAnAnswerThatNobodyTakesRefusesInTime(t *testing.T) {
	for _, c := range []struct {
		stdin string
		code  int
	}{
		{`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"run_shell_command","tool_input":{"command":"ls"}}`, 2},
		{`{"hook_event_name":"AfterAgent","session_id":"s","prompt":"p","prompt_response":"r"}`, 1},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".agentd"), 0o755); err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fd := int(w.Fd())
		for err = syscall.SetNonblock(fd, true); err == nil; {
			_, err = syscall.Write(fd, make([]byte, 1<<10))
		}
		if err != syscall.EAGAIN {
			t.Fatal(err)
		}
		if err := syscall.SetNonblock(fd, false); err != nil {
			t.Fatal(err)
		}
		var talk bytes.Buffer
		cmd := exec.Command("agentd", "hook", "gemini", "--within=1s", "--project", dir)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.stdin), w, &talk
		_ = cmd.Run()
		w.Close()
		r.Close()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(talk.String(), "nobody reads it") {
			t.Errorf("%s: exit %d, %s", c.stdin, code, talk.String())
		}
	}
}

// TestNobodyListeningAtAllRefuses: a message that nobody reads is no reason to be killed before the answer.
func TestNobodyListeningAtAllRefuses(t *testing.T) {
	dir := t.TempDir()
	talk := nowhereToSay["a pipe that nobody reads"](t)
	defer talk.Close()
	cmd := exec.Command("agentd", "hook", "gemini", "--state-dir", filepath.Join(dir, "none"))
	if err := os.WriteFile(filepath.Join(dir, "none"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"t","tool_input":{}}`), &out, talk
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), `"deny"`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestAnEventThatDoesNotEndIsRefusedInTime: its client waits for the answer, not for the end of what it writes.
func TestAnEventThatDoesNotEndIsRefusedInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "agentd", "hook", "gemini", "--event=BeforeTool", "--within=50ms", "--state-dir", dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out := &bytes.Buffer{}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, `{"hook_event_name":"BeforeTool",`); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	stdin.Close()
	if err != nil || !strings.Contains(out.String(), `"deny"`) {
		t.Errorf("%v: %s", err, out)
	}
}
