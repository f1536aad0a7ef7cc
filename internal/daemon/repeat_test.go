package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/internal/client"
)

// TestEveryEventTwiceHasOneAnswer: whatever hooks say, of whichever client's event, hearing it once more lets nobody
// through and holds nobody back.
func TestEveryEventTwiceHasOneAnswer(t *testing.T) {
	for _, say := range []string{`ctx.nothing`, `reject("no")`, `stop("enough")`, `ask("really?")`, `proceed("go on")`} {
		verb, _, _ := strings.Cut(say, "(")
		v, named := hookpoints.ParseVerb(verb)
		var script strings.Builder
		fmt.Fprintf(&script, "def say(ctx, call):\n    return %s\n\n", say)
		for i, p := range hookpoints.Standard().All() {
			if !p.Observation && (!named || p.Allows.Has(v)) {
				fmt.Fprintf(&script, "hook(id = \"h%d\", version = \"1\", run = say, point = %q)\n", i, p.Name)
			}
		}
		l := newLab(t)
		l.unreplayable = "a hook of it failed"
		l.project("hooks/h.star", script.String())
		h := l.published()
		for _, name := range client.Names() {
			files, err := os.ReadDir(filepath.Join("../../testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join("../../testdata", name, f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				event, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(f.Name(), ".json"), "pascal."), ".")
				if client.PointOf(name, event) == "session.start" || client.PointOf(name, event) == "session.end" { // once is enough
					continue
				}
				var said []string
				for range 2 {
					out, exit, err := h.Hook(t.Context(), name, event, text)
					if err != nil {
						t.Fatal(err)
					}
					said = append(said, fmt.Sprintf("exit %d %s", exit, out))
				}
				if said[0] != said[1] {
					t.Errorf("%s: %s/%s is answered\n%sand then\n%s", say, name, f.Name(), said[0], said[1])
				}
			}
		}
		h.stop()
	}
}
