package install

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzConfigurations: whatever a client's configuration is, it is refused or changed in a way that can be read,
// done once and undone.
func FuzzConfigurations(f *testing.F) {
	for _, s := range []string{"", "{}", "{ }", "{\n}", "// a\n{}\n// b", `{"hooks":{}}`, "{\"hooks\":{\"Before\":[\n{\"hooks\":[{\"command\":\"/s/agentd-hook x\"},]}]}}", `{"hooks":{"Before":[{"command":"'/a b/agentd-hook' y"},/**/{}]},"a":1,}`,
		"\ufeff{\"a\":[1,2 , 3]}", "{\r\n\t\"a\": 1\r\n}", `{"hooks":{"End":[]}, "version": 2}`, "{\"a\":1 // x\n}", "{\"a\":1, /* x */ \"hooks\": {\"Gone\":[{\"command\":\"/s/agentd-hook\"}] /* y */ } }"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, c := range someClients {
			want := someHandlers(c, "/state/agentd-hook")
			after, err := c.merge(text, want)
			if err != nil {
				continue
			}
			if _, err := parse(after); err != nil {
				t.Fatalf("%s: %v\n%s\n->\n%s", name, err, text, after)
			}
			again, err := c.merge(after, want)
			if err != nil || !bytes.Equal(again, after) {
				t.Fatalf("%s: done again it isn't the same: %v\n%s\n->\n%s", name, err, after, again)
			}
			removed, _, err := c.without(after)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, after)
			}
			root, hooks, err := open(removed)
			if err != nil {
				t.Fatalf("%s: %v\n%s\n->\n%s", name, err, after, removed)
			}
			for _, m := range members(hooks) {
				if found, err := c.ours(removed, &m.value); err == nil && len(found) > 0 {
					t.Fatalf("%s: ours is left\n%s", name, removed)
				}
			}
			if root.kind != '{' || strings.Contains(string(removed), "/state/agentd-hook") && !strings.Contains(string(text), "/state/agentd-hook") {
				t.Fatalf("%s: ours is left\n%s", name, removed)
			}
		}
	})
}
