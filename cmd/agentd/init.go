package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/daemon"
)

// template is what init writes: the folder as it will be, less the dot.
//
//go:embed template
var template embed.FS

func initVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "init", Short: "Make .agentd with one example hook and its test", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		dir, err := filepath.Abs(cmp.Or(e.project, e.getenv("AGENTD_PROJECT"), "."))
		if err != nil {
			return err
		}
		created, err := initProject(dir)
		if err != nil {
			return err
		}
		if err := trustMade(c.Context(), e, dir); err != nil {
			return err
		}
		if e.json {
			return e.print(map[string][]string{"created": created})
		}
		for _, f := range created {
			e.say("%s", f)
		}
		e.note("next: agentd test; agentd decide tool.before --dev --payload FILE; agentd publish")
		return nil
	}}
}

// trustMade trusts what was just made, as it is agentd's own.
func trustMade(ctx context.Context, e *env, dir string) error {
	p, err := config.Find(config.Ask{Cwd: dir, Project: dir, StateDir: e.state, Getenv: e.getenv})
	if err != nil {
		return err
	}
	t, err := daemon.LookAtTrust(ctx, p)
	if err != nil {
		return err
	}
	return daemon.TrustFiles(ctx, p, t, time.Now())
}

// initProject writes the template and replaces nothing that is there.
func initProject(dir string) (created []string, err error) {
	root := filepath.Join(dir, config.Dir)
	if _, err := os.Stat(root); err == nil {
		return nil, fmt.Errorf("%s is there already; remove it first, or edit it", root)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = fs.WalkDir(template, "template", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("template", path)
		if err != nil {
			return err
		}
		if rel == "gitignore" {
			rel = ".gitignore"
		}
		to := filepath.Join(root, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := template.ReadFile(path)
		if err != nil {
			return err
		}
		created = append(created, filepath.ToSlash(filepath.Join(config.Dir, rel)))
		return os.WriteFile(to, text, 0o644)
	})
	return created, err
}
