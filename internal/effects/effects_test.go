//go:build unix

package effects_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentd/hookpoints/payload"
	"agentd/internal/effects"
	"agentd/operation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env keeps git from the settings of whoever runs the tests.
var env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}

// sh runs a script in a folder.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func value(t testing.TB, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func options(dir string) effects.Options { return effects.Options{Workspace: dir, Env: env} }

// done does an effect and gives its status and value in one text.
func done(t testing.TB, o effects.Options, key, name, arguments string) string {
	t.Helper()
	v, status := effects.New(o).Do(context.Background(), key, name, value(t, arguments))
	return status + " " + string(v.JSON())
}

// starts holds got against its beginning.
func starts(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

func TestWhatIsAskedForIsChecked(t *testing.T) {
	o := options(t.TempDir())
	r := effects.New(o)
	long := strings.Repeat("x", 33<<10)
	for _, c := range []struct{ name, arguments, want string }{
		{"nosuch", `{}`, `there is no effect "nosuch"; there are context.invalidate, git.commit, log, notify, run, snapshot.create, snapshot.restore, webhook`},
		{"log", `[]`, "effect log: the arguments are no object"},
		{"log", `{}`, "effect log: message is missing"},
		{"log", `{"message":1}`, "effect log: message is number, want string"},
		{"log", `{"message":"a","level":"loud"}`, "effect log: level is none of debug, info, warn, error"},
		{"log", `{"message":"a","more":1}`, `effect log takes no "more"`},
		{"log", `{"message":"` + long + `"}`, "effect log: message has 33792 bytes, and may have 32768"},
		{"log", `{"message":"a"}`, ""},
		{"notify", `{"message":""}`, "effect notify: message is shorter than 1"},
		{"notify", `{"message":"a","title":"t"}`, ""},
		{"context.invalidate", `{}`, ""},
		{"context.invalidate", `{"a":1}`, `effect context.invalidate takes no "a"`},
		{"git.commit", `{"message":"m"}`, "effect git.commit: it doesn't say what to commit: give paths, or all"},
		{"git.commit", `{"message":"m","all":false}`, "effect git.commit: it doesn't say what to commit: give paths, or all"},
		{"git.commit", `{"message":"m","paths":[]}`, "effect git.commit: it doesn't say what to commit: give paths, or all"},
		{"git.commit", `{"message":"m","all":true,"paths":["a"]}`, "effect git.commit: it takes paths or all, not both"},
		{"git.commit", `{"message":" ","all":true}`, "effect git.commit: message is no text"},
		{"git.commit", `{"message":"m","paths":["../a"]}`, `effect git.commit: the path "../a" isn't one of the workspace: write it relative to that`},
		{"git.commit", `{"message":"m","paths":["a/../../b"]}`, `effect git.commit: the path "a/../../b" isn't one of the workspace: write it relative to that`},
		{"git.commit", `{"message":"m","paths":["/etc"]}`, `effect git.commit: the path "/etc" isn't one of the workspace: write it relative to that`},
		{"git.commit", `{"message":"m","paths":["a",1]}`, "effect git.commit: paths item 1 is number, want string"},
		{"git.commit", `{"message":"m","paths":["a","b c"]}`, ""},
		{"git.commit", `{"message":"m","all":true}`, ""},
		{"snapshot.create", `{}`, ""},
		{"snapshot.restore", `{"id":"../heads/main"}`, `effect snapshot.restore: id "../heads/main" isn't one that snapshot.create gave`},
		{"snapshot.restore", `{"id":"s0123456789abcdef"}`, ""},
		{"webhook", `{"url":"http://example.org"}`, "effect webhook: body is missing"},
		{"webhook", `{"url":"http://example.org","body":null}`, ""},
		{"webhook", `{"url":"file:///etc/passwd","body":1}`, "effect webhook: url is no URL with a host"},
		{"webhook", `{"url":"ftp://example.org/","body":1}`, `effect webhook: url has the scheme "ftp", want http or https`},
		{"webhook", `{"url":"http://u:p@example.org/","body":1}`, "effect webhook: url holds a user name, which would be journaled"},
		{"webhook", `{"url":"http:example.org","body":1}`, "effect webhook: url is no URL with a host"},
		{"run", `{"argv":[]}`, "effect run: argv names no program"},
		{"run", `{"argv":[""]}`, "effect run: argv names no program"},
		{"run", `{"argv":"ls"}`, "effect run: argv is string, want array"},
		{"run", `{"argv":["a\u0000"]}`, "effect run: argv holds a zero byte"},
		{"run", `{"argv":["a"],"timeout":"1h"}`, `effect run: timeout is "1h", want one like 30s, at most 10m0s`},
		{"run", `{"argv":["a"],"timeout":"-1s"}`, `effect run: timeout is "-1s", want one like 30s, at most 10m0s`},
		{"run", `{"argv":["` + strings.Repeat(`a","`, 1000) + `a"]}`, "effect run: argv has 1001 items, and may have 1000"},
		{"run", `{"argv":["a"],"timeout":"30s","cwd":"x"}`, ""},
	} {
		got := ""
		if err := effects.Check(c.name, value(t, c.arguments)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %.60s\ngot  %s\nwant %s", c.name, c.arguments, got, c.want)
		}
		if c.want == "" {
			continue
		}
		if v, status := r.Do(context.Background(), "k", c.name, value(t, c.arguments)); status != operation.Failed || v.Get("error").Text() != c.want {
			t.Errorf("%s %.60s is done all the same: %s %s", c.name, c.arguments, status, v)
		}
	}
	for _, name := range effects.Names() {
		if v := effects.Schema(name); v.Get("type").Text() != "object" || v.Get("additionalProperties").IsTrue() {
			t.Errorf("the schema of %s is %s", name, v)
		}
		for _, taken := range []string{"name", "when"} { // by effect(...) itself, so that no script could give it
			if effects.Schema(name).Get("properties").Get(taken).Exists() {
				t.Errorf("%s has an argument %s", name, taken)
			}
		}
	}
	if effects.Schema("nosuch").Exists() || effects.Idempotent("nosuch") {
		t.Error("an effect that there isn't has a schema, or may be repeated")
	}
	var again []string
	for _, name := range effects.Names() {
		if effects.Idempotent(name) {
			again = append(again, name)
		}
	}
	if d := cmp.Diff([]string{"context.invalidate", "git.commit", "snapshot.create"}, again); d != "" {
		t.Errorf("what may be repeated (-want +got):\n%s", d)
	}
}

func TestACancelledEffectIsNotBegun(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, "git init -q; touch a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := options(dir)
	o.Notify = func(context.Context, string, effects.Notification) error { t.Error("notified"); return nil }
	for name, args := range map[string]string{"notify": `{"message":"m"}`, "git.commit": `{"message":"m","all":true}`, "snapshot.create": `{}`, "run": `{"argv":["touch","b"]}`} {
		if v, status := effects.New(o).Do(ctx, "k", name, value(t, args)); status != operation.Cancelled {
			t.Errorf("%s: %s %s", name, status, v)
		}
	}
	if got := sh(t, dir, "ls; git for-each-ref"); got != "a" {
		t.Errorf("something was done: %s", got)
	}
}

func TestPeopleAndLogsAreTold(t *testing.T) {
	var told []string
	var out bytes.Buffer
	var fails error
	o := effects.Options{
		Notify: func(_ context.Context, key string, n effects.Notification) error {
			told = append(told, key+" "+n.Title+" "+n.Message)
			return fails
		},
		Invalidate: func(_ context.Context, key string) error { told = append(told, key+" invalidate"); return fails },
		Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	}
	for _, args := range []string{`{"message":"a\nb"}`, `{"message":"x","level":"debug"}`, `{"message":"y","level":"error"}`} {
		starts(t, args, done(t, o, "k", "log", args), "succeeded {}")
	}
	if d := cmp.Diff("level=INFO msg=\"a\\nb\" effect=k\nlevel=DEBUG msg=x effect=k\nlevel=ERROR msg=y effect=k\n", out.String()); d != "" {
		t.Errorf("the log (-want +got):\n%s", d)
	}
	starts(t, "notify", done(t, o, "k", "notify", `{"message":"m","title":"t"}`), "succeeded {}")
	starts(t, "invalidate", done(t, o, "k", "context.invalidate", `{}`), "succeeded {}")
	fails = errors.New("the wire is cut")
	starts(t, "a notification that fails", done(t, o, "j", "notify", `{"message":"m"}`), `failed {"error":"the notification failed: the wire is cut"}`)
	if d := cmp.Diff([]string{"k t m", "k invalidate", "j  m"}, told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Notify = func(ctx context.Context, _ string, _ effects.Notification) error { cancel(); return ctx.Err() }
	if _, status := effects.New(o).Do(ctx, "k", "notify", value(t, `{"message":"m"}`)); status != operation.UnknownStat {
		t.Errorf("a notification that was cut off is %s", status)
	}
	for name, args := range map[string]string{"notify": `{"message":"m"}`, "log": `{"message":"m"}`, "context.invalidate": `{}`, "run": `{"argv":["ls"]}`, "git.commit": `{"message":"m","all":true}`, "snapshot.create": `{}`} {
		starts(t, name+" without what it needs", done(t, effects.Options{}, "k", name, args), `failed {"error":"`)
	}
}

func TestProgramsRunWithoutAShell(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "w")
	sh(t, top, "mkdir -p w/sub out; ln -s ../out w/leads; printf '#!/bin/sh\\necho own' > w/prog; chmod +x w/prog")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_TOKEN", "s")
	for _, c := range []struct{ arguments, want string }{
		{`{"argv":["echo","$HOME;ls","a b"]}`, `succeeded {"exit_code":0,"stdout":"$HOME;ls a b\n","stderr":""}`},
		{`{"argv":["./prog"]}`, `succeeded {"exit_code":0,"stdout":"own\n","stderr":""}`},
		{`{"argv":["pwd"]}`, `succeeded {"exit_code":0,"stdout":"` + real + `\n"`},
		{`{"argv":["pwd"],"cwd":"sub"}`, `succeeded {"exit_code":0,"stdout":"` + real + `/sub\n"`},
		{`{"argv":["pwd"],"cwd":"` + dir + `/sub"}`, `succeeded {"exit_code":0,"stdout":"` + real + `/sub\n"`},
		{`{"argv":["pwd"],"cwd":".."}`, `failed {"error":"cwd \"` + top},
		{`{"argv":["pwd"],"cwd":"leads"}`, `failed {"error":"cwd \"` + dir},
		{`{"argv":["pwd"],"cwd":"/"}`, `failed {"error":"cwd \"/\" is outside of the workspace"}`},
		{`{"argv":["pwd"],"cwd":"nosuch"}`, `failed {"error":"cwd \"` + dir},
		{`{"argv":["sh","-c","echo out; echo err >&2; exit 3"]}`, `failed {"exit_code":3,"stdout":"out\n","stderr":"err\n","error":"it ended with exit code 3"}`},
		{`{"argv":["sh","-c","kill -TERM $$"]}`, `failed {"exit_code":143,"stdout":"","stderr":"","signal":"SIGTERM","error":"it was ended by SIGTERM"}`},
		{`{"argv":["sh","-c","echo ${SECRET_TOKEN-none}; cat"]}`, `succeeded {"exit_code":0,"stdout":"none\n","stderr":""}`},
		{`{"argv":["nosuch-program"]}`, `failed {"error":"nosuch-program not started`},
		{`{"argv":["sh","-c","echo begun; sleep 1000"],"timeout":"300ms"}`, `failed {"stdout":"begun\n","stderr":"","error":"it was still running after 300ms and was ended`},
	} {
		starts(t, c.arguments, done(t, options(dir), "k", "run", c.arguments), c.want)
	}
	v, status := effects.New(options(dir)).Do(context.Background(), "k", "run", value(t, `{"argv":["sh","-c","head -c 300000 /dev/zero | tr '\\0' x"]}`))
	if cut, _ := v.Get("cut").Int64(); status != operation.Succeeded || cut != 300000-64<<10 {
		t.Errorf("a flood: %s %d bytes cut", status, cut)
	}
}

// pipe is one that a program can say something through.
func pipe(t *testing.T) (name string, heard func()) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return name, func() {
		if _, err := f.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
}

// cancelledWhen does an effect and cancels it once a program has said something.
func cancelledWhen(t *testing.T, heard func(), o effects.Options, name, arguments string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := make(chan struct{})
	go func() {
		defer close(end)
		heard()
		cancel()
	}()
	v, status := effects.New(o).Do(ctx, "k", name, value(t, arguments))
	<-end
	return status + " " + string(v.JSON())
}

func TestAProgramThatIsCancelledSaysHowFarItCame(t *testing.T) {
	name, heard := pipe(t)
	got := cancelledWhen(t, heard, options(t.TempDir()), "run", `{"argv":["sh","-c","echo begun; echo x > `+name+`; sleep 1000"]}`)
	starts(t, "run", got, `cancelled {"stdout":"begun\n","stderr":"","error":"cancelled while it ran: what it did until then is done"}`)
}
