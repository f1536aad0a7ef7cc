package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
)

// tree makes folders and files below a new folder; a name that ends with / is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPlacesAreFound(t *testing.T) {
	root := tree(t, map[string]string{"p/.agentd/": "", "p/deep/er/": "", "p/inner/.agentd/": "", "p/inner/src/": "", "q/.agentd/": "", "none/": "", "file/.agentd": "no folder"})
	at := func(rel string) string { return filepath.Join(root, rel) }
	for name, c := range map[string]struct {
		cwd, project, state string
		env                 map[string]string
		want                Places
		err                 string
	}{
		"here":                    {cwd: "p", want: Places{Project: "p", StateDir: "p/.agentd/state"}},
		"above":                   {cwd: "p/deep/er", want: Places{Project: "p", StateDir: "p/.agentd/state"}},
		"the nearest":             {cwd: "p/inner/src", want: Places{Project: "p/inner", StateDir: "p/inner/.agentd/state"}},
		"nowhere":                 {cwd: "none", want: Places{StateDir: "h/.local/state/agentd"}},
		"a file is no project":    {cwd: "file", want: Places{StateDir: "h/.local/state/agentd"}},
		"--project":               {cwd: "none", project: at("q"), want: Places{Project: "q", StateDir: "q/.agentd/state"}},
		"--project, relative":     {cwd: "p", project: "../q", want: Places{Project: "q", StateDir: "q/.agentd/state"}},
		"--project over variable": {cwd: "none", project: at("q"), env: map[string]string{"AGENTD_PROJECT": at("p")}, want: Places{Project: "q", StateDir: "q/.agentd/state"}},
		"AGENTD_PROJECT":          {cwd: "q", env: map[string]string{"AGENTD_PROJECT": at("p")}, want: Places{Project: "p", StateDir: "p/.agentd/state"}},
		"--project without it":    {cwd: "p", project: "deep", err: "has no .agentd folder; make one with agentd init"},
		"AGENTD_PROJECT, gone":    {cwd: "p", env: map[string]string{"AGENTD_PROJECT": "/nowhere"}, err: "/nowhere has no .agentd folder"},
		"--state-dir":             {cwd: "p", state: "st", want: Places{Project: "p", StateDir: "p/st"}},
		"AGENTD_STATE":            {cwd: "p", env: map[string]string{"AGENTD_STATE": at("st/../st")}, want: Places{Project: "p", StateDir: "st"}},
		"--state-dir over it":     {cwd: "p", state: at("a"), env: map[string]string{"AGENTD_STATE": at("b")}, want: Places{Project: "p", StateDir: "a"}},
		"XDG folders": {cwd: "none", env: map[string]string{"XDG_CONFIG_HOME": at("c"), "XDG_STATE_HOME": at("s"), "HOME": ""},
			want: Places{StateDir: "s/agentd", UserConfig: "c/agentd", UserState: "s/agentd"}},
		"relative XDG folders count for nothing": {cwd: "p", env: map[string]string{"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "."}, want: Places{Project: "p", StateDir: "p/.agentd/state"}},
		"no home":                                {cwd: "p", env: map[string]string{"HOME": ""}, err: "set HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"HOME": at("h")}
			for k, v := range c.env {
				env[k] = v
			}
			got, err := Find(Ask{Cwd: at(c.cwd), Project: c.project, StateDir: c.state, Getenv: func(k string) string { return env[k] }})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %+v, %v, want %q", got, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			for _, f := range []struct {
				place *string
				rel   string
			}{{&want.Project, ""}, {&want.StateDir, ""}, {&want.UserConfig, "h/.config/agentd"}, {&want.UserState, "h/.local/state/agentd"}} {
				if *f.place == "" {
					*f.place = f.rel
				}
				if *f.place != "" {
					*f.place = at(*f.place)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPlacesNameTheirFiles(t *testing.T) {
	p := Places{Project: "/p", StateDir: "/s", UserConfig: "/c", UserState: "/u"}
	if got, err := p.Socket(); err != nil || got != "/s/agentd.sock" {
		t.Errorf("socket %s, %v", got, err)
	}
	if p.Database() != "/s/agentd.db" || p.UserDatabase() != "/u/agentd.db" {
		t.Errorf("databases %s and %s", p.Database(), p.UserDatabase())
	}
	for layer, want := range map[hookpoints.Layer]string{hookpoints.Shipped: "", hookpoints.User: "/c", hookpoints.Project: "/p/.agentd"} {
		if got := p.LayerDir(layer); got != want {
			t.Errorf("the %s layer is in %q, want %q", layer, got, want)
		}
	}
	if got := (Places{}).LayerDir(hookpoints.Project); got != "" {
		t.Errorf("without a project its layer is in %q", got)
	}
	p.StateDir = "/" + strings.Repeat("x", 200)
	if _, err := p.Socket(); err == nil || !strings.Contains(err.Error(), "choose a shorter folder with --state-dir or AGENTD_STATE") {
		t.Errorf("a long path: %v", err)
	}
}

func TestLiveSettings(t *testing.T) {
	usual := Live{LogLevel: slog.LevelInfo, QuestionsTimeout: 24 * time.Hour}
	with := func(change func(*Live)) Live {
		l := usual
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		user, project string // agentd.yaml; "" is none
		env           map[string]string
		want          Live
		err           []string // parts of the sentence
	}{
		"nothing at all":                        {want: usual},
		"an empty file":                         {project: "# nothing\n", want: usual},
		"the user's":                            {user: "log: {level: debug}\nlisten: 127.0.0.1:1\n", want: with(func(l *Live) { l.LogLevel, l.Listen = slog.LevelDebug, "127.0.0.1:1" })},
		"the project's":                         {user: "log: {level: debug}\nlisten: a\n", project: "log: {level: warn}\n", want: with(func(l *Live) { l.LogLevel, l.Listen = slog.LevelWarn, "a" })},
		"variables":                             {project: "log: {level: warn}\n", env: map[string]string{"AGENTD_LOG_LEVEL": "error", "AGENTD_LISTEN": "b", "AGENTD_QUESTIONS_TIMEOUT": "1h"}, want: with(func(l *Live) { l.LogLevel, l.Listen, l.QuestionsTimeout = slog.LevelError, "b", time.Hour })},
		"other variables":                       {env: map[string]string{"AGENTD_HOOKS": "x", "AGENTD_ALLOW_UNCONFINED": "true"}, want: usual},
		"what a revision freezes is none of it": {project: "hooks:\n  - {binding_id: a.b, hook_id: A, config: {\"x.y\": {1: 2}}}\nagents: {Default: {}}\n", want: usual},
		"allow_unconfined is the user's":        {user: "allow_unconfined: true\n", want: with(func(l *Live) { l.AllowUnconfined = true })},
		"and not the project's":                 {project: "allow_unconfined: true\n", want: usual},
		"nor its to take away":                  {user: "allow_unconfined: true\n", project: "allow_unconfined: false\n", want: with(func(l *Live) { l.AllowUnconfined = true })},
		"a key file":                            {project: "store: {key_file: sub/k}\n", want: with(func(l *Live) { l.KeyFile = "ROOT/p/sub/k" })},
		"a key file of the user's":              {user: "store: {key_file: k}\n", want: with(func(l *Live) { l.KeyFile, l.UserKeyFile = "ROOT/c/k", "ROOT/c/k" })},
		"the project's key file beside it":      {user: "store: {key_file: ~/k}\n", project: "store: {key_file: /x/k}\n", env: map[string]string{"HOME": "/home/me"}, want: with(func(l *Live) { l.KeyFile, l.UserKeyFile = "/x/k", "/home/me/k" })},
		"no key in the project":                 {user: "store: {key_file: k}\n", project: "store: {key_file: \"\"}\n", want: with(func(l *Live) { l.UserKeyFile = "ROOT/c/k" })},
		"a key file in the variable":            {user: "store: {key_file: k}\n", project: "store: {key_file: k}\n", env: map[string]string{"AGENTD_STORE_KEY_FILE": "/v/k"}, want: with(func(l *Live) { l.KeyFile, l.UserKeyFile = "/v/k", "/v/k" })},
		"a store that says nothing":             {project: "store: {}\n", want: usual},
		"a key file that is a list":             {project: "store: {key_file: [k]}\n", err: []string{"p/.agentd/agentd.yaml: store.key_file is [k], want key_file: PATH"}},
		"a key file that is nothing":            {project: "store: {key_file: }\n", err: []string{"store.key_file is <nil>, want"}},
		"a key file by another name":            {user: "store: {keyfile: k}\n", err: []string{"c/agentd.yaml: store.keyfile is k, want key_file"}},
		"a store that is a text":                {project: "store: k\n", err: []string{"store is k, want {key_file: PATH}"}},
		"a store that is nothing":               {project: "store:\n", want: usual},
		"no level":                              {project: "log: {level: loud}\n", err: []string{`log.level is "loud", want debug, info, warn or error`}},
		"no level in the variable":              {env: map[string]string{"AGENTD_LOG_LEVEL": "loud"}, err: []string{`log.level is "loud"`}},
		"no time":                               {project: "questions: {timeout: soon}\n", err: []string{`questions.timeout is "soon", want one like 24h`}},
		"a time without a unit":                 {project: "questions: {timeout: 5}\n", err: []string{`questions.timeout is "5"`}},
		"a time that is over":                   {project: "questions: {timeout: -1h}\n", err: []string{`questions.timeout is "-1h"`}},
		"a level that is a list":                {project: "log: {level: [a]}\n", err: []string{"log.level", "want debug, info, warn or error"}},
		"a list for a mapping":                  {project: "log: [debug]\n", err: []string{"log", "want"}},
		"no YAML":                               {project: "log: {level: debug}\nhooks: [\n", err: []string{"p/.agentd/agentd.yaml:", "line 2"}},
		"no YAML of the user's":                 {user: "a: b: c\n", err: []string{"c/agentd.yaml:", "mapping values are not allowed", "correct it"}},
		"a list":                                {project: "- a\n", err: []string{"p/.agentd/agentd.yaml: line 1: cannot unmarshal"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p/.agentd/": "", "c/": ""}
			if c.user != "" {
				files["c/agentd.yaml"] = c.user
			}
			if c.project != "" {
				files["p/.agentd/agentd.yaml"] = c.project
			}
			root := tree(t, files)
			p := Places{Project: filepath.Join(root, "p"), StateDir: filepath.Join(root, "p/state"), UserConfig: filepath.Join(root, "c"), UserState: filepath.Join(root, "s")}
			c.want.KeyFile, c.want.UserKeyFile = strings.Replace(c.want.KeyFile, "ROOT", root, 1), strings.Replace(c.want.UserKeyFile, "ROOT", root, 1)
			got, err := ReadLive(p, func(k string) string { return c.env[k] })
			if len(c.err) > 0 {
				for _, part := range c.err {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("got %v, want %q", err, part)
					}
				}
				if err != nil && strings.Contains(err.Error(), "\n") {
					t.Errorf("more than a line: %q", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTheUsersDatabaseHasTheUsersKeyWhereverItIsOpened(t *testing.T) {
	root := tree(t, map[string]string{"p/.agentd/agentd.yaml": "store: {key_file: k}\n", "c/agentd.yaml": "store: {key_file: k}\n"})
	p := Places{Project: filepath.Join(root, "p"), StateDir: filepath.Join(root, "s"), UserConfig: filepath.Join(root, "c"), UserState: filepath.Join(root, "s")}
	got, err := ReadLive(p, func(string) string { return "" })
	if want := filepath.Join(root, "c", "k"); err != nil || got.KeyFile != want || got.UserKeyFile != want {
		t.Errorf("the keys are %q and %q, want %q, %v", got.KeyFile, got.UserKeyFile, want, err)
	}
}

func TestFileThatCanNotBeReadIsNoEmptyOne(t *testing.T) {
	root := tree(t, map[string]string{"p/.agentd/agentd.yaml/": ""}) // a folder
	_, err := ReadLive(Places{Project: filepath.Join(root, "p"), UserConfig: root}, func(string) string { return "" })
	if err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "agentd.yaml") {
		t.Errorf("got %v", err)
	}
}
