package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/internal/daemon"
	"agentd/revision"
)

func testVerb(e *env) *cobra.Command {
	var match, layer string
	var twice bool
	c := &cobra.Command{Use: "test [PATH...]", Short: "Run the tests of the hooks", RunE: func(c *cobra.Command, args []string) error {
		which, find := hookpoints.Project, e.inProject
		switch layer {
		case "project":
		case "user":
			which, find = hookpoints.User, e.places
		default:
			return usagef("the layer %q has no tests, only project and user", layer)
		}
		p, err := find()
		if err != nil {
			return err
		}
		o := daemon.TestOptions{Determinism: twice, Program: p.Program}
		if match != "" {
			if o.Run, err = regexp.Compile(match); err != nil {
				return usagef("--run: %v", err)
			}
		}
		if len(args) > 0 {
			if o.File, err = under(p.LayerDir(which), args); err != nil {
				return err
			}
		}
		v, err := daemon.Look(c.Context(), p, e.getenv, true)
		if err != nil {
			return err
		}
		defer v.Close()
		report, faults, err := v.Test(c.Context(), which, o)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			if e.json {
				if err := e.print(map[string]any{"passed": 0, "failed": 0, "tests": []any{}, "errors": faults}); err != nil {
					return err
				}
			}
			for _, f := range faults {
				e.note("error: %v", f)
			}
			return exit(exitFailed)
		}
		if e.json {
			if err := e.print(report); err != nil {
				return err
			}
		} else {
			for _, t := range report.Tests {
				if t.OK {
					e.say("ok   %s %s", t.File, t.Name)
				} else {
					e.say("FAIL %s:%d %s: %s", t.File, t.Line, t.Name, t.Message)
				}
			}
			e.say("%d passed, %d failed", report.Passed, report.Failed)
		}
		if report.Failed > 0 {
			return exit(exitFailed)
		}
		return nil
	}}
	c.Flags().StringVar(&layer, "layer", "project", "of which `LAYER`: project or user")
	c.Flags().StringVar(&match, "run", "", "only tests whose name matches this regular expression, `RE`")
	c.Flags().BoolVar(&twice, "determinism", false, "run each test twice and compare, the second time in another order, time zone and language")
	return c
}

// under reports which files of a layer, which is a folder, lie at or under one of the paths.
func under(layer string, paths []string) (func(string) bool, error) {
	var prefixes []string
	for _, arg := range paths {
		abs, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(layer, abs)
		if err != nil || strings.HasPrefix(rel, "..") {
			rel = filepath.Clean(arg) // as the verb prints it: from the layer's folder
		}
		if !filepath.IsLocal(rel) {
			return nil, usagef("%s isn't in %s", arg, filepath.Join(layer, revision.HooksDir))
		}
		if _, err := os.Stat(filepath.Join(layer, rel)); err != nil {
			return nil, usagef("there is no %s, here or in %s; agentd test without a path runs all tests and names their files", arg, layer)
		}
		prefixes = append(prefixes, filepath.ToSlash(rel))
	}
	return func(f string) bool {
		for _, prefix := range prefixes {
			if f == prefix || prefix == "." || strings.HasPrefix(f, prefix+"/") {
				return true
			}
		}
		return false
	}, nil
}
