package realtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limit is how long one process may take before it counts as stuck.
const limit = 6 * time.Minute

// program is the folder with agentd and agentd-hook, built once for all tests of the package.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		if err := serveMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	code, err := func() (int, error) {
		dir, err := os.MkdirTemp("", "agentd-realtest-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		program = dir
		return m.Run(), nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// built builds agentd once.
func built(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"agentd", "agentd-hook"} {
		path := filepath.Join(program, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "agentd/cmd/"+name).CombinedOutput(); err != nil {
			t.Fatalf("%s can't be built: %v\n%s", name, err, out)
		}
	}
	return filepath.Join(program, "agentd")
}

// node finds a client's program among those that make clients installs, or skips the test.
func node(t *testing.T, script string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a real client")
	}
	interpreter, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node isn't there, so the real client can't run")
	}
	path, err := Installed(script)
	if err != nil {
		t.Skip(err)
	}
	return []string{interpreter, path}
}

// world is a project of a user who has installed agentd into a client.
type world struct {
	t             *testing.T
	agentd        string
	home, project string
	daemon        *exec.Cmd
	said          *bytes.Buffer
}

// newWorld makes a project with hooks, as a user does: init, the script, publish.
func newWorld(t *testing.T, hooks string, files map[string]string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt-") // short, as the path of a socket is
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, agentd: built(t), home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	t.Cleanup(func() {
		w.kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{w.home, w.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		w.write(name, text)
	}
	w.run("init")
	for _, old := range []string{"example.star", "example_test.star"} {
		if err := os.Remove(filepath.Join(w.project, ".agentd", "hooks", old)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.write(".agentd/hooks/h.star", hooks)
	w.run("publish")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.project, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// read is a file of the project, "" if it isn't there.
func (w *world) read(name string) string {
	text, err := os.ReadFile(filepath.Join(w.project, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(text)
}

// env is the environment of everything in this world: nothing of the machine's but where programs are, and
// no way out but the loopback interface.
func (w *world) env(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
		"HTTPS_PROXY=http://127.0.0.1:9", "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}, more...)
}

// run runs agentd in the project.
func (w *world) run(args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, w.agentd, args...)
	c.Dir, c.Env = w.project, w.env()
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	if err := c.Run(); err != nil {
		w.t.Fatalf("agentd %s: %v\n%s%s", strings.Join(args, " "), err, &out, &talk)
	}
	return out.String()
}

// serve starts the daemon and waits until it answers.
func (w *world) serve() {
	w.t.Helper()
	c := exec.Command(w.agentd, "serve")
	c.Dir, c.Env = w.project, w.env()
	w.said = &bytes.Buffer{}
	c.Stdout = w.said
	talk, err := c.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.daemon = c
	ready := make(chan bool, 1)
	go func() {
		buf, text := make([]byte, 4096), ""
		for {
			n, err := talk.Read(buf)
			if text += string(buf[:n]); strings.Contains(text, "listening on") {
				select {
				case ready <- true:
				default:
				}
			}
			if err != nil {
				close(ready)
				return
			}
		}
	}()
	if !<-ready {
		w.t.Fatal("the daemon didn't start")
	}
}

// kill ends the daemon as hard as can be.
func (w *world) kill() {
	if w.daemon == nil {
		return
	}
	if err := w.daemon.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Error(err)
	}
	_ = w.daemon.Wait() // it was killed
	w.daemon = nil
}

// op is an operation as ops list shows it.
type op struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Tool  string `json:"tool"`
	State string `json:"state"`
}

// ops are a client's operations, as "kind tool state", each with how often it is there.
func (w *world) ops(client string) map[string]int {
	w.t.Helper()
	var list []op
	if err := json.Unmarshal([]byte(w.run("ops", "list", "--client", client, "--json")), &list); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]int{}
	for _, o := range list {
		out[strings.Join([]string{o.Kind, o.Tool, o.State}, " ")]++
	}
	return out
}

// ran is what a client's process did.
type ran struct {
	code     int
	out, err string
}

// client runs a client's program in the project until it ends.
func (w *world) client(argv []string, env ...string) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir, c.Env = w.project, w.env(env...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr = &out, &talk
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	if ctx.Err() != nil {
		w.t.Fatalf("the client didn't end\n%s%s", &out, &talk)
	}
	return ran{c.ProcessState.ExitCode(), out.String(), talk.String()}
}
