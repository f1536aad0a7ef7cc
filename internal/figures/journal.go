package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/internal/tool"
	"agentd/store"
)

// turn is one answer of the scripted model.
type turn struct {
	Calls []modelCall `json:"calls,omitempty"`
	Text  string      `json:"text,omitempty"`
}

type modelCall struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// scene makes a project whose model plays turns, and publishes it. JSON is YAML enough.
func scene(ctx context.Context, dir, confirm, hook string, turns []turn, at func(string)) (daemon.Options, error) {
	text, err := json.Marshal(map[string]any{"turns": turns})
	if err != nil {
		return daemon.Options{}, err
	}
	for name, text := range map[string]string{
		config.Dir + "/agentd.yaml":     fmt.Sprintf("agents: {default: {model: {provider: scripted, file: turns.yaml}, tools: [shell, list_files], confirm: %s, max_steps: 5000}}\n", confirm),
		config.Dir + "/hooks/hook.star": hook,
		"turns.yaml":                    string(text),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return daemon.Options{}, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return daemon.Options{}, err
		}
	}
	getenv := func(k string) string { return map[string]string{"HOME": filepath.Join(dir, "home")}[k] }
	p, err := config.Find(config.Ask{Cwd: dir, Getenv: getenv})
	if err != nil {
		return daemon.Options{}, err
	}
	o := daemon.Options{Places: p, Getenv: getenv, At: at}
	return o, daemon.Do(ctx, o, func(c *daemon.Connection) error {
		res, err := c.Publish(ctx, api.Publish{})
		if err == nil && len(res.Errors) > 0 {
			err = fmt.Errorf("publish: %v", res.Errors)
		}
		return err
	})
}

// play runs a task to its end.
func play(ctx context.Context, c *daemon.Connection, q api.StartRun) error {
	last := ""
	err := c.StartRun(ctx, q, func(e api.Event) { last = e.Type })
	if err == nil && last != "run.completed" {
		err = fmt.Errorf("the run ended with %s", last)
	}
	return err
}

// commitCases: how many commits a tool call costs, as the store counts them. A run with a call has one
// model call more than one without, which is two of the commits.
func commitCases(ctx context.Context, dir string) ([]row, error) {
	one := []turn{{Calls: []modelCall{{"shell", map[string]string{"command": "true"}}}}, {Text: "done"}}
	decide := func(what string) string {
		return "def decide(ctx, call):\n    return " + what + "\n\nhook(id = \"decide\", version = \"v1\", run = decide, point = \"tool.before\")\n"
	}
	none, err := commitsOf(ctx, filepath.Join(dir, "commits-none"), "allow", "", one[1:])
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, c := range []struct {
		what, confirm, hook string
		want                int
	}{
		{"plain", "allow", "", 2},
		{"with a hook before and after", "allow", decide("annotate(seen = True)") + strings.NewReplacer("decide", "look", "tool.before", "tool.after").Replace(decide("annotate(seen = True)")), 2},
		{"rejected by a hook", "allow", decide(`reject("no")`), 1},
		{"answered by a hook", "allow", decide(`respond({"output": "", "exit_code": 0})`), 1},
		{"asked about and allowed", "ask", "", 4},
	} {
		n, err := commitsOf(ctx, filepath.Join(dir, fmt.Sprintf("commits-%d", i)), c.confirm, c.hook, one)
		if err != nil {
			return nil, fmt.Errorf("a call that is %s: %w", c.what, err)
		}
		rows = append(rows, row{"commits of a tool call, " + c.what, "", fmt.Sprint(n - none - 2), fmt.Sprint(c.want)})
	}
	return rows, nil
}

func commitsOf(ctx context.Context, dir, confirm, hook string, turns []turn) (int, error) {
	var n atomic.Int64
	o, err := scene(ctx, dir, confirm, hook, turns, func(place string) {
		if place == "committed" {
			n.Add(1)
		}
	})
	if err != nil {
		return 0, err
	}
	err = daemon.Do(ctx, o, func(c *daemon.Connection) error {
		n.Store(0) // what the start needs isn't the run's
		return play(ctx, c, api.StartRun{Task: "go", Yes: true})
	})
	return int(n.Load()), err
}

// conversationTurns is how many turns a conversation has, each a run of its session.
const conversationTurns = 100

// stored: what a conversation takes in the database, against what was said in it.
func stored(ctx context.Context, dir string) ([]row, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var turns []turn
	var tasks []string
	said := 0
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	defer enc.Close()
	for range conversationTurns {
		task, answer := prose(rng, 200), prose(rng, 300)
		tasks, turns = append(tasks, task), append(turns, turn{Text: answer})
		said += len(enc.EncodeAll([]byte(task), nil)) + len(enc.EncodeAll([]byte(answer), nil))
	}
	o, err := scene(ctx, filepath.Join(dir, "stored"), "allow", "", turns, nil)
	if err != nil {
		return nil, err
	}
	var sizes [3]int64
	for i := range sizes {
		if i > 0 {
			half := tasks[(i-1)*conversationTurns/2 : i*conversationTurns/2]
			err := daemon.Do(ctx, o, func(c *daemon.Connection) error {
				for _, task := range half {
					if err := play(ctx, c, api.StartRun{Task: task, Session: "talk"}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		st, err := os.Stat(o.Places.Database())
		if err != nil {
			return nil, err
		}
		sizes[i] = st.Size()
	}
	r, err := store.OpenReader(ctx, o.Places.Database(), nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ops, err := r.Operations(ctx, store.Filter{})
	if err != nil {
		return nil, err
	}
	took := float64(sizes[2] - sizes[0])
	return []row{
		{fmt.Sprintf("stored bytes of a conversation of %d turns", conversationTurns), fmt.Sprintf("its messages after zstd (%d KiB)", said>>10),
			fmt.Sprintf("%.2f (%d KiB, with %.0f bytes beside for each of %d operations)", took/float64(said), int(took)>>10, (took-float64(said))/float64(len(ops)), len(ops)), "at most 3 KiB an operation beside"},
		{"of these the second half of the turns", "the first half", fmt.Sprintf("%.2f", float64(sizes[2]-sizes[1])/float64(sizes[1]-sizes[0])), "about 1: it grows linearly"},
	}, nil
}

// prose is so many words of a small language, as compressible as one.
func prose(rng *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		for range 1 + rng.IntN(3) {
			b.WriteString([]string{"ta", "ko", "ri", "men", "sol", "ve", "lu", "an", "dor", "is", "pe", "qua", "the", "ing", "ou", "st"}[int(rng.ExpFloat64()*3)%16])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// resumes: the time until a run of a thousand operations, that was killed, is over after its last step.
func resumes(ctx context.Context, dir, program string) ([]row, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, steps := range []int{10, 333} { // a step, its model call and its tool call
		var turns []turn
		for range steps - 1 {
			turns = append(turns, turn{Calls: []modelCall{{"list_files", map[string]string{"path": "."}}}})
		}
		turns = append(turns, turn{Calls: []modelCall{{"shell", map[string]string{"command": "kill -9 $PPID"}}}}, turn{Text: "done"})
		o, err := scene(ctx, filepath.Join(dir, fmt.Sprintf("resumes-%d", steps)), "allow", "", turns, nil)
		if err != nil {
			return nil, err
		}
		agentd := func(args ...string) (string, error) {
			exit, err := tool.Runner{}.Run(ctx, tool.Command{Argv: append([]string{path}, args...), Dir: o.Places.Project, Env: []string{"HOME=" + filepath.Join(o.Places.Project, "home"), "PATH=" + os.Getenv("PATH")}})
			if err != nil {
				return "", err
			}
			return exit.Stdout.String(), nil
		}
		if _, err := agentd("run", "--json", "go"); err != nil {
			return nil, err
		}
		r, err := store.OpenReader(ctx, o.Places.Database(), nil)
		if err != nil {
			return nil, err
		}
		ops, err := r.Operations(ctx, store.Filter{})
		r.Close()
		if err != nil {
			return nil, err
		}
		start := time.Now()
		out, err := agentd("runs", "resume", "--json", ops[0].Head.RunID)
		took := time.Since(start)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(out, `"type":"run.completed"`) {
			return nil, fmt.Errorf("the resumed run ended with %.300s", out)
		}
		rows = append(rows, row{fmt.Sprintf("resume of a run with %d operations", len(ops)), "", took.Round(time.Millisecond).String(), fmt.Sprintf("at most %d ms", 10*len(ops))})
	}
	return rows, nil
}
