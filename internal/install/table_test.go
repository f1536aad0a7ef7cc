package install

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"agentd/internal/client"
	"agentd/internal/config"
)

// TestHandlersOfEveryClient: how one event that is refused without an answer and one that passes are registered.
func TestHandlersOfEveryClient(t *testing.T) {
	const file = "testdata/handlers.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: a.Comment}
	for _, c := range Clients {
		if c.Plugin != "" {
			continue
		}
		text := ""
		for _, r := range []Registration{{Event: c.CanaryEvent, Closed: true, Timeout: 10 * time.Minute}, {Event: "Other", Closed: true, Timeout: 30 * time.Second}, {Event: "End", Timeout: time.Minute}} {
			h := c.handler(r, "/home/it's/my state/agentd-hook", r.Event == "End")
			root, err := parse([]byte(h))
			if err != nil || !json.Valid([]byte(h)) {
				t.Fatalf("%s: %v: %s", c.Name, err, h)
			}
			handler := root
			if c.Grouped {
				handler = &root.get("hooks").children[0].value
			}
			if argv, _ := commandOf(handler); len(argv) < 3 || argv[0] != "/home/it's/my state/agentd-hook" || argv[1] != c.Name {
				t.Errorf("%s: the handler isn't known as ours: %q", c.Name, argv)
			}
			text += h + "\n"
		}
		out.Files = append(out.Files, txtar.File{Name: c.Name, Data: []byte(text)})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(out))); d != "" {
		t.Error(d)
	}
}

// TestAPathThatAShellReadsOtherwise: a handler of which another client runs the command alone, through a shell, starts
// the program all the same, with its arguments or without; and where the path is plain nothing of a shell is needed.
func TestAPathThatAShellReadsOtherwise(t *testing.T) {
	for _, dir := range []string{"plain", "my state", "it's", "a$HOME;b", "(c)&", "~d", "ü", "back\\slash", "#e"} {
		dir := filepath.Join(t.TempDir(), dir)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, programName)
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho started \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, c := range Clients {
			if c.Plugin != "" {
				continue
			}
			r := Registration{Event: c.CanaryEvent, Closed: true, Timeout: time.Minute}
			handler, err := parse([]byte(c.handler(r, program, false)))
			if err != nil {
				t.Fatal(err)
			}
			if c.Grouped {
				handler = &handler.get("hooks").children[0].value
			}
			argv, line := commandOf(handler)
			if want := append([]string{program}, r.arguments(c.Name, false)...); !slices.Equal(argv, want) {
				t.Errorf("%s: it is known as %q, want %q", c.Name, argv, want)
			}
			out, err := exec.Command("sh", "-c", line).CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "started") {
				t.Errorf("%s: a shell that is given %s: %v: %s", c.Name, line, err, out)
			}
			start := Request{Client: c, Getenv: func(string) string { return "" }}.start(place{argv: argv, line: line})
			out, err = exec.Command(start[0], start[1:]...).CombinedOutput()
			if want := "started " + strings.Join(argv[1:], " ") + "\n"; err != nil || string(out) != want || (start[0] == program) != (handler.get("args") != nil) {
				t.Errorf("%s: doctor starts %q: %v: %s", c.Name, start, err, out)
			}
			if args := handler.get("args"); args != nil && filepath.Base(dir) != "plain" {
				t.Errorf("%s: arguments beside the command %s: with them a client runs it without a shell", c.Name, line)
			}
		}
	}
}

// TestTheTableFitsTheCodecs: what the table names is there, and the canary of every client is one.
func TestTheTableFitsTheCodecs(t *testing.T) {
	for _, c := range Clients {
		codec, err := client.For(c.Name)
		if err != nil {
			continue
		}
		known := map[string]bool{}
		for _, k := range codec.Events() {
			known[k.Name] = true
		}
		for _, event := range append(append(c.Skipped(), c.Also...), append(c.ClosedAt, c.CanaryEvent)...) {
			if !known[event] {
				t.Errorf("%s has no event %s", c.Name, event)
			}
		}
		_, e, err := client.Understand(c.Name, c.CanaryEvent, c.CanaryInput(client.CanaryTool, "/p", "2026-01-02T03:04:05.000Z"))
		if _, ok := client.Canary(e); err != nil || !ok || e.Client != c.Name {
			t.Errorf("the canary of %s isn't one: %v, %+v", c.Name, err, e)
		}
		if len(c.Registrations(config.Clients{})) == 0 {
			t.Errorf("%s has no events", c.Name)
		}
		for _, r := range c.Registrations(config.Clients{}) {
			if r.Timeout < time.Second || r.Timeout%time.Second != 0 {
				t.Errorf("%s waits %s at %s", c.Name, r.Timeout, r.Event)
			}
		}
	}
	for _, name := range client.Names() {
		if _, err := For(name); err != nil {
			t.Errorf("there is a codec of %s, and nothing to install: %v", name, err)
		}
	}
}

// TestInstallChangesAllOrSaysWhy: what is in the way is told, and what was there before stays.
func TestInstallChangesAllOrSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		before func(root string) error
		want   string
	}{
		"a folder in its place":  {func(root string) error { return os.MkdirAll(root+"/project/.gemini/settings.json", 0o755) }, "settings.json is no file; move it away"},
		"a file as its folder":   {func(root string) error { return os.WriteFile(root+"/project/.gemini", nil, 0o644) }, "not a directory"},
		"a link to nowhere":      {func(root string) error { return link(root, "gone") }, "settings.json is a link that leads nowhere"},
		"a book that is no book": {func(root string) error { return write(root+"/project/.agentd/state/installed.json", "[") }, "installed.json: unexpected end of JSON input; remove it, and install again"},
		"no program":             {func(root string) error { return os.Remove(root + "/bin/agentd-hook") }, "built without agentd-hook"},
		"a read-only file": {func(root string) error {
			if err := write(root+"/project/.gemini/settings.json", "{}"); err != nil {
				return err
			}
			return os.Chmod(root+"/project/.gemini/settings.json", 0o444)
		}, "settings.json is read-only; make it writable"},
		"a text that isn't one": {func(root string) error { return write(root+"/project/.gemini/settings.json", "{}\n\xff") }, "settings.json: line 2: it isn't UTF-8; nothing was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			root, q := newPlace(t, nil)
			var err error
			if q.Client, err = For("gemini"); err != nil {
				t.Fatal(err)
			}
			if err := c.before(root); err != nil {
				t.Fatal(err)
			}
			if _, err := Install(q); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(root, "project/.gemini/settings.json")); err == nil && name != "a folder in its place" && name != "a text that isn't one" && name != "a read-only file" {
				t.Error("something was written")
			}
			if _, err := os.Stat(q.program()); err == nil && name == "a read-only file" {
				t.Error("the program was written")
			}
		})
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func link(root, to string) error {
	if err := os.MkdirAll(root+"/project/.gemini", 0o755); err != nil {
		return err
	}
	return os.Symlink(to, root+"/project/.gemini/settings.json")
}

// TestSomebodyElsesChangeIsKept: a configuration that changes between the look and the write isn't overwritten.
func TestSomebodyElsesChangeIsKept(t *testing.T) {
	root, q := newPlace(t, nil)
	path := filepath.Join(root, "project", ".gemini", "settings.json")
	if err := write(path, "{}"); err != nil {
		t.Fatal(err)
	}
	r := reader{q: q}
	c := r.file(path)
	if err := write(path, `{"a": 1}`); err != nil {
		t.Fatal(err)
	}
	c.after = []byte(`{"b": 2}`)
	if err := c.do(); err == nil || !strings.Contains(err.Error(), "changed by somebody else meanwhile") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"a": 1}` {
		t.Errorf("it is %s, %v", text, err)
	}
}

// TestUninstallGivesBackTheVeryBytes: where nobody changed the file meanwhile; what others wrote since stays.
func TestUninstallGivesBackTheVeryBytes(t *testing.T) {
	texts := map[string]string{
		"nothing": "", "blanks": " \n", "an empty object": "{}", "a byte-order mark": "\ufeff{\"a\":1}\n", "lines of Windows": "{\r\n  \"a\": 1\r\n}\r\n",
		"comments and empty hooks": "// c\n{\n  \"a\": 1, /* y */\n  \"hooks\": {}, // z\n}\n", "a comma at the end": "{\"a\":1,}", "no line end": "{\"version\":1,\"hooks\":{}}", "a version in words": "{\"version\":\"1\"}",
	}
	for _, name := range Names() {
		for what, text := range texts {
			t.Run(name+" "+what, func(t *testing.T) {
				_, q := newPlace(t, nil)
				var err error
				if q.Client, err = For(name); err != nil {
					t.Fatal(err)
				}
				if q.Client.Plugin != "" {
					t.Skip("the file is ours alone")
				}
				if err := write(q.file(), text); err != nil {
					t.Fatal(err)
				}
				if q.Client.reads([]byte(text)) != nil { // so that its hooks wouldn't run
					if _, err := Install(q); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
						t.Errorf("got %v", err)
					}
					if got, err := os.ReadFile(q.file()); err != nil || string(got) != text {
						t.Errorf("%q, %v, want %q", got, err, text)
					}
					return
				}
				for range 2 {
					if _, err := Install(q); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := Uninstall(q); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(q.file()); err != nil || string(got) != text {
					t.Errorf("%q, %v, want %q", got, err, text)
				}
				if _, err := Install(q); err != nil {
					t.Fatal(err)
				}
				now, err := os.ReadFile(q.file())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(q.file(), []byte(strings.Replace(string(now), "{", "{\"mine\":true,", 1)), 0o644); err != nil {
					t.Fatal(err)
				}
				if _, err := Uninstall(q); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(q.file()); err != nil || !strings.Contains(string(got), "mine") || strings.Contains(string(got), programName) {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
	}
}

// TestBackupsAreNotOverwritten: also those that are made in one second.
func TestBackupsAreNotOverwritten(t *testing.T) {
	_, q := newPlace(t, nil)
	var err error
	if q.Client, err = For("gemini"); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, text := range []string{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"} {
		if err := write(q.file(), text); err != nil {
			t.Fatal(err)
		}
		res, err := Install(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range res.Changes {
			if c.Backup != "" {
				kept[c.Backup] = text
			}
		}
	}
	if len(kept) != 3 {
		t.Errorf("there are %d backups: %v", len(kept), kept)
	}
	for path, want := range kept {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
}

// TestModesStay: a configuration that only its owner reads stays so, and what is ours is for its owner only.
func TestModesStay(t *testing.T) {
	root, q := newPlace(t, nil)
	var err error
	if q.Client, err = For("gemini"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "project", ".gemini", "settings.json")
	if err := write(path, "{}"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := Install(q)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{path: 0o600, res.Program: 0o700, res.Program + ".argv": 0o600, filepath.Dir(res.Program): 0o700}
	for _, c := range res.Changes {
		if c.Backup != "" {
			want[c.Backup], want[filepath.Dir(c.Backup)] = 0o600, 0o700
		}
	}
	if len(want) != 6 {
		t.Errorf("there is no backup: %+v", res.Changes)
	}
	for file, mode := range want {
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", file, err, st.Mode(), mode)
		}
	}
}

// TestTheLastOneTakesTheProgramAlong: as long as another client starts it, it stays.
func TestTheLastOneTakesTheProgramAlong(t *testing.T) {
	root, q := newPlace(t, nil)
	gemini, err := For("gemini")
	if err != nil {
		t.Fatal(err)
	}
	other := gemini
	other.Name, other.Project = "gemini", "./.other/settings.json"
	for _, c := range []Client{gemini, other} {
		q.Client = c
		if _, err := Install(q); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(root, "project/.agentd/state", programName)
	for _, c := range []struct {
		Client
		stays bool
	}{{gemini, true}, {other, false}} {
		q.Client = c.Client
		if _, err := Uninstall(q); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(program); (err == nil) != c.stays {
			t.Errorf("after %s: %v", c.Project, err)
		}
	}
	for _, gone := range []string{"project/.gemini", "project/.other", "project/.agentd/state/installed.json"} {
		if _, err := os.Stat(filepath.Join(root, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
}

func TestThePolicySaysWhatIsRefused(t *testing.T) {
	own := config.Clients{Open: []string{"tool.before", "turn.before"}, Closed: []string{"turn.before", "session.start", "turn.after", "subagent.after"}}
	for point, want := range map[string][2]bool{ // without a policy, with this one
		"tool.before": {true, false}, "tool.confirm": {true, true}, "tool.after": {true, true}, "turn.before": {true, true}, "model.chat.before": {true, true}, "elicit": {true, true},
		"session.start": {false, true}, "session.end": {false, false}, "notification": {false, false}, "client.event": {false, false}, "context.compact.before": {false, false},
		"turn.after": {false, false}, "subagent.after": {false, false}, "model.chat.after": {false, false}, "tools.select": {false, false}, "no.point": {false, false},
	} {
		if got := [2]bool{closed(config.Clients{}, point), closed(own, point)}; got != want {
			t.Errorf("%s: %v, want %v", point, got, want)
		}
	}
}
