package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"agentd/internal/config"
)

// starting is how often each program is started for a median; those that take long are started less often.
const (
	starting = 300
	slowly   = 10 // every tenth round
)

// beforeTool is a recorded event.
const beforeTool = "testdata/gemini/BeforeTool-run_shell_command.json"

// clientHooks measures what a client waits for at each event: what install registers, from its start to its
// end, beside programs that do nothing; and how many events a warm daemon answers in a second.
func clientHooks(ctx context.Context, dir, program string) (rows []row, err error) {
	event, err := os.ReadFile(beforeTool)
	if err != nil {
		return nil, fmt.Errorf("figures run at the top of the repository: %w", err)
	}
	w, err := serving(ctx, filepath.Join(dir, "client"), program)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	nothing, err := doNothing(ctx, dir)
	if err != nil {
		return nil, err
	}
	kinds := []kind{{"a Go program that does nothing", "at most 2", []string{nothing}, 1}, {"/bin/true", "", []string{"/bin/true"}, 1}, {"bash -c :", "", []string{"bash", "-c", ":"}, 1},
		{"node -e 0", "at most 0.10", []string{"node", "-e", "0"}, slowly}}
	kinds = slices.DeleteFunc(kinds, func(k kind) bool { _, err := exec.LookPath(k.argv[0]); return err != nil })
	hook, others, err := w.against(ctx, event, kinds)
	if err != nil {
		return nil, err
	}
	for i, k := range kinds {
		rows = append(rows, row{"what install registers, on a BeforeTool", k.name, fmt.Sprintf("%s (%s to %s)", ratio(hook, others[i]), micros(hook), micros(others[i])), k.want})
	}
	for _, clients := range []int{1, 16} {
		n, err := w.decisions(event, clients)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("events of a client answered and committed, %d at a time", clients), "", fmt.Sprintf("%.0f a second", n), ""})
	}
	return rows, nil
}

// kind is a program to compare with; it is started in every so many rounds.
type kind struct {
	name, want string
	argv       []string
	every      int
}

// world is a project with the hook installed and a daemon.
type world struct {
	dir, home, socket string
	registered        []string
	daemon            *exec.Cmd
}

// serving makes a project, publishes its example hook, installs the hook and starts a daemon.
func serving(ctx context.Context, dir, program string) (*world, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, home: filepath.Join(dir, "home"), socket: filepath.Join(dir, config.Dir, "state", "agentd.sock")}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init"}, {"publish"}, {"install", "gemini"}} {
		if out, err := w.command(ctx, append([]string{program}, args...)).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("agentd %s: %w: %s", args[0], err, out)
		}
	}
	if w.registered, err = registered(filepath.Join(dir, ".gemini", "settings.json")); err != nil {
		return nil, err
	}
	w.daemon = w.command(ctx, []string{program, "serve"})
	talk, err := w.daemon.StderrPipe()
	if err == nil {
		err = w.daemon.Start()
	}
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(talk); lines.Scan(); {
		if strings.Contains(lines.Text(), "listening on") {
			go func() { _, _ = io.Copy(io.Discard, talk) }() // ends with the daemon
			return w, nil
		}
	}
	return nil, errors.Join(errors.New("the daemon didn't begin to listen"), w.daemon.Wait())
}

func (w *world) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "AGENTD_STATE=", "AGENTD_PROJECT=")
	return cmd
}

func (w *world) stop() error {
	if err := w.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return w.daemon.Wait()
}

// registered is the command line at BeforeTool.
func registered(settings string) ([]string, error) {
	text, err := os.ReadFile(settings)
	if err != nil {
		return nil, err
	}
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	line := s.Hooks["BeforeTool"][0].Hooks[0].Command
	if strings.ContainsAny(line, `'"\`) {
		return nil, fmt.Errorf("the temporary folder has a name that is quoted: %s", line)
	}
	return strings.Fields(line), nil
}

// doNothing builds a static program that does nothing.
func doNothing(ctx context.Context, dir string) (string, error) {
	source, program := filepath.Join(dir, "nothing.go"), filepath.Join(dir, "nothing")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
}

// against starts what is registered and the others in turn, each with the event on standard input and an output
// that is read, as clients do, and returns the medians in nanoseconds.
func (w *world) against(ctx context.Context, event []byte, kinds []kind) (hook float64, others []float64, err error) {
	n := 0
	start := func(argv []string) (float64, string, error) {
		n++
		cmd := w.command(ctx, argv)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout = bytes.NewReader(another(event, 0, n)), &out
		began := time.Now()
		err := cmd.Run()
		return float64(time.Since(began).Nanoseconds()), out.String(), err
	}
	took := make([][]float64, len(kinds)+1)
	for i := range starting {
		t, out, err := start(w.registered)
		if err != nil || out != "{}\n" {
			return 0, nil, fmt.Errorf("what is registered answered %q: %w", out, err)
		}
		took[len(kinds)] = append(took[len(kinds)], t)
		for k, kind := range kinds {
			if i%kind.every != 0 {
				continue
			}
			t, _, err := start(kind.argv)
			if err != nil {
				return 0, nil, fmt.Errorf("%s: %w", kind.name, err)
			}
			took[k] = append(took[k], t)
		}
	}
	for _, t := range took[:len(kinds)] {
		others = append(others, median(t))
	}
	return median(took[len(kinds)]), others, nil
}

// another is the event in another session, at another time: one that comes twice isn't judged again.
func another(event []byte, session, n int) []byte {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
	out := times.ReplaceAll(event, []byte(`"timestamp": "`+at.Format("2006-01-02T15:04:05.000Z")+`"`))
	return sessions.ReplaceAll(out, []byte(fmt.Sprintf(`"session_id": "figures-%d"`, session)))
}

var (
	times    = regexp.MustCompile(`"timestamp": *"[^"]*"`)
	sessions = regexp.MustCompile(`"session_id": *"[^"]*"`)
)

// decisions is how many events a second are answered when so many clients ask, each over a connection of its
// own, as agentd-hook does.
func (w *world) decisions(event []byte, clients int) (float64, error) {
	const each = 2 * time.Second
	ask := func(session, n int) error {
		event := another(event, session, n)
		request := fmt.Appendf(nil, "POST /v1/hook/gemini?event=BeforeTool HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(event), event)
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write(request); err != nil {
			return err
		}
		answer, err := io.ReadAll(c)
		if err == nil && !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) {
			err = fmt.Errorf("the daemon answered %q", answer)
		}
		return err
	}
	var all sync.WaitGroup
	counts, errs := make([]int, clients), make([]error, clients)
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			for time.Since(began) < each && errs[i] == nil {
				errs[i] = ask(100*clients+i, counts[i])
				counts[i]++
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(began).Seconds(), errors.Join(errs...)
}
