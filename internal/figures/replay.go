package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"agentd/internal/api"
	"agentd/internal/daemon"
)

// replayedSteps is how many steps the replayed run has, each a model call and a tool call.
const replayedSteps = 100

// replayed is a hook that runs before each of its tool calls.
const replayed = `
def note(ctx, call):
    return annotate(path = call.arguments.path)

hook(id = "note", version = "v1", run = note, point = "tool.before")
`

// replays: how fast recorded operations are computed again, through the hooks that they ran under and
// through what serves.
func replays(ctx context.Context, dir string) ([]row, error) {
	var turns []turn
	for range replayedSteps {
		turns = append(turns, turn{Calls: []modelCall{{"list_files", map[string]string{"path": "."}}}})
	}
	o, err := scene(ctx, filepath.Join(dir, "replays"), "allow", replayed, append(turns, turn{Text: "done"}), nil)
	if err != nil {
		return nil, err
	}
	err = daemon.Do(ctx, o, func(c *daemon.Connection) error { return play(ctx, c, api.StartRun{Task: "go"}) })
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, through := range []struct {
		what   string
		pinned bool
	}{{"the hooks that they ran under", true}, {"what serves", false}} {
		var times []float64
		operations := 0
		for range 3 {
			start := time.Now()
			rep, _, err := daemon.Replay(ctx, o.Places, o.Getenv, daemon.ReplayOptions{Pinned: through.pinned})
			if err != nil {
				return nil, err
			}
			times = append(times, time.Since(start).Seconds())
			if operations = rep.Operations; rep.Same != operations {
				return nil, fmt.Errorf("of %d operations only %d come out the same", operations, rep.Same)
			}
		}
		rows = append(rows, row{fmt.Sprintf("replay of %d operations through %s", operations, through.what), "", fmt.Sprintf("%.0f operations/s", float64(operations)/median(times)), ""})
	}
	return rows, nil
}
