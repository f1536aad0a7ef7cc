package install

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite what the cases want")

// someClients are forms of configurations, each with two events.
var someClients = map[string]Client{
	"grouped": {Name: "grouped", Grouped: true, Handler: `{"name":"agentd","command":"LINE","timeout":"MILLISECONDS"}`},
	"flat":    {Name: "flat", Start: `{"version":1}`, Handler: `{"command":"LINE","timeout":"SECONDS"}`, Closed: `"failClosed":true`},
	"list":    {Name: "list", Grouped: true, Handler: `{"command":"PROGRAM","args":"ARGUMENTS"}`},
}

func someHandlers(c Client, program string) (want []wanted) {
	for _, r := range []Registration{{Event: "Before", Closed: true, Timeout: time.Minute}, {Event: "End", Timeout: time.Second}} {
		want = append(want, wanted{r.Event, c.handler(r, program, false)})
	}
	return want
}

// TestMerge: each archive has a configuration before, after an install, and after the uninstall that follows, if
// that isn't as it was before.
func TestMerge(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]string{}
			for _, f := range a.Files {
				in[f.Name] = strings.ReplaceAll(string(f.Data), "<CR>", "\r")
			}
			first, _, _ := strings.Cut(string(a.Comment), "\n")
			c, ok := someClients[strings.TrimPrefix(first, "client: ")]
			if !ok {
				t.Fatalf("the first line names no client: %q", first)
			}
			want := someHandlers(c, "/state/agentd-hook")
			after, err := c.merge([]byte(in["before"]), want)
			got := []txtar.File{{Name: "before", Data: []byte(in["before"])}}
			if err != nil {
				got = append(got, txtar.File{Name: "refused", Data: []byte(err.Error() + "\n")})
			} else {
				got = append(got, txtar.File{Name: "after", Data: after})
				again, err := c.merge(after, want)
				if err != nil || string(again) != string(after) {
					t.Errorf("done again it isn't the same: %v\n%s", err, cmp.Diff(string(after), string(again)))
				}
				removed, _, err := c.without(after)
				if err != nil {
					t.Fatal(err)
				}
				if string(removed) != in["before"] {
					got = append(got, txtar.File{Name: "removed", Data: removed})
				}
			}
			for i := range got {
				got[i].Data = []byte(strings.ReplaceAll(string(got[i].Data), "\r", "<CR>"))
			}
			out := txtar.Format(&txtar.Archive{Comment: a.Comment, Files: got})
			if *update {
				if err := os.WriteFile(file, out, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(string(txtar.Format(a)), string(out)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWhatOthersWroteStays: whatever a configuration looks like, an install adds to what it says and takes
// nothing away, and an uninstall brings back what was said before.
func TestWhatOthersWroteStays(t *testing.T) {
	blank := rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\t", " /* c, } ] */ ", " // c } ]\n", "\r\n    "})
	var value func(t *rapid.T, depth int) string
	list := func(t *rapid.T, open, closing string, depth int, item func(i int) string) string {
		out := open + blank.Draw(t, "blank")
		n := rapid.IntRange(0, 3).Draw(t, "n")
		for i := range n {
			out += item(i) + blank.Draw(t, "blank")
			if i < n-1 || rapid.IntRange(0, 4).Draw(t, "trailing") == 0 {
				out += "," + blank.Draw(t, "blank")
			}
		}
		return out + closing
	}
	value = func(t *rapid.T, depth int) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth > 2 && kind < 2 {
			kind = 2
		}
		switch kind {
		case 0:
			return list(t, "{", "}", depth, func(i int) string { return `"k` + string(rune('a'+i)) + `":` + value(t, depth+1) })
		case 1:
			return list(t, "[", "]", depth, func(int) string { return value(t, depth+1) })
		case 2:
			return rapid.SampledFrom([]string{`"a"`, `"// no \" comment"`, `""`, `"é\u00e9"`}).Draw(t, "s")
		}
		return rapid.SampledFrom([]string{"1", "null", "true", "1e5"}).Draw(t, "word")
	}
	handler := rapid.SampledFrom([]string{`{"command":"x"}`, `{"hooks":[{"command":"x"}]}`, `{"hooks":[{"command":"'/a b/agentd-hook' y"},{"command":"x"}]}`,
		`{"hooks":[{"command":"/s/agentd-hook y"}]}`, `{"command":"/s/agentd-hook","args":["z"]}`, `7`})
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"Before", "After", "End"}
		hooks := func() string {
			return list(t, "{", "}", 0, func(i int) string {
				return `"` + names[i] + `":` + list(t, "[", "]", 0, func(int) string { return handler.Draw(t, "handler") })
			})
		}
		text := blank.Draw(t, "before") + list(t, "{", "}", 0, func(i int) string {
			if i == 1 {
				return `"hooks":` + hooks()
			}
			return `"k` + string(rune('a'+i)) + `":` + value(t, 0)
		}) + blank.Draw(t, "after")
		c := someClients[rapid.SampledFrom([]string{"grouped", "flat", "list"}).Draw(t, "client")]
		others := said(t, c, []byte(text))
		after, err := c.merge([]byte(text), someHandlers(c, "/state/agentd-hook"))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(others, said(t, c, after)); d != "" {
			t.Fatalf("others lost or gained by the install:\n%s\n%s\n->\n%s", d, text, after)
		}
		if n := strings.Count(string(after), "/state/agentd-hook"); n != 2 {
			t.Fatalf("%d handlers of ours\n%s", n, after)
		}
		removed, _, err := c.without(after)
		if err != nil {
			t.Fatalf("%v\n%s", err, after)
		}
		if d := cmp.Diff(others, said(t, c, removed)); d != "" || strings.Contains(string(removed), "/state/agentd-hook") {
			t.Fatalf("others lost or gained by the uninstall:\n%s\n%s\n->\n%s", d, after, removed)
		}
	})
}

// said is what a configuration says without us: JSON without comments, without our handlers and what they left
// empty.
func said(t *rapid.T, c Client, text []byte) any {
	root, err := parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var plain func(n *node) any
	plain = func(n *node) any {
		switch n.kind {
		case '{':
			out := map[string]any{}
			for i := range n.children {
				out[n.children[i].key] = plain(&n.children[i].value)
			}
			return out
		case '[':
			out := []any{}
			for i := range n.children {
				out = append(out, plain(&n.children[i].value))
			}
			return out
		}
		var v any
		if err := json.Unmarshal(text[n.start:n.end], &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := plain(root).(map[string]any)
	delete(all, "version")
	hooks, _ := all["hooks"].(map[string]any)
	for event, list := range hooks {
		var rest []any
		node := root.get("hooks", event)
		found, err := c.ours(text, node)
		if err != nil {
			t.Fatal(err)
		}
		for i, item := range list.([]any) {
			mine := false
			for _, p := range found {
				if p.item != i {
					continue
				}
				if p.alone {
					mine = true
					break
				}
				group := item.(map[string]any)["hooks"].([]any)
				var others []any
				for k, h := range group {
					if argv, _ := commandOf(&node.children[i].value.get("hooks").children[k].value); argv == nil {
						others = append(others, h)
					}
				}
				item.(map[string]any)["hooks"] = others
			}
			if !mine {
				rest = append(rest, item)
			}
		}
		if hooks[event] = rest; len(rest) == 0 {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 {
		delete(all, "hooks")
	}
	return all
}

func TestLinesAreTakenApartAsTheyWerePutTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune(`ab '"\$/é`+"`"))), 1, 4).Draw(t, "words")
		if d := cmp.Diff(in, words(Line(in))); d != "" {
			t.Fatal(d)
		}
	})
}
