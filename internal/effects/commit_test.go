//go:build unix

package effects_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	identity  = "git init -q -b main; git config user.name A; git config user.email a@example.org; mkdir -p .agentd/state; echo s > .agentd/state/db; "
	oneCommit = identity + "printf '.agentd/\\n*.log\\n' > .gitignore; echo 1 > a; echo 1 > b; git add .; git commit -qm one; "
)

var hash = regexp.MustCompile(`[0-9a-f]{40}`)

// hashless puts one word for every hash.
func hashless(s string) string { return hash.ReplaceAllString(s, "HASH") }

const (
	didCommit = `succeeded {"committed":true,"commit":"HASH"}`
	nothing   = `succeeded {"committed":false}`
)

func TestCommits(t *testing.T) {
	const files = "git show --format= --name-status --no-renames HEAD; git status --porcelain"
	for _, c := range []struct{ name, script, in, arguments, want, see, seen string }{
		{"all", oneCommit + "echo 2 >> a; rm b; echo new > c; echo x > d.log", "", `{"message":"m","all":true}`, didCommit, files, "M\ta\nD\tb\nA\tc"},
		{"some paths", oneCommit + "echo 2 >> a; rm b; echo new > c; echo new > d", "", `{"message":"m","paths":["b","c"]}`, didCommit, files, "D\tb\nA\tc\n M a\n?? d"},
		{"what is staged elsewhere stays so", oneCommit + "echo 2 >> a; git add a; echo 2 >> b; echo n > n; git add n", "", `{"message":"m","paths":["b"]}`, didCommit, files, "M\tb\nM  a\nA  n"},
		{"staged and changed again", oneCommit + "echo 2 >> a; git add a; echo 3 >> a", "", `{"message":"m","paths":["a"]}`, didCommit, "git show HEAD:a; git status --porcelain", "1\n2\n3"},
		{"a folder", oneCommit + "mkdir d; echo 1 > d/x; echo 1 > d/y; echo 2 >> a", "", `{"message":"m","paths":["d"]}`, didCommit, files, "A\td/x\nA\td/y\n M a"},
		{"names that look like patterns", oneCommit + "echo 1 > '*'; echo 1 > ':(top)x'; echo 1 > 'a b'; echo 2 >> a", "", `{"message":"m","paths":["*",":(top)x","a b"]}`, didCommit, files, "A\t*\nA\t:(top)x\nA\ta b\n M a"},
		{"the first commit", identity + "echo 1 > a", "", `{"message":"m","all":true}`, didCommit, files, "A\ta\n?? .agentd/"},
		{"agentd's own state", strings.ReplaceAll(oneCommit, ".agentd/\\n", "") + "echo 2 >> .agentd/state/db; echo 1 > .agentd/c", "", `{"message":"m","all":true}`, didCommit, files, "A\t.agentd/c\n M .agentd/state/db"},
		{"agentd's own state by name", identity + "echo 1 > a", "", `{"message":"m","paths":[".agentd/state/db"]}`, nothing, "git status --porcelain", "?? .agentd/\n?? a"},
		{"nothing changed", oneCommit, "", `{"message":"m","all":true}`, nothing, "git rev-list --count HEAD", "1"},
		{"only others changed", oneCommit + "echo 2 >> b", "", `{"message":"m","paths":["a","nosuch"]}`, nothing, "git rev-list --count HEAD", "1"},
		{"a workspace below", oneCommit + "mkdir w; echo 1 > w/x; echo 2 >> a; echo 1 > y", "w", `{"message":"m","all":true}`, didCommit, files, "A\tw/x\n M a\n?? y"},
		{"a path of a workspace below", oneCommit + "mkdir w; echo 1 > w/a; echo 2 >> a", "w", `{"message":"m","paths":["a"]}`, didCommit, files, "A\tw/a\n M a"},
		{"a message as it is", oneCommit + "echo 2 >> a", "", `{"message":"# one\n\nbody ü\n\n\nSigned-off-by: B <b@example.org>","all":true}`, didCommit, "git log -1 --format=%an:%B", "A:# one\n\nbody ü\n\nSigned-off-by: B <b@example.org>\nAgentd-Key: s/op:project/auto:turn.after:0"},
		{"hooks run", oneCommit + "printf '#!/bin/sh\\ntouch ran.log\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo 2 >> a", "", `{"message":"m","all":true}`, didCommit, "ls ran.log", "ran.log"},
		{"a hook that refuses", oneCommit + "printf '#!/bin/sh\\necho too ugly >&2; exit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo 2 >> a; echo 1 > c; echo 1 > d; git add d", "", `{"message":"m","paths":["a","c"]}`,
			`failed {"error":"git commit failed: too ugly"}`, "git status --porcelain; git rev-list --count HEAD", "M a\nA  d\n?? c\n1"},
		{"a hook that takes the key out", oneCommit + "printf '#!/bin/sh\\necho other > $1\\n' > .git/hooks/commit-msg; chmod +x .git/hooks/commit-msg; echo 2 >> a", "", `{"message":"m","all":true}`, didCommit, "git log -1 --format=%B", "other"},
		{"nobody to be the author", oneCommit + "git config --unset user.name; git config --unset user.email; git config user.useConfigOnly true; echo 2 >> a", "", `{"message":"m","all":true}`, `failed {"error":"git commit failed: `, "git status --porcelain", "M a"},
		{"in the middle of a merge", oneCommit + "git switch -qc o; echo o > a; git commit -qam o; git switch -q main; echo m > a; git commit -qam m; git merge -q o >/dev/null || true", "", `{"message":"m","all":true}`, `failed {"error":"git commit failed: cannot do a partial commit during a merge."}`, "git status --porcelain", "UU a"},
		{"an ignored file by name", oneCommit + "echo 1 > x.log", "", `{"message":"m","paths":["x.log"]}`, nothing, "git status --porcelain", ""},
		{"outside of a repository", "", "", `{"message":"m","all":true}`, `failed {"error":"the workspace is in no work tree of git; make one with git init"}`, "ls -A", ""},
		{"in git's own folder", oneCommit, ".git", `{"message":"m","all":true}`, `failed {"error":"the workspace is in no work tree of git`, "ls a", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			sh(t, dir, c.script)
			got := hashless(done(t, options(filepath.Join(dir, c.in)), "s/op:project/auto:turn.after:0", "git.commit", c.arguments))
			starts(t, "the effect", got, c.want)
			if d := cmp.Diff(c.seen, sh(t, dir, c.see)); d != "" {
				t.Errorf("afterwards (-want +got):\n%s", d)
			}
		})
	}
}

func TestACommitIsMadeOnceAKey(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, oneCommit+"echo 2 >> a")
	const all = `{"message":"m","all":true}`
	first := done(t, options(dir), "k1", "git.commit", all)
	starts(t, "first", hashless(first), didCommit)
	sh(t, dir, "echo 3 >> a")
	for range 2 {
		if again := done(t, options(dir), "k1", "git.commit", all); again != first {
			t.Errorf("again it gave %s, want %s", again, first)
		}
	}
	sh(t, dir, "git checkout -q a; git switch -qc other HEAD~; echo 4 >> b")
	if again := done(t, options(dir), "k1", "git.commit", all); again != first {
		t.Errorf("from another branch it gave %s, want %s", again, first)
	}
	for _, key := range []string{"k", "k11", "1", "two\nlines", strings.Repeat("long", 100), "ü"} {
		sh(t, dir, "echo 1 >> b")
		one, two := done(t, options(dir), key, "git.commit", all), done(t, options(dir), key, "git.commit", all)
		if one == first || one != two {
			t.Errorf("%.20q: %s, then %s", key, one, two)
		}
	}
	if got, want := sh(t, dir, "git rev-list --count main..HEAD; git rev-list --count other..main"), "6\n1"; got != want {
		t.Errorf("there are %q commits, want %q", got, want)
	}
}

func TestACommitThatIsCancelledIsMadeOrNot(t *testing.T) {
	for hook, want := range map[string]struct{ result, seen string }{
		"pre-commit":  {`cancelled {"error":"cancelled before it was done: nothing changed"}`, "1\n M a\n?? c"},
		"post-commit": {didCommit, "2"},
	} {
		t.Run(hook, func(t *testing.T) {
			dir := t.TempDir()
			name, heard := pipe(t)
			sh(t, dir, oneCommit+"echo 2 >> a; echo 1 > c")
			if err := os.WriteFile(filepath.Join(dir, ".git/hooks", hook), fmt.Appendf(nil, "#!/bin/sh\necho x > %s\nsleep 1000\n", name), 0o700); err != nil {
				t.Fatal(err)
			}
			got := cancelledWhen(t, heard, options(dir), "git.commit", `{"message":"m","all":true}`)
			starts(t, hook, hashless(got), want.result)
			if d := cmp.Diff(want.seen, sh(t, dir, "git rev-list --count HEAD; git status --porcelain; ls .git/*.lock 2>/dev/null || true")); d != "" {
				t.Errorf("afterwards (-want +got):\n%s", d)
			}
		})
	}
}
