// Command agentd is the command line: one file a verb, no logic. What it prints is fixed, see
// docs/cli.md; other programs are written against it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"agentd"
	"agentd/internal/worker"
)

func main() { os.Exit(Main()) }

// Main runs one command, or the worker that another agentd asks for, and returns its exit code.
func Main() int {
	if worker.Asked(os.Args) {
		return worker.Main(os.Args, agentd.Engines())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Args[1:], &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv})
}
