package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/internal/tool"
)

// saves: from a save to the active generation, quiet period included.
func saves(ctx context.Context, dir string) ([]row, error) {
	var rows []row
	for _, scripts := range []int{64, 300} {
		took, err := save(ctx, filepath.Join(dir, fmt.Sprintf("project-%d", scripts)), scripts)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("from a save to the active generation, %d scripts", scripts), "", took.Round(time.Millisecond / 10).String(), ""})
	}
	return rows, nil
}

func save(ctx context.Context, project string, scripts int) (took time.Duration, err error) {
	hooks := filepath.Join(project, config.Dir, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		return 0, err
	}
	write := func(i int, limit string) error {
		text := strings.NewReplacer("clamp-limit", fmt.Sprintf("clamp-%d", i), `"max_limit": 100}`, `"max_limit": `+limit+`}`).Replace(clamp)
		return os.WriteFile(filepath.Join(hooks, fmt.Sprintf("h%03d.star", i)), []byte(text), 0o644)
	}
	for i := range scripts {
		if err := write(i, "100"); err != nil {
			return 0, err
		}
	}
	p, err := config.Find(config.Ask{Cwd: project, Getenv: func(k string) string { return map[string]string{"HOME": project}[k] }})
	if err != nil {
		return 0, err
	}
	t, err := daemon.LookAtTrust(ctx, p)
	if err == nil {
		err = daemon.TrustFiles(ctx, p, t, time.Now())
	}
	if err != nil {
		return 0, err
	}
	c, err := daemon.Connect(ctx, daemon.Options{Places: p, Dev: true, Getenv: func(string) string { return "" }})
	if err != nil {
		return 0, err
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	active, listening, ended := make(chan struct{}, 64), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- c.Events(inner, func() { close(listening) }, func(e api.Event) {
			if e.Type == "generation.active" {
				active <- struct{}{}
			}
		})
	}()
	<-listening
	var times []float64
	for n := range 9 {
		start := time.Now()
		if err := write(7, strconv.Itoa(200+n)); err != nil {
			return 0, err
		}
		<-active
		times = append(times, float64(time.Since(start)))
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return time.Duration(median(times)), c.Close()
}

// starts sums what the packages of the program do before main.
func starts(ctx context.Context, program string) ([]row, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	var sums []float64
	packages := 0
	for range rounds {
		exit, err := tool.Runner{}.Run(ctx, tool.Command{Argv: []string{path, "version"}, Env: []string{"GODEBUG=inittrace=1"}})
		if err != nil {
			return nil, err
		}
		sum := 0.0
		packages = 0
		for line := range strings.Lines(exit.Stderr.String()) {
			f := strings.Fields(line) // init NAME @T ms, C ms clock, B bytes, N allocs
			if len(f) > 4 && f[0] == "init" {
				ms, err := strconv.ParseFloat(f[4], 64)
				if err != nil {
					return nil, fmt.Errorf("inittrace: %q: %w", line, err)
				}
				sum += ms
				packages++
			}
		}
		sums = append(sums, sum)
	}
	return []row{{fmt.Sprintf("initialisation of %d packages", packages), "", fmt.Sprintf("%.2f ms", median(sums)), ""}}, nil
}
