package install

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// driver plays the client: it loads the plugin, calls its hooks and prints what came of it.
const driver = `
const [, , plugin, directory, calls] = process.argv
const did = []
const client = {
  session: {
    abort: async (x) => { did.push("aborted " + x.path.id) },
    get: async (x) => ({ data: { parentID: { grandchild: "child", child: "s" }[x.path.id] } }),
    prompt: async (x) => { did.push("prompted " + x.path.id + ": " + x.body.parts[0].text) },
  },
  mcp: { status: async () => ({ data: { "my.files": {}, my: {} } }) },
  tui: { showToast: async (x) => { did.push("told the person: " + x.body.message) } },
}
const module = await import(plugin)
if (Object.keys(module).length !== 1) throw new Error("every export is taken for a plugin")
const project = { client, directory }
const hooks = await module.agentd(project)
if (Object.keys(await module.agentd(project)).length) throw new Error("two speak")
if (!Object.keys(await module.agentd({ ...project })).length) throw new Error("nobody speaks once it begins anew")
console.error = (text) => console.log("log: " + text)
for (const [name, input, output] of JSON.parse(calls)) {
  try {
    await hooks[name](input, output)
    if (name === "event") await hooks.dispose() // so that one comes after the other
    console.log("came back: " + JSON.stringify(output ?? null))
  } catch (err) {
    console.log("threw: " + err.message)
  }
}
await hooks.dispose()
for (const what of did) console.log(what)
`

// TestOpenCodesPlugin: each case has the answers of a daemon, in turn, or what is started where none answers, then
// calls of the client, and what comes of them.
func TestOpenCodesPlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node isn't there, which runs the plugin in this test")
	}
	const file = "testdata/opencode.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			given, want, _ := strings.Cut(string(f.Data), "want:\n")
			root, q := newPlace(t, nil)
			q.Places.StateDir, q.Places.UserState = shortDir(t), shortDir(t)
			if q.Client, err = For("opencode"); err != nil {
				t.Fatal(err)
			}
			var calls, answers []string
			timeout := "60"
			serving, directory := "", filepath.Join(root, "project")
			for line := range strings.Lines(given) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				switch name {
				case "answer":
					answers, serving = append(answers, value), q.Places.StateDir
				case "user":
					q.User, directory = true, filepath.Join(root, "project", "deep")
					serving = value
				case "timeout":
					timeout = value
				case "program":
					if err := write(filepath.Join(root, "bin", programName), "#!/bin/sh\n"+value+"\n"); err != nil {
						t.Fatal(err)
					}
				case "call":
					calls = append(calls, value)
				}
			}
			if _, err := Install(q); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(q.file())
			if err != nil {
				t.Fatal(err)
			}
			module, play := filepath.Join(root, "agentd.mjs"), filepath.Join(root, "driver.mjs")
			if err := write(module, strings.Replace(string(text), `"timeout":60`, `"timeout":`+timeout, 1)); err != nil {
				t.Fatal(err)
			}
			if err := write(play, driver); err != nil {
				t.Fatal(err)
			}
			asked := answering(t, serving, answers)
			cmd := exec.Command(node, play, module, directory, "["+strings.Join(calls, ",")+"]")
			cmd.Env = append(os.Environ(), "AGENTD_STATE=", "AGENTD_PROJECT=")
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := strings.Join(asked(), "") + strings.NewReplacer(root, "ROOT", q.Places.StateDir, "STATE", q.Places.UserState, "USER").Replace(string(out))
			got = strings.ReplaceAll(got, root, "ROOT")
			if *update {
				a.Files[i].Data = []byte(given + "want:\n" + got)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shortDir is a folder whose path leaves room for the name of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// answering is a daemon that gives these answers; what it returns says what it was asked. "reset" hangs up, and
// a number is an answer with that status, and "hang" is none.
func answering(t *testing.T, dir string, answers []string) (asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	if dir == "" {
		return func() []string { return got }
	}
	l, err := net.Listen("unix", filepath.Join(dir, "agentd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("asked %s %s: %s\n", r.URL, r.Header.Get("Agentd-Within"), body))
		answer := answers[min(n, len(answers)-1)]
		n++
		if answer == "hang" {
			<-r.Context().Done()
			return
		}
		var status int
		if json.Unmarshal([]byte(answer), &status) == nil {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Agentd-Exit", "0")
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		if answer == "reset" {
			w.Header().Set("Content-Length", "100")
		}
		_, _ = io.WriteString(w, answer)
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	return func() []string {
		s.Close()
		<-ended
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// TestOthersFileOfThatNameStays: a plugin of somebody else is neither overwritten nor removed.
func TestOthersFileOfThatNameStays(t *testing.T) {
	root, q := newPlace(t, nil)
	var err error
	if q.Client, err = For("opencode"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "project", ".opencode", "plugins", "agentd.js")
	if err := write(path, "export const mine = 1\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(q); err == nil || !strings.Contains(err.Error(), "it isn't the plugin that agentd writes; move it away; nothing was changed") {
		t.Errorf("got %v", err)
	}
	if res, err := Uninstall(q); err != nil || len(res.Changes) != 0 {
		t.Errorf("got %v, %v", res, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "export const mine = 1\n" {
		t.Errorf("it is %s, %v", text, err)
	}
}
