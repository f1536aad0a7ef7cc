package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/internal/config"
	"agentd/internal/worker"
)

// trust trusts the project's files as they lie there.
func (l *lab) trust() {
	l.t.Helper()
	t, err := LookAtTrust(l.t.Context(), l.places)
	if err == nil {
		err = TrustFiles(l.t.Context(), l.places, t, time.Unix(1, 0))
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestAChangedByteAnywhereAsksAgain(t *testing.T) {
	l := newLab(t)
	const yaml, hook, module, test = "agentd.yaml", "hooks/a.star", "hooks/lib/m.star", "hooks/a_test.star"
	l.project(yaml, "questions: {timeout: 1h}\n")
	l.project(hook, clamp(1))
	l.project(module, "x = 1\n")
	l.project(test, "y = 1\n")
	l.trust()
	path := func(name string) string { return filepath.Join(l.places.Project, config.Dir, name) }
	trusted := func() bool {
		t.Helper()
		got, err := LookAtTrust(t.Context(), l.places)
		if err != nil {
			t.Fatal(err)
		}
		return got.Trusted
	}
	for what, change := range map[string]func() (undo func()){
		"a comment in the configuration": rewrite(t, path(yaml), "questions: {timeout: 1h} #\n"),
		"a blank in a hook":              rewrite(t, path(hook), clamp(1)+" "),
		"a module":                       rewrite(t, path(module), "x = 2\n"),
		"a test":                         rewrite(t, path(test), "y = 2\n"),
		"another file":                   rewrite(t, path("hooks/b.star"), ""),
		"a file less":                    rewrite(t, path(module), "-"),
		"no configuration":               rewrite(t, path(yaml), "-"),
	} {
		undo := change()
		if trusted() {
			t.Errorf("%s: it is still trusted", what)
		}
		if undo(); !trusted() {
			t.Errorf("%s: taken back, it isn't trusted", what)
		}
	}
}

// rewrite changes a file, or removes it for "-", and says how to undo that.
func rewrite(t *testing.T, path, text string) func() func() {
	return func() func() {
		was, missing := os.ReadFile(path)
		err := os.Remove(path)
		if text != "-" {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			err := os.Remove(path)
			if missing == nil {
				err = os.WriteFile(path, was, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What a person approved when serve --dev began counts while it runs, and what an edit adds doesn't.
func TestUnderDevNewPowersDontCount(t *testing.T) {
	l := newLab(t)
	had := "facts: {allow: [git.head]}\n"
	l.project("agentd.yaml", had)
	l.project("hooks/a.star", clamp(1))
	o := l.options()
	o.Dev, o.Approved = true, &[]string{"fact git.head"}
	h := l.serve(o)
	status := func(want ...string) {
		t.Helper()
		s, err := h.Status(t.Context())
		if err != nil || len(s.Errors) > 0 || !slices.Equal(s.Ignored, want) || h.limit() != "1" {
			t.Errorf("ignored %q, want %q; errors %v, %v", s.Ignored, want, s.Errors, err)
		}
	}
	status()
	events := h.listen()
	l.project("agentd.yaml", had+`grants: {clamp: [git.commit]}
webhooks: {allow: ["https://example.org/"]}
agents:
  default:
    model: {provider: openai, name: m, base_url: "https://example.org/v1", api_key_env: SECRET}
    confirm: allow
`)
	l.project("hooks/a.star", strings.Replace(clamp(1), "hook(", `hook(effects = ["git.commit"], `, 1))
	events.until("generation.active")
	for {
		s, err := h.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Ignored) == 4 {
			break
		}
		events.until("generation.active") // the files were read between two writes
	}
	status("agent default: confirm allow", "agent default: key SECRET to https://example.org/v1", "grant clamp: git.commit", "webhook https://example.org/")
	for _, b := range h.d.rt.Serving().Table.Bindings() {
		if len(b.Grants) > 0 {
			t.Errorf("%s is granted %q", b.BindingID, b.Grants)
		}
	}
	a, err := h.d.rt.Serving().Agent("default")
	if err != nil || a.Confirm != "ask" || a.Model.BaseURL != "" || a.Model.APIKeyEnv != "" {
		t.Errorf("%+v, %v", a, err)
	}
}

// A revision that serves untrusted hooks is kept for the runs that are pinned to it. As a head it could only have
// been put there by somebody else.
func TestAHeadThatNobodyPublishedDoesntServe(t *testing.T) {
	if missing := worker.Missing(); len(missing) > 0 {
		t.Skipf("this machine can't build the walls %v", missing)
	}
	l := newLab(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l.places.Program = exe
	l.project("hooks/a.star", "def run(ctx, call):\n    return context(\"from far away\")\n\nhook(id = \"a\", version = \"v1\", run = run, point = \"tool.before\")\n")
	o := l.options()
	o.Dev = true
	h := l.serve(o)
	s, err := h.Status(t.Context())
	if err != nil || s.Hooks != 1 || s.Revisions.Project == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	h.stop()
	l.sql("INSERT INTO heads VALUES (" + string('0'+rune(hookpoints.Project)) + ", '" + s.Revisions.Project + "')")
	h = l.serve(l.options())
	if s, err = h.Status(t.Context()); err != nil || s.Hooks != 0 || len(s.Errors) > 0 || !strings.Contains(strings.Join(s.Notes, " "), "until then none of its hooks runs") {
		t.Errorf("%+v, %v", s, err)
	}
	if h.limit() != "5000" { // and it keeps nobody from deciding
		t.Error("it decides otherwise")
	}
}
