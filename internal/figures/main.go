// Command figures measures what the design promises and prints it as ratios between things measured
// in one run, as nothing else can be compared between machines. Nothing here is asserted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// rounds is how often each pair is measured; the medians count, as machines have moods.
const rounds = 5

func main() {
	program := flag.String("program", "bin/agentd", "the agentd whose start is measured")
	only := flag.String("only", "", "one group: decisions, metered, large, languages, isolated, shell, commits, saves, calls, stored, replay, resumes, client, gemini, start or fuel")
	thing := flag.String("fuel", "", "of the fuel, only what matches this expression")
	flag.Parse()
	if err := run(*program, *only, *thing); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// row is one line of the table.
type row struct{ what, against, got, want string }

func run(program, only, thing string) error {
	matches, err := regexp.Compile(thing)
	if err != nil {
		return fmt.Errorf("-fuel: %w", err)
	}
	testing.Init()
	dir, err := os.MkdirTemp("", "agentd-figures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { // what is measured looks at no context
		os.RemoveAll(dir)
		os.Exit(1)
	})()
	var rows []row
	for _, group := range []struct {
		name    string
		measure func(context.Context, string) ([]row, error)
	}{
		{"decisions", decisions}, {"metered", metered}, {"large", large}, {"languages", languages},
		{"isolated", func(ctx context.Context, _ string) ([]row, error) { return isolated(ctx, program) }}, {"shell", commandLines}, {"commits", commits}, {"saves", saves},
		{"calls", commitCases}, {"stored", stored}, {"replay", replays}, {"resumes", func(ctx context.Context, dir string) ([]row, error) { return resumes(ctx, dir, program) }},
		{"client", func(ctx context.Context, dir string) ([]row, error) { return clientHooks(ctx, dir, program) }},
		{"gemini", func(ctx context.Context, dir string) ([]row, error) { return geminiHooks(ctx, dir, program) }},
		{"start", func(ctx context.Context, _ string) ([]row, error) { return starts(ctx, program) }},
		{"fuel", func(ctx context.Context, _ string) ([]row, error) { return fuel(ctx, matches) }},
	} {
		if only != "" && only != group.name {
			continue
		}
		got, err := group.measure(ctx, dir)
		if err != nil {
			return err
		}
		rows = append(rows, got...)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(out, "what\tagainst\tmeasured\twanted")
	for _, r := range rows {
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", r.what, r.against, r.got, r.want)
	}
	return out.Flush()
}

// interleaved measures functions in turn, several times, and returns the median time of one call each.
func interleaved(funcs ...func(b *testing.B)) []float64 {
	times := make([][]float64, len(funcs))
	for range rounds {
		for i, f := range funcs {
			r := testing.Benchmark(f)
			times[i] = append(times[i], float64(r.T.Nanoseconds())/float64(r.N))
		}
	}
	out := make([]float64, len(funcs))
	for i, t := range times {
		slices.Sort(t)
		out[i] = t[len(t)/2]
	}
	return out
}

func ratio(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }

func micros(nanos float64) string {
	return time.Duration(nanos).Round(10 * time.Nanosecond).String()
}
