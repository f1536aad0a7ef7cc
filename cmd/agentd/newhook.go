package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/internal/config"
	"agentd/revision"
)

// hookTemplate is what hooks new writes, with NAME for the hook's id.
//
//go:embed newhook
var hookTemplate embed.FS

// newName is what a hook and its file can be called: the name has no ending that means something.
var newName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,79}$`)

func newHookVerb(e *env) *cobra.Command {
	var lua, user bool
	c := &cobra.Command{Use: "new NAME", Short: "Write a hook and its test, to be changed", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		layer := hookpoints.Project
		if user {
			layer = hookpoints.User
		}
		dir := p.LayerDir(layer)
		if dir == "" {
			return fmt.Errorf("there is no %s folder here; agentd init makes one", config.Dir)
		}
		suffix := ".star"
		if lua {
			suffix = ".lua"
		}
		created, err := writeHook(dir, args[0], suffix)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(map[string][]string{"created": created})
		}
		for _, f := range created {
			e.say("%s", f)
		}
		if user {
			e.note("next: change them; agentd test --layer user; agentd publish --layer user")
			return nil
		}
		e.note("next: change them; agentd test; agentd publish")
		return nil
	}}
	c.Flags().BoolVar(&lua, "lua", false, "in Lua instead of Starlark")
	c.Flags().BoolVar(&user, "user", false, "among the user's own hooks instead of the project's")
	return c
}

// writeHook writes the hook and its test into a layer's folder, and replaces nothing: no file of that
// name, in whatever language, so that the test tests this hook.
func writeHook(dir, name, suffix string) (created []string, err error) {
	if !newName.MatchString(name) || strings.HasSuffix(name, "_test") {
		return nil, fmt.Errorf("%q can't be a hook's name: it has to be 1 to 80 of a-z 0-9 _ -, and must not end in _test", name)
	}
	hooks := filepath.Join(dir, filepath.FromSlash(revision.HooksDir))
	for _, end := range []string{".star", ".lua", "_test.star", "_test.lua"} {
		file := filepath.Join(hooks, name+end)
		if _, err := os.Lstat(file); err == nil {
			return nil, fmt.Errorf("%s is there already; take another name, or edit it", file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		return nil, err
	}
	for _, end := range []string{"", "_test"} {
		text, err := hookTemplate.ReadFile("newhook/hook" + end + suffix)
		if err != nil {
			return created, err
		}
		file := filepath.Join(hooks, name+end+suffix)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "NAME", name)), 0o644); err != nil {
			return created, err
		}
		created = append(created, file)
	}
	return created, nil
}
