package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/daemon"
)

// Exit codes. Every verb has these and no others.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitRejected = 3 // rejected, denied or stopped by a hook
	exitPerson   = 4 // a person has to decide
)

// env is what the process has around it, and the flags that every verb takes.
type env struct {
	stdin          *os.File
	stdout, stderr io.Writer
	getenv         func(string) string
	project, state string
	json           bool
}

// exit is an error that is told already, or needs no words: only its code counts.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usage is a wrong call.
type usage struct{ error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

func run(ctx context.Context, args []string, e *env) int {
	root := e.command()
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	var wrong usage
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &wrong):
		fmt.Fprintf(e.stderr, "agentd: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(e.stderr, "agentd: %v\n", err)
	return exitFailed
}

func (e *env) command() *cobra.Command {
	root := &cobra.Command{
		Use: "agentd", Short: "An agent daemon whose every joint can be scripted",
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no verb %q; see agentd --help", args[0])
			}
			return c.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	f := root.PersistentFlags()
	f.StringVar(&e.project, "project", "", "the project's `DIR`; else AGENTD_PROJECT, or the nearest one upwards that has .agentd")
	f.StringVar(&e.state, "state-dir", "", "the `DIR` of database and socket; else AGENTD_STATE, or .agentd/state")
	f.BoolVar(&e.json, "json", false, "print JSON and nothing else")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	for _, verb := range []func(*env) *cobra.Command{
		initVerb, demoVerb, serveVerb, runVerb, runsVerb, answerVerb, opsVerb, decideVerb, pointsVerb, hooksVerb, stateVerb, testVerb, publishVerb, revisionsVerb, replayVerb, trustVerb,
		hookVerb, installVerb, uninstallVerb, statusVerb, storeVerb, doctorVerb, versionVerb,
	} {
		c := verb(e)
		strict(c)
		root.AddCommand(c)
	}
	return root
}

// strict makes wrong arguments wrong usage.
func strict(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				given := "an argument is missing"
				if len(args) > 0 {
					given = fmt.Sprintf("%q is more or less than it takes", args)
				}
				return usagef("%s; usage: %s", given, c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
	if c.HasSubCommands() && c.RunE == nil {
		c.Args = nil
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s has no %q; see %s --help", c.CommandPath(), args[0], c.CommandPath())
			}
			return c.Help()
		}
	}
}

func (e *env) places() (config.Places, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return config.Places{}, err
	}
	return e.placesFrom(cwd)
}

func (e *env) placesFrom(cwd string) (config.Places, error) {
	p, err := config.Find(config.Ask{Cwd: cwd, Project: e.project, StateDir: e.state, Getenv: e.getenv})
	if err != nil {
		return p, err
	}
	if p.Engine, err = otherEngine(e.getenv); err != nil {
		return p, err
	}
	p.Program, err = os.Executable()
	return p, err
}

// inProject is places for verbs that need a project.
func (e *env) inProject() (config.Places, error) {
	p, err := e.places()
	if err == nil && p.Project == "" {
		err = config.ErrNoProject
	}
	return p, err
}

func (e *env) options(p config.Places) daemon.Options {
	return daemon.Options{Places: p, Getenv: e.getenv, Log: e.logger(slog.LevelWarn), At: crashPoint(e.getenv)}
}

func (e *env) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
}

// print writes one JSON value.
func (e *env) print(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (e *env) say(format string, args ...any) { fmt.Fprintf(e.stdout, format+"\n", args...) }

// note is talk, which isn't the result.
func (e *env) note(format string, args ...any) { fmt.Fprintf(e.stderr, format+"\n", args...) }

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// terminal reports whether a person sits there.
func terminal(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}
