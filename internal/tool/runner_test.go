//go:build unix

package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// alarm is a named pipe by which processes say that they live: what they write is heard, and when
// the last one that holds it is gone, its reader sees the end. So tests wait for what happens, and
// not for time to pass.
type alarm struct {
	path string
	f    *os.File
}

func newAlarm(t *testing.T) *alarm {
	t.Helper()
	a := &alarm{path: fifo(t)}
	f, err := os.OpenFile(a.path, os.O_RDWR, 0) // both ways, so that there is no end yet
	if err != nil {
		t.Fatal(err)
	}
	a.f = f
	t.Cleanup(func() { f.Close() })
	return a
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hear waits for n lines and returns them.
func (a *alarm) hear(t *testing.T, n int) []string {
	t.Helper()
	var text string
	buf := make([]byte, 4096)
	for strings.Count(text, "\n") < n {
		m, err := a.f.Read(buf)
		text += string(buf[:m])
		if err != nil {
			t.Error(err)
			break
		}
	}
	return strings.Fields(text)
}

// silence waits until every process that held the alarm is gone.
func (a *alarm) silence(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(a.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a.f.Close()
	if _, err := io.Copy(io.Discard, f); err != nil {
		t.Fatal(err)
	}
}

// dead fails the test if one of the processes lives. One that is on its way out, or that its new
// parent hasn't looked at yet, is dead.
func dead(t *testing.T, pids []string) {
	t.Helper()
	const exiting = 4 // PF_EXITING
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + text + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // state, five numbers, flags
		fields := strings.Fields(rest)
		if flags, _ := strconv.Atoi(fields[6]); fields[0] != "Z" && flags&exiting == 0 {
			t.Errorf("process %d lives: %s", pid, stat)
		}
	}
}

func sh(script string, args ...string) Command {
	return Command{Argv: append([]string{"sh", "-c", script, "sh"}, args...), Merge: true}
}

func TestRun(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command        Command
		stdout, stderr string
		code           int
		signal         string
	}{
		"two outputs":       {Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, "out\n", "err\n", 3, ""},
		"merged in order":   {sh("echo 1; echo 2 >&2; echo 3"), "1\n2\n3\n", "", 0, ""},
		"no shell reads it": {Command{Argv: []string{"echo", "$HOME", "*", "a b"}}, "$HOME * a b\n", "", 0, ""},
		"a folder":          {Command{Argv: []string{"sh", "-c", "pwd; echo $PWD"}, Dir: real}, real + "\n" + real + "\n", "", 0, ""},
		"no input":          {sh("cat"), "", "", 0, ""},
		"input":             {Command{Argv: []string{"cat"}, Stdin: []byte("some\ntext")}, "some\ntext", "", 0, ""},
		"input not read":    {Command{Argv: []string{"true"}, Stdin: make([]byte, 1<<20)}, "", "", 0, ""},
		"an environment":    {Command{Argv: []string{"env"}, Env: []string{"A=b"}}, "A=b\n", "", 0, ""},
		"an empty one":      {Command{Argv: []string{"env"}, Env: []string{}}, "", "", 0, ""},
		"a signal":          {sh("kill -KILL $$"), "", "", 137, "SIGKILL"},
		"broken text":       {sh(`printf 'a\377b'`), "a\uFFFDb", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Runner{}.Run(t.Context(), c.command)
			if err != nil {
				t.Fatal(err)
			}
			if got.Stdout.String() != c.stdout || got.Stderr.String() != c.stderr || got.Code != c.code || got.Signal != c.signal {
				t.Errorf("got %q, %q, code %d, signal %q", got.Stdout, got.Stderr, got.Code, got.Signal)
			}
		})
	}
}

func TestRunThatCannotStart(t *testing.T) {
	defer goleak.VerifyNone(t)
	before := openFiles(t)
	for _, c := range []struct {
		command Command
		says    string
	}{
		{Command{}, "empty"},
		{Command{Argv: []string{"no-such-program-here"}}, "no-such-program-here not started"},
		{Command{Argv: []string{"/etc"}}, "permission denied"},
		{Command{Argv: []string{"true"}, Dir: "/no/such/folder", Stdin: []byte("x")}, "no such file"},
	} {
		_, err := Runner{}.Run(t.Context(), c.command)
		if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: got %v", c.command.Argv, err)
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d files were open before, %d are now", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(names)
}

func TestNoKeysInTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("SSH_AUTH_SOCK", "/secret")
	t.Setenv("LANG", "C.UTF-8")
	got, err := Runner{}.Run(t.Context(), Command{Argv: []string{"env"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.Stdout.String(), "secret") || !strings.Contains(got.Stdout.String(), "LANG=C.UTF-8\n") {
		t.Errorf("environment:\n%s", got.Stdout)
	}
	if env := Environment("LANG=C", "X=1"); !slices.Equal(env[len(env)-2:], []string{"LANG=C", "X=1"}) {
		t.Errorf("got %v", env)
	}
}

func TestOutputIsBounded(t *testing.T) {
	got, err := Runner{}.Run(t.Context(), Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; echo $i >&2; i=$((i+1)); done"}, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	out := got.Stdout.String()
	if !strings.HasPrefix(out, "line 0\nline 1\n") || !strings.HasSuffix(out, "line 19999\n") || len(out) > 200 {
		t.Errorf("got %q", out)
	}
	if total := got.Stdout.Cut + 100; total != 208890 {
		t.Errorf("%d bytes were counted", total)
	}
	if e := got.Stderr.String(); !strings.HasPrefix(e, "0\n1\n") || !strings.HasSuffix(e, "19999\n") {
		t.Errorf("got %q", e)
	}
}

// family is a script whose children and grandchildren all hold the alarm and say their numbers.
const family = `
exec 9>"$1"
echo $$ >&9
sh -c 'echo $$ >&9; sleep 600 & echo $! >&9; wait' &
sh -c 'trap "" TERM INT HUP; echo $$ >&9; while :; do sleep 600; done' &
`

func TestEndOfACommandEndsItsGroup(t *testing.T) {
	defer goleak.VerifyNone(t)
	timeout := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		return ctx, func() { cancel(context.DeadlineExceeded) }
	}
	cancelled := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel
	}
	for name, c := range map[string]struct {
		script string
		ctx    func(context.Context) (context.Context, func())
		want   error
		not    error
	}{
		"cancelled":                    {family + "wait", cancelled, ErrCancelled, ErrTimeout},
		"out of time":                  {family + "wait", timeout, ErrTimeout, ErrCancelled},
		"the program ignores the wish": {`trap "" TERM;` + family + "while :; do wait; done", cancelled, ErrCancelled, ErrTimeout},
		"the program is stopped":       {family + "kill -STOP $$", cancelled, ErrCancelled, ErrTimeout},
		"the program ends by itself":   {family + `read go <"$2"`, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAlarm(t)
			gate := fifo(t)
			ctx, end := t.Context(), func() { os.WriteFile(gate, []byte("go\n"), 0) }
			if c.ctx != nil {
				ctx, end = c.ctx(ctx)
			}
			var pids []string
			var wg sync.WaitGroup
			wg.Go(func() {
				pids = a.hear(t, 4)
				end()
			})
			_, err := Runner{Grace: 10 * time.Millisecond}.Run(ctx, sh(c.script, a.path, gate))
			if !errors.Is(err, c.want) || c.not != nil && errors.Is(err, c.not) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			wg.Wait()
			a.silence(t)
			dead(t, pids)
		})
	}
}

func TestTimeoutOfItsOwn(t *testing.T) {
	got, err := Runner{}.Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo begun; exec sleep 600"}, Timeout: 200 * time.Millisecond})
	if !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || got.Signal != "SIGTERM" {
		t.Errorf("got %v, %+v", err, got)
	}
}

// What cleans up when it is asked to is given the time, even if it was stopped.
func TestGraceLetsAProgramFinish(t *testing.T) {
	for name, busy := range map[string]string{
		"running": `echo x >"$1"; while :; do sleep 600 & wait; done`,
		"stopped": `(while ! grep -q ') T ' /proc/$$/stat; do :; done; echo x >"$1") & kill -STOP $$; sleep 600 & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "stopped" && runtime.GOOS != "linux" {
				t.Skip("there is no /proc to see it by")
			}
			a := newAlarm(t)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				a.hear(t, 1)
				cancel()
			})
			got, err := Runner{Grace: time.Minute}.Run(ctx, sh(`trap 'echo tidy; exit 7' TERM; `+busy, a.path))
			wg.Wait()
			if !errors.Is(err, ErrCancelled) || got.Stdout.String() != "tidy\n" || got.Code != 7 {
				t.Errorf("got %v, %q, code %d", err, got.Stdout, got.Code)
			}
		})
	}
}

// A daemon that has left the group and holds the output must not keep the call from returning, nor
// lose what was written before.
func TestEscapedProcessDoesNotHoldTheCall(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip(err)
	}
	a, gate := newAlarm(t), fifo(t)
	var pids []string
	var wg sync.WaitGroup
	wg.Go(func() {
		pids = a.hear(t, 1)
		os.WriteFile(gate, []byte("go\n"), 0)
	})
	const lines = 20_000
	command := sh(`setsid sh -c 'exec 9>"$1"; echo $$ >&9; exec sleep 600' sh "$1" &
		read go <"$2"; i=0; while [ $i -lt 20000 ]; do echo x; i=$((i+1)); done`, a.path, gate)
	command.Limit = 1 << 20
	got, err := Runner{}.Run(t.Context(), command)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got.Stdout.String(), "x\n"); n != lines {
		t.Errorf("%d lines of %d", n, lines)
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the daemon is gone: %v", err)
	}
	a.silence(t)
}

func TestManyCommandsAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := strings.Repeat(strconv.Itoa(i)+"\n", 10_000)
			got, err := Runner{}.Run(t.Context(), Command{Argv: []string{"cat"}, Stdin: []byte(text)})
			if err != nil || got.Stdout.String() != text {
				t.Errorf("%d: %v, %d bytes", i, err, len(got.Stdout.Head))
			}
		})
	}
	wg.Wait()
}

func TestCapturedText(t *testing.T) {
	for _, c := range []struct {
		limit  int
		pieces []string
		want   string
	}{
		{10, nil, ""},
		{10, []string{"0123456789"}, "0123456789"},
		{10, []string{"0", "123", "456", "789"}, "0123456789"},
		{10, []string{"0123456789a"}, "01234\n[... 1 bytes left out ...]\n6789a"},
		{10, []string{"0123", "4567", "89ab", "cdef"}, "01234\n[... 6 bytes left out ...]\nbcdef"},
		{10, []string{"0123456", "789abcdefghij", "k"}, "01234\n[... 11 bytes left out ...]\nghijk"},
		{4, []string{"a", "é", "é", "é"}, "a\n[... 4 bytes left out ...]\né"},
		{5, []string{"éé", "xx", "éé"}, "é\n[... 6 bytes left out ...]\né"},
		{1, []string{"ab", "c"}, "a\n[... 2 bytes left out ...]\n"},
		{8, []string{"abcd\xff\xff", "\xff\xff"}, "abcd\uFFFD"},
	} {
		got := capture{limit: c.limit}
		for _, p := range c.pieces {
			got.write([]byte(p))
		}
		if diff := cmp.Diff(c.want, got.captured().String()); diff != "" {
			t.Errorf("%q in %d (-want +got):\n%s", c.pieces, c.limit, diff)
		}
	}
}

// Opening a pipe that nobody writes to would wait for ever.
func TestFileToolsDoNotOpenPipes(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	want(t, call(t, s, "read_file", `{"path":"fifo"}`), Failed, "~no ordinary file")
	want(t, call(t, s, "search_files", `{"pattern":"x","path":"fifo"}`), Succeeded, `{"matches":[],"files":0}`)
	want(t, call(t, s, "write_file", `{"path":"fifo","content":"x"}`), Failed, "~no ordinary file")
}
