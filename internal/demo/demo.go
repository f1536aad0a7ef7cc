// Package demo plays the main job of agentd in a temporary project: with no key, no network, and the
// real program, which is killed in the middle of a run.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/internal/tool"
)

//go:embed project
var project embed.FS

// Step is one thing that was shown.
type Step struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Demo is one play.
type Demo struct {
	Program string // the agentd that is run and killed
	Getenv  func(string) string
	Told    func(Step)
	dir     string
	places  config.Places
	run     string // the run that is killed
}

// Play plays everything and removes what it made. It ends at the first step that fails.
func (d *Demo) Play(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "agentd-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d.dir = dir
	for _, s := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"a project with two hooks", d.makeProject},
		{"a hook is edited while the daemon runs, and reloads", d.reload},
		{"a broken hook keeps the last good one", d.broken},
		{"the hooks are tested and published", d.publish},
		{"a run is killed with kill -9 in the middle", d.kill},
		{"its call was clamped by a hook, another was rejected", d.hooked},
		{"the working files are gone, and the run goes on", d.resume},
		{"nothing was done twice", d.witness},
	} {
		detail, err := s.do(ctx)
		if err != nil {
			d.Told(Step{s.name, false, err.Error()})
			return fmt.Errorf("%s: %w", s.name, err)
		}
		d.Told(Step{s.name, true, detail})
	}
	return nil
}

func (d *Demo) makeProject(context.Context) (string, error) {
	root := filepath.Join(d.dir, config.Dir)
	err := fs.WalkDir(project, "project", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("project", path)
		if err != nil {
			return err
		}
		to := filepath.Join(root, rel)
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if rel == "scenario.yaml" {
			to = filepath.Join(d.dir, rel)
		}
		text, err := project.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		return "", err
	}
	// The demo is the same on every machine: the user's own layer stays out.
	env := map[string]string{"HOME": d.dir}
	d.places, err = config.Find(config.Ask{Cwd: d.dir, Getenv: func(k string) string { return env[k] }})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "orders.txt"), []byte("first\nsecond\nthird\nfourth\n"), 0o644); err != nil {
		return "", err
	}
	return "limit.star clamps, no_rm.star guards", nil
}

// daemonFor serves this project from this process while f runs.
func (d *Demo) daemonFor(ctx context.Context, dev bool, f func(c *daemon.Connection, events <-chan api.Event) error) (err error) {
	trust, err := daemon.LookAtTrust(ctx, d.places) // as who runs the demo would say yes to
	if err != nil {
		return err
	}
	c, err := daemon.Connect(ctx, daemon.Options{Places: d.places, Dev: dev, Approved: &trust.Powers, Getenv: func(string) string { return "" }})
	if err != nil {
		return err
	}
	inner, stop := context.WithCancel(ctx)
	events, ended := make(chan api.Event, 1024), make(chan error, 1)
	listening := make(chan struct{})
	go func() { ended <- c.Events(inner, func() { close(listening) }, func(e api.Event) { events <- e }) }()
	select {
	case <-listening:
		err = f(c, events)
	case err = <-ended:
		ended <- nil
	}
	stop()
	if told := <-ended; err == nil && !errors.Is(told, context.Canceled) {
		err = told
	}
	return errors.Join(err, c.Close())
}

// clamped asks what the clamp does to a call that reads a lot.
func clamped(ctx context.Context, c *daemon.Connection) (string, error) {
	p, err := payload.ParseString(`{"name":"read_file","tool_id":"read_file","implementation_id":null,"parameters":{},"arguments":{"path":"orders.txt","limit":5000}}`)
	if err != nil {
		return "", err
	}
	res, err := c.Decide(ctx, agentd.DecideRequest{Point: "tool.before", Payload: p})
	if err != nil {
		return "", err
	}
	return res.Payload.Get("arguments").Get("limit").Text(), nil
}

func (d *Demo) edit(old, new string) error {
	path := filepath.Join(d.dir, config.Dir, "hooks", "limit.star")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s doesn't hold %q", path, old)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
}

// await waits for an event of a kind.
func await(ctx context.Context, events <-chan api.Event, kind string) (api.Event, error) {
	for {
		select {
		case e := <-events:
			if e.Type == kind {
				return e, nil
			}
		case <-ctx.Done():
			return api.Event{}, ctx.Err()
		}
	}
}

func (d *Demo) reload(ctx context.Context) (detail string, err error) {
	return detail, d.daemonFor(ctx, true, func(c *daemon.Connection, events <-chan api.Event) error {
		before, err := clamped(ctx, c)
		if err != nil {
			return err
		}
		if err := d.edit(`"max_limit": 2}`, `"max_limit": 3}`); err != nil {
			return err
		}
		if _, err := await(ctx, events, "generation.active"); err != nil {
			return err
		}
		after, err := clamped(ctx, c)
		if err != nil {
			return err
		}
		if before != "2" || after != "3" {
			return fmt.Errorf("the limit went from %s to %s, want from 2 to 3", before, after)
		}
		detail = "the limit of 5000 was clamped to 2, and after the edit to 3"
		return nil
	})
}

func (d *Demo) broken(ctx context.Context) (detail string, err error) {
	return detail, d.daemonFor(ctx, true, func(c *daemon.Connection, events <-chan api.Event) error {
		if err := d.edit("def clamp(ctx, call):", "def clamp(ctx, call:"); err != nil {
			return err
		}
		if _, err := await(ctx, events, "generation.refused"); err != nil {
			return err
		}
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		limit, err := clamped(ctx, c)
		if err != nil {
			return err
		}
		if limit != "3" || len(s.Errors) == 0 {
			return fmt.Errorf("the limit is %s and status has %d errors", limit, len(s.Errors))
		}
		detail = fmt.Sprintf("still clamped to 3; status says %v", s.Errors[0])
		return d.edit("def clamp(ctx, call:", "def clamp(ctx, call):")
	})
}

func (d *Demo) publish(ctx context.Context) (string, error) {
	// The test says 2, the hook says 3 now: publishing has to notice.
	var refused, done api.Published
	if err := d.agentd(ctx, 1, &refused, "publish", "--json"); err != nil {
		return "", err
	}
	if err := d.edit(`"max_limit": 3}`, `"max_limit": 2}`); err != nil {
		return "", err
	}
	if err := d.agentd(ctx, 0, &done, "publish", "--json", "-m", "demo"); err != nil {
		return "", err
	}
	if len(refused.Errors) == 0 || done.Revision == "" {
		return "", errors.New("it published what its tests refuse, or didn't publish what they take")
	}
	return fmt.Sprintf("first refused by its own test, then revision %.12s", done.Revision), nil
}

func (d *Demo) kill(ctx context.Context) (string, error) {
	exit, err := d.exec(ctx, "run", "--json", "write three lines")
	if err != nil {
		return "", err
	}
	if exit.Signal != "SIGKILL" && exit.Code != 137 {
		return "", fmt.Errorf("the program ended with code %d: %s", exit.Code, exit.Stderr)
	}
	var runs []api.Run
	if err := d.agentd(ctx, 0, &runs, "runs", "list", "--json"); err != nil {
		return "", err
	}
	if len(runs) != 1 || runs[0].Status != "interrupted" {
		return "", fmt.Errorf("runs list says %+v", runs)
	}
	d.run = runs[0].RunID
	return fmt.Sprintf("the run %s is interrupted", d.run), nil
}

func (d *Demo) hooked(ctx context.Context) (string, error) {
	var read, rm api.Operation
	if err := d.agentd(ctx, 0, &read, "ops", "show", d.run+"/t1/s1/c1", "--json"); err != nil {
		return "", err
	}
	if err := d.agentd(ctx, 0, &rm, "ops", "show", d.run+"/t1/s2/c1", "--json"); err != nil {
		return "", err
	}
	asked, ran := read.OriginalInput.Get("arguments").Get("limit").Text(), read.FinalInput.Get("arguments").Get("limit").Text()
	if asked != "5000" || ran != "2" || rm.State != "rejected" {
		return "", fmt.Errorf("the limit went from %s to %s, and rm was %s", asked, ran, rm.State)
	}
	return fmt.Sprintf("limit %s became %s; rm: %s", asked, ran, rm.Reason), nil
}

func (d *Demo) resume(ctx context.Context) (string, error) {
	if err := os.RemoveAll(filepath.Join(d.dir, config.Dir, "hooks")); err != nil {
		return "", err
	}
	exit, err := d.exec(ctx, "runs", "resume", d.run)
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("resume ended with code %d: %s", exit.Code, exit.Stderr)
	}
	return strings.TrimSpace(exit.Stdout.String()), nil
}

func (d *Demo) witness(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(d.dir, "witness.txt"))
	if err != nil {
		return "", err
	}
	if string(text) != "one\ntwo\nthree\n" {
		return "", fmt.Errorf("the tools wrote %q", text)
	}
	var ops []api.Operation
	if err := d.agentd(ctx, 0, &ops, "ops", "list", "--state", "unknown", "--json"); err != nil {
		return "", err
	}
	if len(ops) != 1 {
		return "", fmt.Errorf("%d operations are unknown, want the one that was cut off", len(ops))
	}
	return fmt.Sprintf("the file that the tools wrote: %q; the call that was cut off is %s", text, ops[0].State), nil
}

// agentd runs a verb of the program and reads the JSON that it prints.
func (d *Demo) agentd(ctx context.Context, code int, into any, args ...string) error {
	exit, err := d.exec(ctx, args...)
	if err != nil {
		return err
	}
	if exit.Code != code {
		return fmt.Errorf("agentd %s ended with code %d: %s", strings.Join(args, " "), exit.Code, exit.Stderr)
	}
	return json.Unmarshal([]byte(exit.Stdout.String()), into)
}

func (d *Demo) exec(ctx context.Context, args ...string) (tool.Exit, error) {
	return tool.Runner{}.Run(ctx, tool.Command{Argv: append([]string{d.Program}, args...), Dir: d.dir, Env: []string{"PATH=" + d.Getenv("PATH"), "HOME=" + d.dir}})
}
