package tool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPathsMeanTheFilesThatTheyLeadTo(t *testing.T) {
	outside := files(t, map[string]string{"secret": "s"})
	dir := files(t, map[string]string{
		"a/b/c": "x", "d": "x",
		".agentd/hooks/h.star": "x", ".agentd/state/token": "x", ".agentd/agentd.yaml": "x",
		"in": "->a/b", "up": "->a/../d", "abs": "->$DIR/a", "a/back": "->../d", "chain": "->in/../back",
		"out": "->" + outside, "far": "->../../..", "a/out": "->../.." + outside,
		"config": "->.agentd", "hook": "->config/hooks/h.star", "new": "->.agentd/hooks/new.star", "dangling": "->a/none",
		"loop": "->loop", "ping": "->pong", "pong": "->ping",
	})
	s := open(t, dir, Options{})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	const read, write = 1, 2
	for _, c := range []struct {
		path string
		mode int
		want string // the path, or !sentinel text
	}{
		{"d", read | write, "d"},
		{"./a//b/./c", read | write, "a/b/c"},
		{"a/../d", read | write, "d"},
		{real + "/a/b/c", read | write, "a/b/c"},
		{real, read, "."},
		{real + "/../" + filepath.Base(real) + "/d", read | write, "!outside"},
		{".", read, "."},
		{".", write, "!the workspace itself"},
		{"a/..", write, "!the workspace itself"},
		{"none/of/it", read | write, "none/of/it"},
		{"in/c", read | write, "a/b/c"},
		{"in/../back", read, "d"}, // the folder above what the link stands for
		{"up", read | write, "d"},
		{"abs/b/c", read | write, "a/b/c"},
		{"chain", read | write, "d"},
		{"dangling", read | write, "a/none"},
		{"", read | write, "!the path is empty"},
		{"a\x00b", read | write, "!zero byte"},
		{"a/", write, "!names a folder"},
		{"..", read | write, "!outside"},
		{"../x", read | write, "!outside"},
		{"a/../../x", read | write, "!outside"},
		{"/etc/passwd", read | write, "!outside"},
		{real + "x/d", read | write, "!outside"},
		{"/", read | write, "!outside"},
		{"out/secret", read | write, "!outside"},
		{"out", read | write, "!outside"},
		{"far", read | write, "!outside"},
		{"a/out/secret", read | write, "!outside"},
		{"loop", read | write, "!symbolic links"},
		{"ping/x", read | write, "!symbolic links"},
		{".agentd/hooks/h.star", read, ".agentd/hooks/h.star"},
		{".agentd/hooks/h.star", write, "!protected"},
		{".agentd", write, "!protected"},
		{"a/../.agentd/new", write, "!protected"},
		{".AGENTD/new", write, "!protected"},
		{"config/agentd.yaml", write, "!protected"},
		{"hook", write, "!protected"},
		{"new", write, "!protected"},
		{real + "/.agentd/x", write, "!protected"},
		{".agentd/state/token", read, "!protected"},
		{"config/state", read, "!protected"},
		{".agentdx", write, ".agentdx"},
		{"a/.agentd/x", write, "a/.agentd/x"},
	} {
		for mode, resolve := range map[int]func(string) (string, error){read: s.ws.resolveToRead, write: s.ws.resolveToWrite} {
			if c.mode&mode == 0 {
				continue
			}
			got, err := resolve(c.path)
			if says, refused := strings.CutPrefix(c.want, "!"); refused {
				if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") ||
					errors.Is(err, ErrOutside) != (says == "outside") || errors.Is(err, ErrProtected) != (says == "protected") {
					t.Errorf("%q: got %q, %v, want it refused as %s", c.path, got, err, says)
				}
			} else if err != nil || got != c.want {
				t.Errorf("%q: got %q, %v, want %q", c.path, got, err, c.want)
			}
		}
	}
}

// The workspace may be named through a link; both names are its own.
func TestWorkspaceBehindALink(t *testing.T) {
	dir := files(t, map[string]string{"real/a": "x", "link": "->real"})
	s := open(t, filepath.Join(dir, "link"), Options{})
	for _, p := range []string{"link/a", "real/a"} {
		want(t, call(t, s, "read_file", `{"path":"`+filepath.Join(dir, p)+`"}`), Succeeded, `{"path":"a","content":"x","first_line":1,"last_line":1}`)
	}
}

func TestProtectedIsConfigured(t *testing.T) {
	dir := files(t, map[string]string{"keys/a": "x", "sub/deep/b": "x", ".agentd/x": "x"})
	s := open(t, dir, Options{Protected: []string{"keys/", "./sub/deep/b"}, Private: []string{"keys"}})
	for path, says := range map[string]string{"keys/a": "protected", "keys/n": "protected", "sub/deep/b": "protected", "sub/deep/c": "", ".agentd/x": ""} {
		got := call(t, s, "write_file", `{"path":"`+path+`","content":"y"}`)
		if says == "" && got.Status != Succeeded {
			t.Errorf("%s: %v", path, got.Value)
		} else if says != "" {
			want(t, got, Failed, "~"+says)
		}
	}
	want(t, call(t, s, "read_file", `{"path":"keys/a"}`), Failed, "~protected")
	want(t, call(t, s, "list_files", `{"depth":9}`), Succeeded, `{"path":".","entries":[".agentd/",".agentd/x","sub/","sub/deep/","sub/deep/b","sub/deep/c"]}`)
	want(t, call(t, s, "search_files", `{"pattern":"x"}`), Succeeded, `{"matches":[{"path":"sub/deep/b","line":1,"text":"x"}],"files":3}`)
}

// A file has as many names as it has hard links.
func TestProtectedFileUnderAnotherName(t *testing.T) {
	dir := files(t, map[string]string{"keys/a": "x"})
	if err := os.Link(filepath.Join(dir, "keys/a"), filepath.Join(dir, "b")); err != nil {
		t.Skip(err)
	}
	s := open(t, dir, Options{Protected: []string{"keys/a"}, Private: []string{"keys/a"}})
	want(t, call(t, s, "read_file", `{"path":"b"}`), Failed, "~protected")
	want(t, call(t, s, "write_file", `{"path":"b","content":""}`), Failed, "~protected")
}

// A link that is made between looking and opening can't lead out: the folder that is held open
// refuses it, whatever was resolved before.
func TestEscapeAfterResolving(t *testing.T) {
	outside := files(t, map[string]string{"secret": "s"})
	dir := files(t, map[string]string{"a/secret": "x"})
	s := open(t, dir, Options{})
	real, err := s.ws.resolve("a/secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "a")), os.Symlink(outside, filepath.Join(dir, "a"))); err != nil {
		t.Fatal(err)
	}
	if f, _, err := s.ws.openFile(real); err == nil {
		f.Close()
		t.Error("a file outside was opened")
	}
	if _, err := s.ws.apply(Write{Path: real, Kind: Create, Content: "y"}); !errors.Is(err, ErrOutside) {
		t.Errorf("got %v", err)
	}
	if err := s.ws.writeTemp("a/temp", "y", base{}); err == nil {
		t.Error("a file outside was written")
	}
}
