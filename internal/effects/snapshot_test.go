//go:build unix

package effects_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/internal/effects"
	"agentd/operation"
)

// listing is all files of a folder with their content, less git's.
func listing(t *testing.T, dir string) string {
	t.Helper()
	return sh(t, dir, `find . -name .git -prune -o \( -type f -o -type l \) -print | LC_ALL=C sort | while read -r f; do if [ -L "$f" ]; then echo "$f -> $(readlink "$f")"; else echo "$f $(stat -c %a "$f") $(tr '\n' ' ' < "$f")"; fi; done`)
}

// staged is what nobody but the user changes: index, HEAD and branches.
func staged(t *testing.T, dir string) string {
	t.Helper()
	return sh(t, dir, "git ls-files --stage; cat .git/HEAD; git for-each-ref refs/heads; git stash list")
}

func create(t *testing.T, dir, key string) (id string) {
	t.Helper()
	v, status := effects.New(options(dir)).Do(context.Background(), key, "snapshot.create", value(t, `{"label":"before the turn"}`))
	if status != operation.Succeeded {
		t.Fatalf("%s %s", status, v)
	}
	return v.Get("id").Text()
}

func TestSnapshotsPutFilesBack(t *testing.T) {
	for _, c := range []struct{ name, script, then, in, counts string }{
		{"changed, removed, made", oneCommit + "echo 2 >> a; echo u > untracked; mkdir d; echo x > d/x", "echo 3 >> a; rm b untracked; rm -r d; echo new > c; mkdir e; echo new > e/f", "", `"written":4,"removed":2`},
		{"committed since", oneCommit, "echo 3 >> a; git rm -q b; echo n > n; git add .; git commit -qm two", "", `"written":2,"removed":1`},
		{"staged before", oneCommit + "echo 2 >> a; git add a; echo 3 >> a; echo n > n; git add n", "echo 4 > a; rm n", "", `"written":2,"removed":0`},
		{"no commit yet", identity + "echo 1 > a", "rm a; echo 2 > b", "", `"written":1,"removed":1`},
		{"modes and links", oneCommit + "chmod +x a; ln -s a l", "chmod -x a; rm l; ln -s b l; rm b; ln -s a b", "", `"written":3,"removed":0`},
		{"a file that became a folder", oneCommit, "rm a; mkdir a; echo x > a/x", "", `"written":1,"removed":1`},
		{"a folder that became a file", oneCommit + "mkdir d; echo x > d/x; echo y > d/y", "rm -r d; echo f > d", "", `"written":2,"removed":1`},
		{"a folder that became a link", oneCommit + "mkdir d e; echo x > d/x; echo y > e/x", "rm -r d; ln -s e d", "", `"written":1,"removed":1`},
		{"names of all sorts", oneCommit + "echo 1 > 'a b'; echo 1 > ü; echo 1 > '*'; echo 1 > :x", "rm 'a b' ü '*' :x; echo 2 > '?'", "", `"written":4,"removed":1`},
		{"nothing", oneCommit, "true", "", `"written":0,"removed":0`},
		{"a workspace below", oneCommit + "mkdir w; echo 1 > w/x; echo 1 > w/y", "rm w/x; echo 2 > w/y; echo 1 > w/z", "w", `"written":2,"removed":1`},
		{"a workspace below that was empty", oneCommit + "mkdir w; touch w/x.log", "echo 1 > w/z", "w", `"written":0,"removed":1`},
		{"a conflict", oneCommit + "git switch -qc o; echo o > a; git commit -qam o; git switch -q main; echo m > a; git commit -qam m; git merge -q o >/dev/null || true", "echo solved > a", "", `"written":1,"removed":0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			sh(t, dir, c.script+"\necho i > ignored.log")
			before, index := listing(t, dir), staged(t, dir)
			ws := filepath.Join(dir, c.in)
			id := create(t, ws, "k1")
			if d := cmp.Diff(before+index, listing(t, dir)+staged(t, dir)); d != "" {
				t.Fatalf("the snapshot itself changed (-want +got):\n%s", d)
			}
			sh(t, dir, c.then)
			changed, index := listing(t, dir), staged(t, dir)
			got := done(t, options(ws), "k2", "snapshot.restore", `{"id":"`+id+`"}`)
			starts(t, "restore", got, `succeeded {"id":"`+id+`",`+c.counts)
			if d := cmp.Diff(before, listing(t, dir)); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
			if d := cmp.Diff(index, staged(t, dir)); d != "" {
				t.Errorf("index, HEAD and branches (-want +got):\n%s", d)
			}
			_, back, ok := strings.Cut(got, `"before":"`)
			if c.then == "true" {
				if ok {
					t.Error("what there was is kept although nothing was done")
				}
				return
			}
			starts(t, "undo", done(t, options(ws), "k3", "snapshot.restore", `{"id":"`+back[:17]+`"}`), "succeeded")
			if d := cmp.Diff(changed, listing(t, dir)); d != "" {
				t.Errorf("files after taking it back (-want +got):\n%s", d)
			}
		})
	}
}

func TestASnapshotLeavesTheRestAlone(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, strings.ReplaceAll(oneCommit, ".agentd/\\n", "")+"mkdir w; echo 1 > w/x; mkdir -p w/.agentd/state; echo 1 > w/.agentd/state/db")
	id := create(t, filepath.Join(dir, "w"), "k")
	sh(t, dir, "echo outside > a; echo new > outside; echo 2 > w/x; echo live > w/.agentd/state/db; echo 3 > w/x.log")
	starts(t, "restore", done(t, options(filepath.Join(dir, "w")), "k", "snapshot.restore", `{"id":"`+id+`"}`), "succeeded")
	if got, want := sh(t, dir, "cat a outside w/x w/.agentd/state/db w/x.log"), "outside\nnew\n1\nlive\n3"; got != want {
		t.Errorf("files are %q, want %q", got, want)
	}
	tracked := t.TempDir() // somebody committed the state
	sh(t, tracked, oneCommit+"git add -f .agentd; git commit -qm state")
	id = create(t, tracked, "k")
	sh(t, tracked, "echo live > .agentd/state/db; echo 2 > a")
	starts(t, "restore", done(t, options(tracked), "k", "snapshot.restore", `{"id":"`+id+`"}`), "succeeded")
	if got, want := sh(t, tracked, "cat a .agentd/state/db"), "1\nlive"; got != want {
		t.Errorf("files are %q, want %q", got, want)
	}
}

func TestASnapshotIsMadeOnceAKey(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, oneCommit)
	first := done(t, options(dir), "k1", "snapshot.create", `{}`)
	sh(t, dir, "echo 2 > a")
	if again := done(t, options(dir), "k1", "snapshot.create", `{"label":"other"}`); again != first {
		t.Errorf("again it gave %s, want %s", again, first)
	}
	if other := done(t, options(dir), "k2", "snapshot.create", `{}`); other == first {
		t.Error("another key gave the same snapshot")
	}
	if got := sh(t, dir, "git for-each-ref refs/agentd | wc -l; git gc -q --prune=now; git for-each-ref --format='%(authorname) %(subject)' refs/agentd"); got != "2\nagentd snapshot\nagentd snapshot" {
		t.Errorf("refs: %s", got)
	}
}

func TestARestoringThatWouldLoseSomethingIsRefused(t *testing.T) {
	for _, c := range []struct{ name, script, then, hindered string }{
		{"a file", oneCommit + "echo kept > x", "rm x; echo x >> .gitignore; echo ignored > x", "x"},
		{"a file where a folder was", oneCommit + "mkdir d; echo kept > d/x", "rm -r d; echo d >> .gitignore; echo ignored > d", "d"},
		{"a folder where a file was", oneCommit + "echo kept > f", "rm f; mkdir f; echo ignored > f/x.log; echo u > f/u", "f/x.log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			sh(t, dir, c.script)
			id := create(t, dir, "k")
			sh(t, dir, c.then)
			want := listing(t, dir)
			got := done(t, options(dir), "k", "snapshot.restore", `{"id":"`+id+`"}`)
			starts(t, "restore", got, `failed {"error":"git ignores `+c.hindered+`, which is in the way and would be lost`)
			if d := cmp.Diff(want, listing(t, dir)); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
		})
	}
}

func TestSnapshotsThatCannotBeMadeOrFound(t *testing.T) {
	none, dir := t.TempDir(), t.TempDir()
	sh(t, dir, oneCommit)
	starts(t, "create", done(t, options(none), "k", "snapshot.create", `{}`), `failed {"error":"the workspace is in no work tree of git; make one with git init"}`)
	starts(t, "restore", done(t, options(none), "k", "snapshot.restore", `{"id":"s0123456789abcdef"}`), `failed {"error":"the workspace is in no work tree of git`)
	starts(t, "restore", done(t, options(dir), "k", "snapshot.restore", `{"id":"s0123456789abcdef"}`), `failed {"error":"there is no snapshot s0123456789abcdef in this repository"}`)
	sh(t, dir, "git config filter.f.clean false; git config filter.f.required true; echo '* filter=f' > .gitattributes")
	starts(t, "create", done(t, options(dir), "k", "snapshot.create", `{}`), `failed {"error":"git add failed: `)
	if got := sh(t, dir, "git for-each-ref refs/agentd"); got != "" {
		t.Errorf("there is a ref: %s", got)
	}
}

func TestARestoringThatIsCutOffSaysSo(t *testing.T) {
	dir := t.TempDir()
	name, heard := pipe(t)
	sh(t, dir, oneCommit+"echo x > c; echo x > z") // a is written before c, and c before z
	id := create(t, dir, "k")
	// The filter hangs when a file is written, once.
	sh(t, dir, "rm c z; echo changed > a; git config filter.f.smudge 'if [ -e .git/hang ]; then rm .git/hang; echo x > "+name+"; sleep 1000; fi; cat'; git config filter.f.clean cat; git config filter.f.required true; echo 'c filter=f' > .git/info/attributes; touch .git/hang")
	got := cancelledWhen(t, heard, options(dir), "snapshot.restore", `{"id":"`+id+`"}`)
	if !strings.HasPrefix(got, "cancelled ") || !strings.Contains(got, "only a part was restored; what there was is in snapshot b") {
		t.Errorf("got %s", got)
	}
	starts(t, "again", done(t, options(dir), "k", "snapshot.restore", `{"id":"`+id+`"}`), "succeeded")
	if text, err := os.ReadFile(filepath.Join(dir, "c")); err != nil || string(text) != "x\n" {
		t.Errorf("c is %q, %v", text, err)
	}
}
