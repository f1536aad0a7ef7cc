package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func prepare(t *testing.T, s *Set, name, arguments string) Write {
	t.Helper()
	tool, _ := s.Tool(name)
	w, err := tool.(Writer).Prepare(t.Context(), value(t, arguments))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func commit(t *testing.T, s *Set, w Write) Result {
	t.Helper()
	tool, _ := s.Tool("write_file")
	return tool.(Writer).Commit(t.Context(), w)
}

func TestPrepareComputesTheChangeAndTouchesNothing(t *testing.T) {
	before := map[string]string{"a": "one\n", "link": "->a"}
	dir := files(t, before)
	s := open(t, dir, Options{})
	base := hash([]byte("one\n"))
	for _, c := range []struct {
		tool, arguments string
		want            Write
	}{
		{"write_file", `{"path":"deep/er/new","content":"x"}`, Write{Path: "deep/er/new", Kind: Create, Content: "x"}},
		{"write_file", `{"path":"./a","content":""}`, Write{Path: "a", Kind: Save, BaseHash: base}},
		{"write_file", `{"path":"link","content":"x"}`, Write{Path: "a", Kind: Save, Content: "x", BaseHash: base}},
		{"edit_file", `{"path":"a","old":"one","new":"two"}`, Write{Path: "a", Kind: Patch, Content: "two\n", BaseHash: base}},
	} {
		if diff := cmp.Diff(c.want, prepare(t, s, c.tool, c.arguments)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.arguments, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "one\n"}, content(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestWriteAsPayload(t *testing.T) {
	for text, w := range map[string]Write{
		`{"path":"a","kind":"create","content":"x","base_hash":null}`: {Path: "a", Kind: Create, Content: "x"},
		`{"path":"a","kind":"patch","content":"","base_hash":"h"}`:    {Path: "a", Kind: Patch, BaseHash: "h"},
		`{"path":"a","kind":"delete","content":null,"base_hash":"h"}`: {Path: "a", Kind: Delete, BaseHash: "h"},
	} {
		if got := w.Value().String(); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
		got, err := WriteFrom(value(t, text))
		if diff := cmp.Diff(w, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
	for text, says := range map[string]string{`{"path":"a","kind":"append"}`: "create, save, patch or delete", `{"path":"","kind":"save"}`: "needs a path", `{"path":"a","kind":"delete","content":"x"}`: "no content", `{}`: "kind"} {
		if _, err := WriteFrom(value(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestCommitWritesWholeFiles(t *testing.T) {
	dir := files(t, map[string]string{"a": "one\n", "run": "#!/bin/sh\n", "link": "->sub/real", "sub/real": "x", "gone": "x"})
	if err := os.Chmod(filepath.Join(dir, "run"), 0o776); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	want(t, call(t, s, "write_file", `{"path":"new/er/b","content":"é\n"}`), Succeeded, `{"path":"new/er/b","kind":"create","created":true,"bytes":3}`)
	want(t, call(t, s, "write_file", `{"path":"a","content":"two\n"}`), Succeeded, `{"path":"a","kind":"save","created":false,"bytes":4}`)
	want(t, call(t, s, "edit_file", `{"path":"run","old":"sh","new":"bash"}`), Succeeded, `{"path":"run","kind":"patch","created":false,"bytes":12}`)
	want(t, call(t, s, "write_file", `{"path":"link","content":"y"}`), Succeeded, `{"path":"sub/real","kind":"save","created":false,"bytes":1}`)
	want(t, commit(t, s, Write{Path: "gone", Kind: Delete, BaseHash: hash([]byte("x"))}), Succeeded, `{"path":"gone","kind":"delete","created":false}`)
	if diff := cmp.Diff(map[string]string{"a": "two\n", "new/er/b": "é\n", "run": "#!/bin/bash\n", "sub/real": "y"}, content(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "run")); err != nil || info.Mode().Perm() != 0o776 {
		t.Errorf("permissions: %v %v", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info.Mode(), err)
	}
}

func TestCommitFailsIfTheBaseChanged(t *testing.T) {
	for name, c := range map[string]struct {
		tool, arguments string
		meanwhile       func(dir string) error
		says            string
		is              error
	}{
		"changed":         {"write_file", `{"path":"a","content":"mine"}`, func(d string) error { return os.WriteFile(d+"/a", []byte("theirs"), 0o600) }, "wasn't changed", ErrBaseChanged},
		"changed, edit":   {"edit_file", `{"path":"a","old":"o","new":"0"}`, func(d string) error { return os.WriteFile(d+"/a", []byte("o!"), 0o600) }, "wasn't changed", ErrBaseChanged},
		"appeared":        {"write_file", `{"path":"n","content":"mine"}`, func(d string) error { return os.WriteFile(d+"/n", []byte("theirs"), 0o600) }, "wasn't changed", ErrBaseChanged},
		"appeared, empty": {"write_file", `{"path":"n","content":"mine"}`, func(d string) error { return os.WriteFile(d+"/n", nil, 0o600) }, "wasn't changed", ErrBaseChanged},
		"disappeared":     {"write_file", `{"path":"a","content":"mine"}`, func(d string) error { return os.Remove(d + "/a") }, "wasn't changed", ErrBaseChanged},
		"became a folder": {"write_file", `{"path":"n","content":"mine"}`, func(d string) error { return os.Mkdir(d+"/n", 0o700) }, "is a folder", nil},
		"became a link":   {"write_file", `{"path":"n","content":"mine"}`, func(d string) error { return os.Symlink("a", d+"/n") }, "stands for a", ErrBaseChanged},
		"a link out":      {"write_file", `{"path":"n/x","content":"mine"}`, func(d string) error { return os.Symlink("/tmp", d+"/n") }, "outside", ErrOutside},
		"became protected": {"write_file", `{"path":"n/x","content":"mine"}`, func(d string) error {
			return errors.Join(os.Mkdir(d+"/.agentd", 0o700), os.Symlink(".agentd", d+"/n"))
		}, "protected", ErrProtected},
		"a file in the way": {"write_file", `{"path":"n/x","content":"mine"}`, func(d string) error { return os.WriteFile(d+"/n", nil, 0o600) }, "not a directory", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"a": "one"})
			s := open(t, dir, Options{})
			w := prepare(t, s, c.tool, c.arguments)
			if err := c.meanwhile(dir); err != nil {
				t.Fatal(err)
			}
			before := content(t, dir)
			want(t, commit(t, s, w), Failed, "~"+c.says)
			if _, err := s.ws.apply(w); c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, content(t, dir)); diff != "" {
				t.Errorf("something was written: %s", diff)
			}
		})
	}
}

// After a crash nobody knows whether a commit happened; doing it again must be right either way.
func TestCommitAgain(t *testing.T) {
	dir := files(t, map[string]string{"a": "one", "gone": "x"})
	s := open(t, dir, Options{})
	for _, w := range []Write{
		prepare(t, s, "write_file", `{"path":"n","content":"x"}`),
		prepare(t, s, "edit_file", `{"path":"a","old":"o","new":"oo"}`),
		{Path: "gone", Kind: Delete, BaseHash: hash([]byte("x"))},
	} {
		first := commit(t, s, w)
		again := commit(t, s, w)
		if first.Status != Succeeded || first.Value.String() != again.Value.String() || again.Status != Succeeded {
			t.Errorf("%v\nthen %v", first.Value, again.Value)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "oone", "n": "x"}, content(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestOneOfManyCommitsWins(t *testing.T) {
	const writers, rounds = 8, 30
	for round := range rounds {
		base := []map[string]string{{}, {"a": "base"}}[round%2]
		dir := files(t, base)
		s := open(t, dir, Options{})
		var writes []Write
		for i := range writers {
			writes = append(writes, prepare(t, s, "write_file", fmt.Sprintf(`{"path":"a","content":"%d"}`, i)))
		}
		results := make([]Result, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() { results[i] = commit(t, s, writes[i]) })
		}
		wg.Wait()
		var won []string
		for i, r := range results {
			if r.Status == Succeeded {
				won = append(won, writes[i].Content)
			} else {
				want(t, r, Failed, "~"+ErrBaseChanged.Error())
			}
		}
		if len(won) != 1 {
			t.Fatalf("%v won", won)
		}
		if diff := cmp.Diff(map[string]string{"a": won[0]}, content(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

// Readers see the old or the new content and nothing between, and no other file beside it.
func TestReadersSeeWholeFiles(t *testing.T) {
	const size = 1 << 20
	dir := files(t, map[string]string{"a": strings.Repeat("0", size)})
	s := open(t, dir, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			got, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil || len(got) != size || strings.Trim(string(got), string(got[:1])) != "" {
				t.Errorf("%d bytes, %v", len(got), err)
				return
			}
			runtime.Gosched()
		}
	})
	for i := range 10 {
		w := prepare(t, s, "write_file", `{"path":"a","content":""}`)
		w.Content = strings.Repeat(fmt.Sprint((i+1)%10), size) // as a hook may do
		if got := commit(t, s, w); got.Status != Succeeded {
			t.Error(got.Value)
		}
	}
	cancel()
	wg.Wait()
	if names := content(t, dir); len(names) != 1 {
		t.Errorf("left over: %v", maps.Keys(names))
	}
}

func TestFailedWritesLeaveNothing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("permissions don't stop root")
	}
	dir := files(t, map[string]string{"locked/a": "x"})
	if err := os.Chmod(filepath.Join(dir, "locked"), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "locked"), 0o700) })
	s := open(t, dir, Options{})
	want(t, call(t, s, "write_file", `{"path":"locked/a","content":"y"}`), Failed, "~permissions")
	want(t, call(t, s, "write_file", `{"path":"locked/b/c","content":"y"}`), Failed, "~permissions")
	if diff := cmp.Diff(map[string]string{"locked/a": "x"}, content(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestContentIsBoundedText(t *testing.T) {
	s := open(t, files(t, map[string]string{"big": strings.Repeat("x", maxFile+1)}), Options{})
	want(t, commit(t, s, Write{Path: "n", Kind: Create, Content: strings.Repeat("x", maxFile+1)}), Failed, "~longer than 8 MiB")
	want(t, commit(t, s, Write{Path: "n", Kind: Create, Content: "\xff"}), Failed, "~isn't UTF-8")
	want(t, call(t, s, "edit_file", `{"path":"big","old":"x","new":"y"}`), Failed, "~larger than 8 MiB")
	want(t, call(t, s, "write_file", `{"path":"big","content":"y"}`), Failed, "~larger than 8 MiB")
}

func TestEditFile(t *testing.T) {
	for _, c := range []struct{ content, arguments, want string }{
		{"a b c", `"old":"b","new":"x"`, "a x c"},
		{"a b c", `"old":"b","new":""`, "a  c"},
		{"a b\n\tc", `"old":"b\n\tc","new":"$1"`, "a $1"},
		{"b b b", `"old":"b","new":"x","all":true`, "x x x"},
		{"aaa", `"old":"aa","new":"x","all":true`, "xa"},
		{"héé", `"old":"éé","new":"e"`, "he"},
		{"b b", `"old":"b","new":"x"`, "~occurs 2 times"},
		{"b b", `"old":"b","new":"x","all":false`, "~occurs 2 times"},
		{"aaa", `"old":"aa","new":"x"`, "~occurs 2 times"},
		{"a", `"old":"b","new":"x"`, "~isn't in it"},
		{"a", `"old":"b","new":"x","all":true`, "~isn't in it"},
		{"a", `"old":"a","new":"a"`, "~are the same"},
		{"a\r\nb\r\n", `"old":"a\nb","new":"x"`, `~lines end in \r\n`},
		{"a\r\nb\r\n", `"old":"a\r\nb","new":"x"`, "x\r\n"},
		{"\xff a", `"old":"a","new":"x"`, "~isn't UTF-8"},
	} {
		dir := files(t, map[string]string{"f": c.content})
		s := open(t, dir, Options{})
		got := call(t, s, "edit_file", `{"path":"f",`+c.arguments+`}`)
		if strings.HasPrefix(c.want, "~") {
			want(t, got, Failed, c.want)
			c.want = c.content
		} else if got.Status != Succeeded {
			t.Errorf("%q %s: %v", c.content, c.arguments, got.Value)
		}
		if diff := cmp.Diff(map[string]string{"f": c.want}, content(t, dir)); diff != "" {
			t.Errorf("%q %s: %s", c.content, c.arguments, diff)
		}
	}
	s := open(t, files(t, map[string]string{"d/x": ""}), Options{})
	want(t, call(t, s, "edit_file", `{"path":"none","old":"a","new":"b"}`), Failed, "~none doesn't exist")
	want(t, call(t, s, "edit_file", `{"path":"d","old":"a","new":"b"}`), Failed, "~d is a folder")
}
