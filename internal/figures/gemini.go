package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"agentd/internal/client/realtest"
)

// A session of the real client has so many calls of a tool, and the two hooks change places with each session.
const (
	sessionCalls = 30
	sessionRuns  = 6
)

// geminiHooks measures what the real Gemini CLI says that a hook took: what install registers, beside a program
// that does nothing, both at the same events, one after the other.
func geminiHooks(ctx context.Context, dir, program string) (rows []row, err error) {
	const what = "what Gemini CLI records for what install registers, on a BeforeTool"
	node, err := exec.LookPath("node")
	if err != nil {
		return []row{{what, "", "not here: no node", ""}}, nil
	}
	script, err := realtest.Installed(realtest.GeminiProgram)
	if err != nil {
		return []row{{what, "", "not here: " + err.Error(), ""}}, nil
	}
	w, err := serving(ctx, filepath.Join(dir, "gemini"), program)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	nothing, err := doNothing(ctx, dir)
	if err != nil {
		return nil, err
	}
	for i := range sessionCalls {
		if err := os.WriteFile(filepath.Join(w.dir, note(i)), []byte("alpha\n"), 0o644); err != nil {
			return nil, err
		}
	}
	took := map[string][]float64{}
	for i := range sessionRuns {
		if err := w.session(ctx, []string{node, script}, nothing, i%2 == 1, took); err != nil {
			return nil, err
		}
	}
	hook, other := took["agentd"], took["nothing"]
	if len(hook) != sessionRuns*sessionCalls || len(other) != sessionRuns*sessionCalls {
		return nil, fmt.Errorf("gemini CLI recorded %d and %d hooks instead of %d", len(hook), len(other), sessionRuns*sessionCalls)
	}
	// It records whole milliseconds, and there are some six: a median would jump by a sixth. A mean doesn't, as each
	// is as often too long as too short.
	a, b := middle(hook), middle(other)
	return []row{{what, "a Go program that does nothing",
		fmt.Sprintf("%s (%.1fms to %.1fms; medians %.0fms to %.0fms)", ratio(a, b), a, b, median(hook), median(other)), "at most 1.3"}}, nil
}

// note is the file that a call reads: the client stops a session that goes round in circles.
func note(i int) string { return fmt.Sprintf("note-%d.txt", i) }

// session runs the client once with both hooks and adds what it records for each, in milliseconds.
func (w *world) session(ctx context.Context, client []string, nothing string, nothingFirst bool, took map[string][]float64) error {
	// As install registers it, but that the other stands beside it; parallel hooks would wait for each other's processor.
	handlers := []any{map[string]any{"type": "command", "name": "agentd", "command": strings.Join(w.registered, " "), "timeout": 600_000},
		map[string]any{"type": "command", "name": "nothing", "command": nothing, "timeout": 600_000}}
	if nothingFirst {
		slices.Reverse(handlers)
	}
	record := filepath.Join(w.dir, "telemetry.log")
	if err := os.RemoveAll(record); err != nil {
		return err
	}
	for path, settings := range map[string]map[string]any{
		filepath.Join(w.dir, ".gemini", "settings.json"): {"hooks": map[string]any{"BeforeTool": []any{map[string]any{"sequential": true, "hooks": handlers}}}},
		filepath.Join(w.home, ".gemini", "settings.json"): {
			"general": map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}, "privacy": map[string]any{"usageStatisticsEnabled": false},
			"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
			"telemetry": map[string]any{"enabled": true, "target": "local", "otlpEndpoint": "", "outfile": record, "logPrompts": false}},
	} {
		text, err := json.Marshal(settings)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	var turns [][]realtest.Chunk
	for i := range sessionCalls {
		turns = append(turns, []realtest.Chunk{{Call: "read_file", Args: map[string]any{"file_path": note(i)}}})
	}
	model := httptest.NewServer(realtest.NewGemini(append(turns, []realtest.Chunk{{Text: "Done."}})...))
	defer model.Close()
	cmd := w.command(ctx, append(client, "--model", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", "read"))
	cmd.Env = append(cmd.Env, "GEMINI_CLI_HOME="+w.home, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+model.URL, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
		"TERM=dumb", "NO_COLOR=1", "HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gemini CLI: %w: %s", err, out)
	}
	return recorded(record, took)
}

// recorded reads the hooks in the client's telemetry, which is one JSON value after the other.
func recorded(path string, took map[string][]float64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for values := json.NewDecoder(f); ; {
		var v struct {
			Attributes struct {
				Kind   string  `json:"event.name"`
				Name   string  `json:"hook_name"`
				Millis float64 `json:"duration_ms"`
				Code   int     `json:"exit_code"`
			} `json:"attributes"`
		}
		switch err := values.Decode(&v); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("gemini CLI's telemetry: %w", err)
		}
		a := v.Attributes
		if a.Kind != "gemini_cli.hook_call" {
			continue
		}
		if a.Code != 0 {
			return fmt.Errorf("the hook %s ended with exit code %d", a.Name, a.Code)
		}
		took[a.Name] = append(took[a.Name], a.Millis)
	}
}

// middle is the mean of the middle half.
func middle(values []float64) float64 {
	slices.Sort(values)
	values = values[len(values)/4 : len(values)-len(values)/4]
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
