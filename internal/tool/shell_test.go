//go:build unix

package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestShell(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	dir := files(t, map[string]string{"a": "x", ".agentd/state/token": "x"})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{Env: []string{"EXTRA=e"}})
	for _, c := range []struct {
		command string
		status  Status
		want    string
	}{
		{"ls", Succeeded, `{"output":"a\n","exit_code":0}`},
		{"pwd", Succeeded, `{"output":"` + real + `\n","exit_code":0}`},
		{"true", Succeeded, `{"output":"","exit_code":0}`},
		{"echo out; echo err >&2; echo out", Succeeded, `{"output":"out\nerr\nout\n","exit_code":0}`},
		{"echo no >&2; exit 3", Failed, `{"output":"no\n","exit_code":3,"error":"the command ended with exit code 3"}`},
		{"kill -KILL $$", Failed, `{"output":"","exit_code":137,"signal":"SIGKILL","error":"the command was ended by SIGKILL"}`},
		{"echo $EXTRA$OPENAI_API_KEY", Succeeded, `{"output":"e\n","exit_code":0}`},
		{"cat", Succeeded, `{"output":"","exit_code":0}`},
		{"--help", Failed, ""},
		{`printf 'a\0b\377'`, Succeeded, `{"output":"a\u0000b�","exit_code":0}`},
		{"(", Failed, ""},
	} {
		got := call(t, s, "shell", `{"command":`+fmt.Sprintf("%q", c.command)+`}`)
		if c.want == "" {
			want(t, got, c.status, "~exit code")
		} else {
			want(t, got, c.status, c.want)
		}
	}
	got := call(t, s, "shell", `{"command":"i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"}`)
	out := got.Value.Get("output").Text()
	if cut, _ := got.Value.Get("cut").Int64(); cut != 208890-maxShellOutput || got.Status != Succeeded ||
		!strings.HasPrefix(out, "line 0\n") || !strings.HasSuffix(out, "line 19999\n") || !strings.Contains(out, "bytes left out") {
		t.Errorf("%s, cut %v, %d bytes", got.Status, got.Value.Get("cut"), len(out))
	}
}

func TestShellThatIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		ctx    func(context.Context) (context.Context, func())
		status Status
		says   string
	}{
		"cancelled": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		}, Cancelled, "cancelled while it ran: what it did until then is done"},
		"the call's time is up": {func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(context.DeadlineExceeded) }
		}, Failed, "still running when the call's time was up and was ended: what it did until then is done"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAlarm(t)
			s := open(t, t.TempDir(), Options{Grace: time.Minute, Env: []string{"ALARM=" + a.path}})
			ctx, end := c.ctx(t.Context())
			var pids []string
			var wg sync.WaitGroup
			wg.Go(func() {
				pids = a.hear(t, 2)
				end()
			})
			got := callIn(t, ctx, s, "shell", `{"command":"exec 9>$ALARM; touch done; echo begun; sleep 600 & echo $! >&9; echo $$ >&9; wait"}`)
			wg.Wait()
			want(t, got, c.status, "~"+c.says)
			if got.Value.Get("output").Text() != "begun\n" || got.Value.Get("exit_code").Exists() {
				t.Errorf("got %v", got.Value)
			}
			a.silence(t)
			dead(t, pids)
		})
	}
	s := open(t, t.TempDir(), Options{Timeout: 100 * time.Millisecond})
	want(t, call(t, s, "shell", `{"command":"sleep 600"}`), Failed, "~still running after 100ms and was ended")
	s = open(t, t.TempDir(), Options{})
	want(t, call(t, s, "shell", `{"command":"sleep 600","timeout":1}`), Failed, "~still running after 1s and was ended")
}

// A background process that holds the output ends with the command.
func TestShellLeavesNothingBehind(t *testing.T) {
	a := newAlarm(t)
	s := open(t, t.TempDir(), Options{Env: []string{"ALARM=" + a.path}})
	want(t, call(t, s, "shell", `{"command":"exec 9>$ALARM; echo begun; (trap '' TERM HUP; sleep 600) & exit 0"}`), Succeeded, `{"output":"begun\n","exit_code":0}`)
	a.silence(t)
}

func TestShellWithoutBash(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	s := open(t, t.TempDir(), Options{})
	want(t, call(t, s, "shell", `{"command":"echo $0"}`), Succeeded, `{"output":"sh\n","exit_code":0}`)
	t.Setenv("PATH", t.TempDir())
	want(t, call(t, s, "shell", `{"command":"echo"}`), Failed, "~sh not started: executable file not found in $PATH")
}
