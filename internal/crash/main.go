// Command crash kills the real program at every place where it can die between two durable steps, and at
// random moments, takes up what it left, and holds what happened against what may have happened.
//
// Nothing is judged by the journal alone: the tools append to a file, the model's server writes down what it
// is asked, and both are compared with a life in which nobody was killed. A kill is SIGKILL; a panic is none.
//
// Of each kill it tells apart
//
//	lost      something was acknowledged, or done and known, and is gone
//	repeated  something was done twice that was known to be done, or that nobody allowed to be repeated
//	unknown   operations that were cut off in the middle: they are told as unknown, which is no fault
//	wrong     the end isn't that of the life without a kill, or the database is damaged
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	short := flag.Bool("short", os.Getenv("SHORT") == "1", "each named place once, few random moments")
	only := flag.String("only", "", "one scenario")
	again := flag.Int("again", 0, "how often each named place is taken; 0: once if -short, else 3 times")
	random := flag.Int("random", 0, "kills at random moments a scenario; 0: 3 if -short, else 120")
	flag.Parse()
	o := options{only: *only, again: *again, random: *random, lanes: runtime.NumCPU()}
	if o.again == 0 {
		o.again = choose(*short, 1, 3)
	}
	if o.random == 0 {
		o.random = choose(*short, 3, 120)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// options say how much is done.
type options struct {
	only          string
	again, random int
	lanes         int // how many trials go on at once
	places        int // at most so many named places a scenario, spread evenly; 0: all
}

// run does all trials and prints the table. It reports whether nothing was lost, repeated or wrong.
func run(ctx context.Context, o options, out io.Writer) (bool, error) {
	dir, err := os.MkdirTemp("", "agentd-crash-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	programs, err := build(ctx, dir)
	if err != nil {
		return false, err
	}
	list, err := scenarios()
	if err != nil {
		return false, err
	}
	var t table
	for _, s := range list {
		if o.only != "" && s.name != o.only {
			continue
		}
		if err := s.trials(ctx, dir, programs, o, &t); err != nil {
			return false, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return t.print(out), nil
}

// programs are what is killed.
type programs struct {
	points  string // honours AGENTD_CRASH_AT
	release string
}

func build(ctx context.Context, dir string) (programs, error) {
	p := programs{filepath.Join(dir, "agentd-points"), filepath.Join(dir, "agentd")}
	for _, args := range [][]string{
		{"build", "-trimpath", "-o", p.release, "agentd/cmd/agentd"},
		{"build", "-trimpath", "-tags", "crashpoints", "-o", p.points, "agentd/cmd/agentd"},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return p, nil
}
