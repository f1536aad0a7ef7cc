package tool

import (
	"fmt"
	"strings"
	"testing"
)

func TestListFiles(t *testing.T) {
	tree := map[string]string{"b/c/d/e": "", "a": "", "z/": "", ".hidden": "", ".git/HEAD": "", "link": "->b", "out": "->/", ".agentd/hooks/h.star": "", ".agentd/state/token": ""}
	s := open(t, files(t, tree), Options{})
	for _, c := range []struct{ arguments, want string }{
		{`{}`, `{"path":".","entries":[".agentd/",".agentd/hooks/",".git/",".hidden","a","b/","b/c/","link@","out@","z/"]}`},
		{`{"depth":1}`, `{"path":".","entries":[".agentd/",".git/",".hidden","a","b/","link@","out@","z/"]}`},
		{`{"path":"link","depth":3}`, `{"path":"b","entries":["c/","c/d/","c/d/e"]}`},
		{`{"path":".git"}`, `{"path":".git","entries":["HEAD"]}`},
		{`{"path":"z"}`, `{"path":"z","entries":[]}`},
		{`{"path":"a"}`, "~a is no folder: read_file"},
		{`{"path":"none"}`, "~none doesn't exist"},
		{`{"path":"out"}`, "~outside"},
		{`{"path":".agentd/state"}`, "~protected"},
	} {
		status := Succeeded
		if strings.HasPrefix(c.want, "~") {
			status = Failed
		}
		want(t, call(t, s, "list_files", c.arguments), status, c.want)
	}
	many := map[string]string{}
	for i := range maxEntries + 1 {
		many[fmt.Sprintf("f%05d", i)] = ""
	}
	s = open(t, files(t, many), Options{})
	got := call(t, s, "list_files", `{}`).Value
	if got.Get("entries").Len() != maxEntries || !got.Get("cut").IsTrue() {
		t.Errorf("%d entries, cut %v", got.Get("entries").Len(), got.Get("cut"))
	}
}

func TestSearchFiles(t *testing.T) {
	tree := map[string]string{
		"a.go": "package a\n\nfunc Find() {}\r\n", "sub/b.go": "func find() {}", "sub/c.txt": "Find\n", "nul": "Find\x00", ".git/x": "Find",
		"latin": "Find caf\xe9\n", "link": "->a.go", ".agentd/state/log": "Find", "out": "->/etc",
		"huge": strings.Repeat("y", maxSearched) + "Find", "wide": "Find " + strings.Repeat("é", 400),
	}
	s := open(t, files(t, tree), Options{})
	skipped := `"cut":true,"note":"1 files larger than 8 MiB weren't searched, huge first"`
	for _, c := range []struct{ arguments, want string }{
		{`{"pattern":"^func Find\\(\\) \\{\\}$"}`, `{"matches":[{"path":"a.go","line":3,"text":"func Find() {}"}],"files":5,` + skipped + `}`},
		{`{"pattern":"(?i)find","glob":"*.go"}`, `{"matches":[{"path":"a.go","line":3,"text":"func Find() {}"},{"path":"sub/b.go","line":1,"text":"func find() {}"}],"files":2}`},
		{`{"pattern":"Find","glob":"sub/*"}`, `{"matches":[{"path":"sub/c.txt","line":1,"text":"Find"}],"files":2}`},
		{`{"pattern":"Find","path":"sub","glob":"c*"}`, `{"matches":[{"path":"sub/c.txt","line":1,"text":"Find"}],"files":1}`},
		{`{"pattern":"Find","path":"link"}`, `{"matches":[{"path":"a.go","line":3,"text":"func Find() {}"}],"files":1}`},
		{`{"pattern":"Find","path":"latin"}`, `{"matches":[{"path":"latin","line":1,"text":"Find caf�"}],"files":1}`},
		{`{"pattern":"Find","path":"wide"}`, `{"matches":[{"path":"wide","line":1,"text":"Find ` + strings.Repeat("é", 247) + ` ..."}],"files":1}`},
		{`{"pattern":"nowhere","path":"sub"}`, `{"matches":[],"files":2}`},
		{`{"pattern":"("}`, "~the pattern is no regular expression"},
		{`{"pattern":"x","glob":"{a"}`, `~the glob "{a" isn't closed`},
		{`{"pattern":"x","path":"none"}`, "~none doesn't exist"},
		{`{"pattern":"x","path":"out"}`, "~outside"},
		{`{"pattern":"x","path":".agentd/state/log"}`, "~protected"},
	} {
		status := Succeeded
		if strings.HasPrefix(c.want, "~") {
			status = Failed
		}
		want(t, call(t, s, "search_files", c.arguments), status, c.want)
	}
	s = open(t, files(t, map[string]string{"a": strings.Repeat("x\n", 2*maxMatches), "b": strings.Repeat(strings.Repeat("y", 900)+"\n", 600)}), Options{})
	got := call(t, s, "search_files", `{"pattern":"x"}`).Value
	if got.Get("matches").Len() != maxMatches || !strings.Contains(got.Get("note").Text(), "more matches") {
		t.Errorf("%d matches, %v", got.Get("matches").Len(), got.Get("note"))
	}
	if got := call(t, s, "search_files", `{"pattern":"y"}`).Value; got.Size() > 400<<10 || !got.Get("cut").IsTrue() {
		t.Errorf("%d bytes", got.Size())
	}
}

func TestGlob(t *testing.T) {
	for pattern, c := range map[string]struct{ yes, no string }{
		"*.go":          {"a.go x/y/a.go .go", "a.gox a.GO go"},
		"a?c":           {"abc x/aéc", "ac a/c"},
		"src/*.go":      {"src/a.go", "src/x/a.go x/src/a.go"},
		"src/**/*.go":   {"src/a.go src/x/y/a.go", "a.go srcx/a.go"},
		"**/a":          {"a x/a x/y/a", "xa x/ab"},
		"x/**":          {"x/a x/a/b", "x y/x/a"},
		"*.{js,ts}":     {"a.js a.ts", "a.jsx a.{js,ts}"},
		"{a,b/{c,d}}/*": {"a/x b/c/x b/d/x", "b/x"},
		"[a-c]1":        {"a1 c1", "d1 -1"},
		"[!a-c]1":       {"d1", "a1 /1"},
		"[]a]":          {"] a", "b"},
		"[^]a]":         {"b", "] a"},
		"[a":            {"[a", "a"},
		`\*`:            {"*", "a"},
		"a,b}":          {"a,b}", "a"},
		"(a|b).+":       {"(a|b).+", "a"},
		"é*":            {"éa é", "e"},
		`[\d]`:          {`\ d`, "1"},
		"[[:alpha:]]":   {":]", "z"},
	} {
		match, err := glob(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		for _, p := range strings.Fields(c.yes) {
			if !match(p) {
				t.Errorf("%s doesn't match %s", pattern, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if match(p) {
				t.Errorf("%s matches %s", pattern, p)
			}
		}
	}
	for _, pattern := range []string{"{a", "a{b,{c}", `a\`, "[z-a]"} {
		if _, err := glob(pattern); err == nil || !strings.Contains(err.Error(), "glob") {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
