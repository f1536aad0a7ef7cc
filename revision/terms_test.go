package revision_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
	"agentd/operation"
	"agentd/revision"
)

const claims = `
agents:
  default:
    model: {provider: openai, name: m, base_url: "http://127.0.0.1:1/v1", api_key_env: SECRET}
    confirm: allow
  calm:
    model: {provider: scripted}
facts: {allow: ["env:SECRET", "git.*"]}
grants: {act: [run, git.commit]}
webhooks: {allow: ["https://example.org/"]}
hooks:
  - {binding_id: more, hook_id: act, point: tool.before}
`

const acts = `
def act(ctx, call):
    return context("hello")

hook(id = "act", version = "v1", run = act, point = "tool.before", facts = ["git.head"], guard = False)
`

// apart notes that it was asked; else it is the engine that it wraps.
type apart struct {
	interp.Engine
	loaded *[]string
}

func (a apart) Load(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits) ([]interp.Definition, error) {
	*a.loaded = append(*a.loaded, src.Name)
	return a.Engine.Load(ctx, src, module, limits)
}

func under(t *testing.T, terms revision.Terms) (l *revision.Layer, isolated []string) {
	t.Helper()
	b := builder()
	b.Strange = revision.Engines{".star": apart{b.Engines[".star"], &isolated}}
	l, err := b.BuildUnder(t.Context(), hookpoints.Project, files(map[string]string{"agentd.yaml": claims, "hooks/act.star": acts}), nil, terms)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	return l, isolated
}

func TestOfAnUntrustedLayerOnlyHooksAreTaken(t *testing.T) {
	l, isolated := under(t, revision.Terms{Untrusted: true})
	if len(l.Bindings) != 1 || !slices.Equal(isolated, []string{"act.star"}) {
		t.Fatalf("bindings %v, isolated %v", l.Bindings, isolated)
	}
	if b := l.Bindings[0]; !b.Untrusted || b.FactKeys != nil || b.Grants != nil {
		t.Errorf("%+v", b)
	}
	if len(l.Config.Agents)+len(l.Config.Facts)+len(l.Config.Grants)+len(l.Config.Hooks) > 0 {
		t.Errorf("of its configuration counts %+v", l.Config)
	}
	if !slices.Equal(l.Ignored, []string{"all of agentd.yaml"}) {
		t.Errorf("ignored %q", l.Ignored)
	}
}

func TestWithheldPowersDontCount(t *testing.T) {
	whole, _ := under(t, revision.Terms{})
	powers := whole.Config.Powers()
	want := []string{"agent default: confirm allow", "agent default: key SECRET to http://127.0.0.1:1/v1", "fact env:SECRET", "fact git.*", "grant act: git.commit", "grant act: run", "webhook https://example.org/"}
	if !slices.Equal(powers, want) {
		t.Fatalf("powers %q", powers)
	}
	for i, power := range powers {
		l, isolated := under(t, revision.Terms{Withheld: []string{power}})
		got := l.Config.Powers()
		want = slices.Delete(slices.Clone(powers), i, i+1)
		if !slices.Equal(got, want) || isolated != nil || !slices.Equal(l.Ignored, []string{power}) {
			t.Errorf("without %q: %q, ignored %q", power, got, l.Ignored)
		}
		if l.Bindings[0].Untrusted {
			t.Error("the hooks are trusted")
		}
	}
}

func TestAPowerCantHideInAnother(t *testing.T) {
	c, faults := revision.ParseConfig([]byte("facts: {allow: [\"a\\nfact env:SECRET\", \"b\\e[2K\\rc\", \"d\\u202ee\"]}\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := []string{`"fact a\nfact env:SECRET"`, `"fact b\x1b[2K\rc"`, `"fact d\u202ee"`}
	if got := c.Powers(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b := builder()
	l, err := b.BuildUnder(t.Context(), hookpoints.Project, files(map[string]string{"agentd.yaml": "facts: {allow: [\"a\\nb\"]}\n"}), nil, revision.Terms{Withheld: []string{`"fact a\nb"`}})
	if err != nil || len(l.Config.Facts) > 0 {
		t.Errorf("%q, %v", l.Config.Facts, err)
	}
}

// What was built under terms is built under the same ones again, wherever it comes from.
func TestTermsArePartOfTheRevision(t *testing.T) {
	ids := map[string]string{}
	for name, terms := range map[string]revision.Terms{"all": {}, "none": {Untrusted: true}, "some": {Withheld: []string{"grant act: run", "fact git.*"}}, "others": {Withheld: []string{"grant act: run"}}} {
		l, _ := under(t, terms)
		if other, twice := ids[l.ID]; twice {
			t.Errorf("%s and %s have one id", name, other)
		}
		ids[l.ID] = name
		got, err := revision.TermsOf(l.Manifest)
		slices.Sort(terms.Withheld)
		if err != nil || got.Untrusted != terms.Untrusted || !slices.Equal(got.Withheld, terms.Withheld) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		b := builder()
		kept := shelf{}
		if err := kept.Keep(t.Context(), l.Freeze("", "", time.Time{}, false)); err != nil {
			t.Fatal(err)
		}
		p := &revision.Planner{Builder: b, Source: kept, Clock: clock{}}
		g, err := p.Generation(t.Context(), operation.Triple{Project: l.ID})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := g.Layers[0]; got.Bindings[0].Untrusted != terms.Untrusted || !slices.Equal(got.Config.Powers(), l.Config.Powers()) {
			t.Errorf("%s comes back with %q", name, got.Config.Powers())
		}
	}
}

func TestWhatIsntAcceptedIsntLoaded(t *testing.T) {
	l, _ := under(t, revision.Terms{})
	kept := shelf{}
	if err := kept.Keep(t.Context(), l.Freeze("", "", time.Time{}, true)); err != nil {
		t.Fatal(err)
	}
	refuse := func(_ context.Context, r *revision.Revision) error { return revision.ErrSignature }
	p := &revision.Planner{Builder: &revision.Builder{}, Source: kept, Clock: clock{}, Accept: refuse} // a builder that could load nothing
	if _, err := p.Generation(t.Context(), operation.Triple{Project: l.ID}); err == nil || !strings.Contains(err.Error(), revision.ErrSignature.Error()) {
		t.Error(err)
	}
}

func TestATreeHashCoversEveryByte(t *testing.T) {
	base := map[string]string{"agentd.yaml": "# a\n", "hooks/a.star": "x = 1\n", "hooks/a_test.star": "y = 1\n"}
	seen := map[string]string{}
	for name, texts := range map[string]map[string]string{
		"as it is": base, "a comment": {"agentd.yaml": "# b\n", "hooks/a.star": "x = 1\n", "hooks/a_test.star": "y = 1\n"},
		"a test":         {"agentd.yaml": "# a\n", "hooks/a.star": "x = 1\n", "hooks/a_test.star": "y = 2\n"},
		"another name":   {"agentd.yaml": "# a\n", "hooks/b.star": "x = 1\n", "hooks/a_test.star": "y = 1\n"},
		"one less":       {"agentd.yaml": "# a\n", "hooks/a.star": "x = 1\n"},
		"names swapped":  {"agentd.yaml": "# a\n", "hooks/a_test.star": "x = 1\n", "hooks/a.star": "y = 1\n"},
		"none":           {},
		"a line in name": {"agentd.yaml": "# a\n", "hooks/a.star": "x = 1\n", "hooks/a_test.star\n": "y = 1\n"},
	} {
		h := revision.TreeHash(files(texts))
		if other, twice := seen[h]; twice {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

// Whatever a project that nobody trusts calls its hooks and says about others, those below it stay as they are.
func TestAnUntrustedLayerTouchesNothingBelowIt(t *testing.T) {
	script := func(id, extra string) string {
		return "def run(ctx, call):\n    return None\n\nhook(id = \"" + id + "\", version = \"v1\", run = run, point = \"tool.before\"" + extra + ")\n"
	}
	b := builder()
	build := func(which hookpoints.Layer, texts map[string]string, below []*revision.Layer, terms revision.Terms) *revision.Layer {
		t.Helper()
		l, err := b.BuildUnder(t.Context(), which, files(texts), below, terms)
		if err == nil {
			err = l.Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	shipped := build(hookpoints.Shipped, map[string]string{"hooks/a.star": script("a", ", priority = 50, guard = True") + script("b", "")[strings.Index(script("b", ""), "hook("):]}, nil, revision.Terms{})
	user := build(hookpoints.User, map[string]string{"hooks/a.star": script("a", ", priority = 500")}, []*revision.Layer{shipped}, revision.Terms{})
	below := []*revision.Layer{shipped, user}
	yaml := "hooks:\n"
	for _, id := range []string{"shipped/a", "shipped/b", "user/a"} {
		yaml += "  - {binding_id: " + id + ", enabled: false}\n  - {binding_id: " + id + ", priority: 9000, config: {x: 1}}\n"
	}
	project := build(hookpoints.Project, map[string]string{"agentd.yaml": yaml, "hooks/a.star": script("a", ", priority = -1") + script("b", ", priority = -1")[strings.Index(script("b", ""), "hook("):]}, below, revision.Terms{Untrusted: true})
	if len(project.Disables)+len(project.Replaces) > 0 {
		t.Errorf("it disables %v and replaces %v", project.Disables, project.Replaces)
	}
	list := func(layers []*revision.Layer, part hookpoints.Part) (ids []string) {
		c := revision.Compose(b.Points, clock{}, layers).Table.Chain("tool.before", hookpoints.Scope{Key: hookpoints.Key{Purpose: "action", Instance: hookpoints.Main}})
		for _, x := range c.Bindings(part) {
			ids = append(ids, x.BindingID+" "+x.Config.String())
		}
		return ids
	}
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		before, after := list(below, part), list([]*revision.Layer{shipped, user, project}, part)
		if len(before) == 0 || !slices.Equal(after[:len(before)], before) {
			t.Errorf("%s: before %q, after %q", part, before, after)
		}
	}
	if got := list([]*revision.Layer{shipped, user, project}, hookpoints.Ordinary); len(got) != 4 || got[2] != "project/a {}" {
		t.Errorf("the project's own come last: %q", got)
	}
}
