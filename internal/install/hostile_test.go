package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAFileOfOursIsNoLink: a checkout may bring a link along where agentd writes files of its own, and what it leads to
// is somebody's. It is neither written over nor removed.
func TestAFileOfOursIsNoLink(t *testing.T) {
	for _, name := range []string{".agentd/state/agentd-hook", ".agentd/state/agentd-hook.argv", ".agents/plugins/agentd/plugin.json"} {
		t.Run(name, func(t *testing.T) {
			root, q := newPlace(t, nil)
			var err error
			if q.Client, err = For("goose"); err != nil {
				t.Fatal(err)
			}
			theirs, at := filepath.Join(root, "home", "precious"), filepath.Join(root, "project", name)
			if err := write(theirs, "precious"); err != nil {
				t.Fatal(err)
			}
			links := func() {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(theirs, at); err != nil {
					t.Fatal(err)
				}
			}
			stays := func() {
				t.Helper()
				if text, err := os.ReadFile(theirs); err != nil || string(text) != "precious" {
					t.Errorf("it is %q, %v", text, err)
				}
			}
			links()
			if _, err := Install(q); err == nil || !strings.Contains(err.Error(), at+" is a link") {
				t.Errorf("got %v", err)
			}
			stays()
			if _, err := os.Stat(q.file()); err == nil {
				t.Error("something was written")
			}
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			if _, err := Install(q); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			links()
			if _, err := Uninstall(q); err != nil && !strings.Contains(err.Error(), at+" is a link") {
				t.Errorf("got %v", err)
			}
			stays()
		})
	}
}

// TestInstallMakesTheProgramOneAgain: a program that lost its mode can't be started, and most clients then let the call
// run.
func TestInstallMakesTheProgramOneAgain(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o400, 0o777} {
		_, q := newPlace(t, nil)
		var err error
		if q.Client, err = For("claude"); err != nil {
			t.Fatal(err)
		}
		if _, err := Install(q); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(q.program(), mode); err != nil {
			t.Fatal(err)
		}
		res, err := Install(q)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(q.program()); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("it was %v and is %v, %v", mode, st.Mode(), err)
		}
		if len(res.Changes) != 1 || res.Changes[0].Path != q.program() || res.Changes[0].What != "changed" {
			t.Errorf("changes: %+v", res.Changes)
		}
		if res, err = Install(q); err != nil || len(res.Changes) != 0 {
			t.Errorf("once more: %+v, %v", res.Changes, err)
		}
	}
}

// TestFoldersBehindLinks: where the client's folder, or the home with the state folder in it, is behind a link, as with
// dotfiles, what was installed is found again and goes again, and the folder that the link leads to stays.
func TestFoldersBehindLinks(t *testing.T) {
	for _, name := range Names() {
		for _, user := range []bool{false, true} {
			root, q := newPlace(t, nil)
			var err error
			if q.Client, err = For(name); err != nil {
				t.Fatal(err)
			}
			q.User = user
			first, _, _ := strings.Cut(strings.TrimLeft(q.Client.Project, "./"), "/")
			links := map[string]string{"home": "home", ".": "project/." + first}
			if name == "crush" { // the file itself is at the top
				links = map[string]string{"home": "home"}
			}
			for target, at := range links {
				theirs := filepath.Join(root, "elsewhere", target, "it")
				if err := os.MkdirAll(theirs, 0o755); err != nil {
					t.Fatal(err)
				}
				if at = filepath.Join(root, at); target == "home" {
					if err := os.Remove(at); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink(theirs, at); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if _, err := Install(q); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range Look(q).Findings {
				if strings.Contains(f.What, "nothing says what was installed") {
					t.Errorf("%s, user %v: %s", name, user, f.What)
				}
			}
			if _, err := Uninstall(q); err != nil {
				t.Errorf("%s, user %v: %v", name, user, err)
				continue
			}
			for _, path := range []string{q.file(), q.program(), filepath.Join(q.dir(), bookName)} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s, user %v: %s is still there", name, user, path)
				}
			}
			for _, at := range links {
				if _, err := os.Stat(filepath.Join(root, at)); err != nil {
					t.Errorf("%s, user %v: the link leads nowhere: %v", name, user, err)
				}
			}
		}
	}
}

// TestFoldersThatWereThereStay: also those that are empty when what was put into them is gone.
func TestFoldersThatWereThereStay(t *testing.T) {
	for _, name := range Names() {
		_, q := newPlace(t, nil)
		var err error
		if q.Client, err = For(name); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(q.file())
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := Install(q); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Uninstall(q); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACheckoutDoesntKeepThePluginFromLoading: a client goes on without a plugin that throws when it is loaded, so
// nothing that a checkout brings along may make it.
func TestACheckoutDoesntKeepThePluginFromLoading(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node isn't there, which runs the plugin in this test")
	}
	for name, bring := range map[string]func(at string) error{
		"a link to itself":  func(at string) error { return os.Symlink(".agentd", at) },
		"a link to nowhere": func(at string) error { return os.Symlink("gone", at) },
		"a file":            func(at string) error { return os.WriteFile(at, nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			root, q := newPlace(t, nil)
			q.User = true
			if q.Client, err = For("opencode"); err != nil {
				t.Fatal(err)
			}
			if err := write(filepath.Join(root, "bin", programName), "#!/bin/sh\necho '{\"decision\": \"deny\", \"reason\": \"not here\"}'\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := Install(q); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(q.file())
			if err != nil {
				t.Fatal(err)
			}
			checkout := filepath.Join(root, "checkout")
			if err := os.Mkdir(checkout, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := bring(filepath.Join(checkout, ".agentd")); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"agentd.mjs": string(text), "driver.mjs": driver} {
				if err := write(filepath.Join(root, name), text); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(node, filepath.Join(root, "driver.mjs"), filepath.Join(root, "agentd.mjs"), checkout,
				`[["tool.execute.before", {"tool": "bash", "sessionID": "s", "callID": "c"}, {"args": {"command": "ls"}}]]`)
			cmd.Env = append(os.Environ(), "AGENTD_STATE=", "AGENTD_PROJECT=")
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "threw: not here\n" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestTheProgramStaysWhereTheBookIsLost: a client whose hook isn't there lets calls run, so the program stays as long
// as any client's configuration starts it, also where the book doesn't know of that.
func TestTheProgramStaysWhereTheBookIsLost(t *testing.T) {
	for _, dir := range []string{".agentd/state", ".agentd/it's my state"} {
		for _, name := range Names() {
			_, q := newPlace(t, nil)
			q.Places.StateDir = filepath.Join(q.Places.Project, filepath.FromSlash(dir))
			other, err := For(name)
			if err != nil {
				t.Fatal(err)
			}
			mine, err := For("gemini")
			if err == nil && name == "gemini" {
				mine, err = For("claude")
			}
			if err != nil {
				t.Fatal(err)
			}
			do := func(what func(Request) (Result, error), c Client) {
				t.Helper()
				q.Client = c
				if _, err := what(q); err != nil {
					t.Fatal(err)
				}
			}
			do(Install, other)
			if err := os.Remove(filepath.Join(q.dir(), bookName)); err != nil {
				t.Fatal(err)
			}
			do(Install, mine)
			do(Uninstall, mine)
			if _, err := os.Stat(q.program()); err != nil {
				t.Errorf("%s: its program is gone: %v", name, err)
			}
			do(Uninstall, other)
			if _, err := os.Stat(q.program()); err == nil {
				t.Errorf("%s: the program stays where nobody starts it", name)
			}
		}
	}
}
