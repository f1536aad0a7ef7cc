//go:build unix

package facts_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/internal/facts"
	"agentd/operation"
)

// gitEnv keeps git from the settings of whoever runs the tests.
var gitEnv = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A",
	"GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z"}

// sh runs a script in a folder.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitEnv...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func everything(operation.Head) []string {
	return []string{"**", "file:**", "stat:**", "real:**", "files:**", "trail:**"}
}

// options give facts all the time that a busy machine needs.
func options(dir string) facts.ReaderOptions {
	return facts.ReaderOptions{Workspace: dir, Allow: everything, GitEnv: gitEnv, Timeout: time.Minute}
}

func read(o facts.ReaderOptions, key string) hookpoints.Fact {
	return facts.NewReader(o).Open(operation.Head{}, "tool.before", nil).Fact(context.Background(), key)
}

// told is a fact in one text: its value, or the reason after a dash.
func told(f hookpoints.Fact) string {
	if f.Absent != "" {
		if f.Value.Exists() {
			return "both a value and a reason"
		}
		return "- " + f.Absent
	}
	return string(f.Value.JSON())
}

func TestFactsOfARepository(t *testing.T) {
	const committed = "git init -q -b main; printf '1\\n2\\n' > a; printf x > b; git add .; git commit -qm one;"
	for _, c := range []struct{ name, script, in, key, want string }{
		{"no repository", "", "", "git.head", "- the workspace is in no git repository"},
		{"no repository", "", "", "git.branch", "- the workspace is in no git repository"},
		{"no repository", "", "", "git.status", "- the workspace is in no git repository"},
		{"no repository", "", "", "git.diff:stat", "- the workspace is in no git repository"},
		{"no commit", "git init -q -b main", "", "git.head", "- there is no commit yet"},
		{"no commit", "git init -q -b main", "", "git.branch", `"main"`},
		{"no commit", "git init -q -b main; echo 1 > a; git add a; echo 2 >> a; echo 1 > b", "", "git.status", `[{"path":"a","status":"added","staged":true},{"path":"b","status":"untracked","staged":false}]`},
		{"no commit", "git init -q -b main; echo 1 > a; git add a; echo 2 >> a; echo 1 > b", "", "git.diff:stat", `{"files":[{"path":"a","added":2,"deleted":0}],"added":2,"deleted":0}`},
		{"a commit of another hash", "git init -q -b main --object-format=sha256; echo 1 > a; git add a", "", "git.diff:stat", `{"files":[{"path":"a","added":1,"deleted":0}],"added":1,"deleted":0}`},
		{"clean", committed, "", "git.status", `[]`},
		{"clean", committed, "", "git.diff:stat", `{"files":[],"added":0,"deleted":0}`},
		{"a branch with a slash", committed + "git switch -qc feature/x", "", "git.branch", `"feature/x"`},
		{"detached", committed + "git checkout -q --detach", "", "git.branch", "- HEAD is detached"},
		{"changes of all sorts", committed + `git mv b c; rm a; mkdir d "e f"; echo > "e f/g"; echo > d/x; git add d; rm d/x; printf 1 > "ü
line"`, "", "git.status",
			`[{"path":"a","status":"deleted","staged":false},{"path":"c","status":"renamed","staged":true,"from":"b"},{"path":"d/x","status":"deleted","staged":true},{"path":"e f/","status":"untracked","staged":false},{"path":"ü\nline","status":"untracked","staged":false}]`},
		{"staged and changed again", committed + "echo 3 >> a; git add a; echo 4 >> a", "", "git.status", `[{"path":"a","status":"modified","staged":true}]`},
		{"staged and changed again", committed + "echo 3 >> a; git add a; echo 4 >> a", "", "git.diff:stat", `{"files":[{"path":"a","added":2,"deleted":0}],"added":2,"deleted":0}`},
		{"binary", committed + `printf '\0\1' > b`, "", "git.diff:stat", `{"files":[{"path":"b","added":null,"deleted":null}],"added":0,"deleted":0}`},
		{"a conflict", committed + "git switch -qc o; echo o > a; git commit -qam o; git switch -q main; echo m > a; git commit -qam m; git merge -q o || true", "", "git.status", `[{"path":"a","status":"conflicted","staged":false}]`},
		{"a link in a file's place", committed + "rm a; ln -s b a", "", "git.status", `[{"path":"a","status":"retyped","staged":false}]`},
		{"a workspace below the repository", committed + "mkdir -p w/x; echo > w/x/y; echo 3 >> a; git add w; echo 2 >> w/x/y", "w", "git.status", `[{"path":"x/y","status":"added","staged":true}]`},
		{"a workspace below the repository", committed + "mkdir -p w/x; echo > w/x/y; echo 3 >> a; git add w; echo 2 >> w/x/y", "w", "git.diff:stat", `{"files":[{"path":"x/y","added":2,"deleted":0}],"added":2,"deleted":0}`},
		{"a workspace that isn't tracked", committed + "mkdir w; echo > w/y", "w", "git.status", `[{"path":"./","status":"untracked","staged":false}]`},
		{"renamed into the workspace", committed + "mkdir w; git mv b w/b", "w", "git.status", `[{"path":"b","status":"added","staged":true}]`},
		{"settings that would run programs", committed + `git config core.fsmonitor "touch $PWD/ran; false"; git config diff.external "touch $PWD/ran"; printf 'a diff=d\n' > .git/info/attributes; git config diff.d.textconv "touch $PWD/ran"; echo 9 > a`, "", "git.diff:stat",
			`{"files":[{"path":"a","added":1,"deleted":2}],"added":1,"deleted":2}`},
		{"no fact of git", committed, "", "git.log", "- there is no fact"},
		{"no fact of git", committed, "", "git.diff", "- there is no fact"},
		{"no fact of git", committed, "", "git.diff:full", "- there is no fact"},
		{"an argument too much", committed, "", "git.head:x", "- there is no fact"},
	} {
		t.Run(c.name+" "+c.key, func(t *testing.T) {
			dir := t.TempDir()
			sh(t, dir, c.script)
			got := told(read(options(filepath.Join(dir, c.in)), c.key))
			if got != c.want && (!strings.HasPrefix(c.want, "-") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("a program of the repository's settings ran")
			}
		})
	}
	dir := t.TempDir()
	sh(t, dir, committed)
	if got, want := told(read(options(dir), "git.head")), strconv.Quote(sh(t, dir, "git rev-parse HEAD")); got != want {
		t.Errorf("git.head is %s, want %s", got, want)
	}
}

// fileTree is a workspace beside something that is none of its business.
func fileTree(t *testing.T) (dir string) {
	top := t.TempDir()
	dir = filepath.Join(top, "w")
	sh(t, top, `
		umask 022; echo secret > outside.txt; mkdir w; cd w
		echo agents > AGENTS.md; mkdir -p docs/deep src .agentd/state .git; echo a > docs/a.md; echo b > docs/deep/b.md; echo t > .agentd/state/token; echo c > .git/config
		echo env > .env; ln -s ../.env docs/env; ln -s ../AGENTS.md docs/agents; ln -s ../../outside.txt docs/out; ln -s /etc docs/etc; ln -s nowhere docs/broken; ln -s loop loop; ln -s .agentd/state state
		ln -s docs ways; mkfifo pipe; printf 'a\000b' > binary; printf '\377' > latin; : > empty; printf '%4096s' x > large; chmod 640 empty; ln -s pipe topipe`)
	return dir
}

func TestFilesAreReadInTheWorkspaceOnly(t *testing.T) {
	dir := fileTree(t)
	link := filepath.Join(filepath.Dir(dir), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	docs := []string{"file:docs/**", "stat:docs/*", "files:docs/**", "real:docs/**"}
	all := everything(operation.Head{})
	for _, c := range []struct {
		allow     []string
		key, want string
	}{
		{all, "file:AGENTS.md", `"agents\n"`},
		{all, "file:./docs/../AGENTS.md", `"agents\n"`},
		{all, "file:docs/agents", `"agents\n"`},
		{all, "file:ways/deep/b.md", `"b\n"`},
		{all, "file:" + dir + "/AGENTS.md", `"agents\n"`},
		{all, "file:empty", `""`},
		{all, "file:", "- file: needs a path"},
		{all, "file:a\x00b", "- file: needs a path"},
		{all, "file", "- there is no fact"},
		{all, "file:nosuch", "- nosuch doesn't exist"},
		{all, "file:nosuch/x", "- nosuch/x doesn't exist"},
		{all, "file:AGENTS.md/x", "- AGENTS.md/x leads nowhere (ENOTDIR)"},
		{all, "file:docs", "- docs is a folder"},
		{all, "file:.", "- . is a folder"},
		{all, "file:pipe", "- pipe is no ordinary file"},
		{all, "file:topipe", "- pipe is no ordinary file"},
		{all, "file:binary", "- binary is no text"},
		{all, "file:latin", "- latin is no text"},
		{all, "file:large", "- large has more than 2000 bytes"},
		{all, "file:loop", "- loop leads nowhere (ELOOP)"},
		{all, "file:docs/broken", "- docs/nowhere doesn't exist"},
		{all, "file:docs/out", "- docs/out leads out of the workspace"},
		{all, "file:docs/etc/passwd", "- docs/etc/passwd leads out of the workspace"},
		{all, "file:../outside.txt", "- ../outside.txt is outside of the workspace"},
		{all, "file:docs/../../outside.txt", "- docs/../../outside.txt is outside of the workspace"},
		{all, "file:/etc/passwd", "- /etc/passwd is outside of the workspace"},
		{all, "file:" + dir + "x/y", "- " + dir + "x/y is outside"},
		{all, "file:.agentd/state/token", "- .agentd/state/token is agentd's own"},
		{all, "file:state/token", "- .agentd/state/token is agentd's own"},
		{all, "stat:.agentd/state/token", "- .agentd/state/token is agentd's own"},
		{docs, "file:docs/a.md", `"a\n"`},
		{docs, "file:docs/deep/b.md", `"b\n"`},
		{docs, "file:ways/a.md", "- facts.allow doesn't include file:ways/a.md"},
		{docs, "file:docs/env", "- docs/env leads to .env, and facts.allow doesn't include that"},
		{docs, "file:docs/../.env", "- facts.allow doesn't include file:.env"},
		{docs, "file:" + dir + "/docs/../.env", "- facts.allow doesn't include file:.env"},
		{[]string{"file:*"}, "file:docs/a.md", "- facts.allow doesn't include file:docs/a.md"},
		{[]string{"file:*"}, "file:.env", `"env\n"`},
		{[]string{"**", "*", "f*", "{file,stat}:**", "?ile:AGENTS.md"}, "file:AGENTS.md", "- facts.allow doesn't include file:AGENTS.md"},

		{all, "stat:AGENTS.md", `{"exists":true,"kind":"file","size":7,"mode":"0644"}`},
		{all, "stat:empty", `{"exists":true,"kind":"file","size":0,"mode":"0640"}`},
		{all, "stat:docs", `{"exists":true,"kind":"folder","size":0,"mode":"0755"}`},
		{all, "stat:pipe", `{"exists":true,"kind":"other","size":0,"mode":"0644"}`},
		{all, "stat:docs/agents", `{"exists":true,"kind":"link","size":0,"mode":"0777"}`},
		{all, "stat:docs/out", `{"exists":true,"kind":"link","size":0,"mode":"0777"}`},
		{all, "stat:docs/etc/passwd", "- docs/etc/passwd leads out of the workspace"},
		{all, "stat:nosuch/deeper", `{"exists":false,"kind":null,"size":null,"mode":null}`},
		{all, "stat:../outside.txt", "- ../outside.txt is outside of the workspace"},
		{docs, "stat:docs/agents", `{"exists":true,"kind":"link","size":0,"mode":"0777"}`},
		{docs, "stat:AGENTS.md", "- facts.allow doesn't include stat:AGENTS.md"},

		{all, "files:**/*.md", `["AGENTS.md","docs/a.md","docs/deep/b.md"]`},
		{all, "files:docs/*", `["docs/a.md","docs/agents","docs/broken","docs/env","docs/etc","docs/out"]`},
		{all, "files:docs/deep/b.md", `["docs/deep/b.md"]`},
		{all, "files:nosuch/**", `[]`},
		{all, "files:../*", `[]`},
		{all, "files:docs/../*", `[]`},
		{all, "files:.{agentd,git}/**", `[]`},
		{all, "files:[", "- bad glob"},
		{all, "files:", "- files: needs a glob"},
		{docs, "files:docs/**/b*", `["docs/broken","docs/deep/b.md"]`},
		{docs, "files:**", "- facts.allow doesn't include files:**"},
		{[]string{"files:*"}, "files:{docs,.}*", `[".env"]`},
		{[]string{"files:{a,A}*", "files:*.md"}, "files:{a,A}*", `["AGENTS.md"]`},
		{[]string{"files:?"}, "files:*", "- it also matches .env, and facts.allow doesn't include that"},

		{docs, "real:docs/../../outside.txt", "- facts.allow doesn't include real:../outside.txt"},
		{docs, "real:AGENTS.md", "- facts.allow doesn't include real:AGENTS.md"},
	} {
		t.Run(c.key+" "+strings.Join(c.allow, " "), func(t *testing.T) {
			o := options(dir)
			o.Allow, o.MaxBytes = func(operation.Head) []string { return c.allow }, 2000
			got := told(read(o, c.key))
			if got != c.want && (!strings.HasPrefix(c.want, "-") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	o := options(link) // a workspace by another name is the same
	for _, key := range []string{"file:AGENTS.md", "file:" + link + "/AGENTS.md", "file:" + dir + "/AGENTS.md"} {
		if got := told(read(o, key)); got != `"agents\n"` {
			t.Errorf("%s through a link: %s", key, got)
		}
	}
	f := read(options(dir), "real:docs/agents")
	if got, want := f.Value.Get("real").Text(), filepath.Join(dir, "AGENTS.md"); got != want {
		t.Errorf("real is %q, want %q", got, want)
	}
}

func TestAFileOfExactlyTheLimitIsRead(t *testing.T) {
	dir := t.TempDir()
	o := options(dir)
	o.MaxBytes = 100
	for n, ok := range map[int]bool{98: true, 99: false, 100: false, 101: false} { // with its quotes
		if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("x"), n), 0o600); err != nil {
			t.Fatal(err)
		}
		if f := read(o, "file:f"); (f.Absent == "") != ok {
			t.Errorf("%d bytes: %s", n, told(f))
		}
	}
}

type fixed time.Time

func (f fixed) Now() time.Time { return time.Time(f) }

func TestFactsOfTheHost(t *testing.T) {
	o := facts.ReaderOptions{
		Workspace: "/somewhere", Clock: fixed(time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("", 3600))),
		Allow:  func(operation.Head) []string { return []string{"*", "env:HOME", "env:EMPTY", "env:BAD", "trail:*"} },
		Getenv: func(name string) string { return map[string]string{"HOME": "/h", "SECRET": "s", "BAD": "\xff"}[name] },
	}
	for key, want := range map[string]string{
		"cwd": `"/somewhere"`, "clock": `"2026-03-04T04:06:07.089Z"`,
		"env:HOME": `"/h"`, "env:EMPTY": "- EMPTY isn't set", "env:SECRET": "- facts.allow doesn't include env:SECRET", "env:*": "- facts.allow doesn't include env:*", "env:BAD": "- BAD holds no Unicode text",
		"budget": "- configuration sets no budget", "usage": "- there is no journal to read", "trail:5": "- there is no journal to read",
		"": "- there is no fact", "nosuch": "- there is no fact", "cwd:x": "- there is no fact", "trail": "- there is no fact", "git": "- there is no fact",
		strings.Repeat("k", 5000): "- the key has more than 4096 bytes",
	} {
		if got := told(read(o, key)); got != want && (!strings.HasPrefix(want, "-") || !strings.HasPrefix(got, want)) {
			t.Errorf("%.50s is %s, want %s", key, got, want)
		}
	}
	bare := facts.ReaderOptions{Allow: everything}
	for _, key := range []string{"cwd", "clock", "file:a", "stat:a", "files:*", "git.head", "usage", "budget", "trail:1"} {
		if f := read(bare, key); f.Absent == "" || f.Value.Exists() {
			t.Errorf("%s without a source is %s", key, told(f))
		}
	}
	for _, key := range []string{"cwd", "clock", "git.head", "usage", "budget", "trail:1", "real:a"} {
		o.Allow = nil
		if got := told(read(o, key)); !strings.HasPrefix(got, "- facts.allow doesn't include") {
			t.Errorf("%s, where nothing is allowed, is %s", key, got)
		}
	}
}

func TestPatternsAreCheckedWhereTheyAreWritten(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"git.*": true, "file:AGENTS.md": true, "file:**": true, "clock": true, "env:HOME": true, "files:{a,b}/*.go": true,
		"": false, "file:[": false, "env:*": false, "env:": false, "env:A?": false, "file:{a": false,
	} {
		if err := facts.CheckPattern(pattern); (err == nil) != ok {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestAFactIsReadOnceAChain(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := facts.NewReader(options(dir))
	chain := r.Open(operation.Head{}, "tool.before", nil)
	want := func(s hookpoints.FactSource, want string) {
		t.Helper()
		if got := told(s.Fact(context.Background(), "file:f")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	want(chain, "- f doesn't exist")
	write("1")
	want(chain, "- f doesn't exist")
	next := r.Open(operation.Head{}, "tool.before", nil)
	want(next, `"1"`)
	write("2")
	want(next, `"1"`)
	want(r.Open(operation.Head{}, "tool.before", nil), `"2"`)
	for i := range 300 {
		f := next.Fact(context.Background(), fmt.Sprintf("file:%d", i))
		if over := f.Absent == "one chain can ask for 256 facts"; over != (i >= 255) {
			t.Fatalf("fact %d: %s", i, told(f))
		}
	}
}

func TestACancelledChainReadsNothing(t *testing.T) {
	dir := fileTree(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := facts.NewReader(options(dir)).Open(operation.Head{SessionID: "s"}, "", nil)
	for _, key := range []string{"git.head", "file:AGENTS.md", "files:**", "cwd"} {
		if got := told(s.Fact(ctx, key)); got != "- reading it was cancelled" {
			t.Errorf("%s: %s", key, got)
		}
	}
}
