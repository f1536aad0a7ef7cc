package daemon

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"agentd/internal/api"
)

var update = flag.Bool("update", false, "rewrite what the dialogues want")

// dialogues plays the sessions of a file. Each is a client's session: the project's hooks stand before it. Each line is an event as the
// client writes it, below it what it is answered, and after "ops:" what is recorded at the end.
func dialogues(t *testing.T, file string) {
	a, err := txtar.ParseFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	hooks := ""
	for i, f := range a.Files {
		if strings.HasSuffix(f.Name, ".star") {
			hooks = string(f.Data)
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			l := newLab(t)
			l.unreplayable = "a hook of it failed"
			l.project("hooks/h.star", hooks)
			h := l.published()
			got := play(t, h, string(f.Data))
			if *update {
				a.Files[i].Data = []byte(got)
			} else if d := cmp.Diff(string(f.Data), got); d != "" {
				t.Error(d)
			}
		})
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", file), txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// ahead is a clock that is ahead of the wall's.
type ahead time.Duration

// Now implements operation.Clock.
func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

// play plays the events of a session and writes down what comes back. "restart" is a daemon that is
// started anew, "an hour later" the same with another time, "client NAME" says whose events follow.
func play(t *testing.T, h *host, text string) string {
	var out strings.Builder
	client := "gemini"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			out.WriteString(line + "\n")
			continue
		}
		if name, ok := strings.CutPrefix(line, "client "); ok {
			client = name
			out.WriteString(line + "\n")
			continue
		}
		if line == "restart" || line == "an hour later" {
			h.stop()
			o := h.l.options()
			if line != "restart" {
				o.clock = ahead(time.Hour)
			}
			h = h.l.serve(o)
			out.WriteString(line + "\n")
			continue
		}
		if !strings.HasPrefix(line, "{") {
			continue
		}
		out.WriteString(line + "\n")
		got := h.hookOf(client, []byte(line))
		if got == "" {
			got = "(nothing)"
		}
		out.WriteString("  = " + got + "\n")
	}
	ops, err := h.Operations(t.Context(), api.OperationFilter{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("  ops:")
	for _, op := range ops {
		fmt.Fprintf(&out, " %s:%s", op.Kind, op.State)
	}
	out.WriteString("\n")
	list, err := UnheededBy(t.Context(), h.d.store.Reader, client, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list {
		fmt.Fprintf(&out, "  unheeded: %s %s: told %s, ran %s\n", u.Tool, u.What, u.Told, u.Ran)
	}
	return out.String()
}

func TestDialogues(t *testing.T) { dialogues(t, "dialogues.txtar") }
