package revision_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

var tree = map[string]string{
	"hooks/limit.star": `load("//lib/m.star", "least")
def clamp(ctx, call):
    return patch(arguments = call.arguments | {"limit": max(least, ctx.config.max)})

hook(id = "limit", version = "v1", run = clamp, point = "tool.before", default = {"max": 100, "rate": 0.5},
     config = {"type": "object", "required": ["max"], "properties": {"max": {"type": "integer"}}})
`,
	"hooks/lib/m.star": "least = 1\n",
	"hooks/lib/n.star": "unused = 1\n",
	"hooks/watch.star": `hook(id = "watch", version = "v1", run = lambda ctx, call: None, observation = True, point = ["tool.after", "run.after"])` + "\n",
	"agentd.yaml": `agents:
  default: {model: {provider: scripted, file: a.yaml}, tools: [shell, read_file], confirm: ask}
hooks:
  - {binding_id: limit, config: {max: 5, rate: 1.5}, priority: 10}
  - {binding_id: more, hook_id: limit, point: tool.before, targets: [b, a]}
  - {binding_id: off, hook_id: watch, enabled: false}
facts: {allow: ["git.*"]}
grants: {limit: [git.commit]}
`,
}

// change returns the tree with one text replaced within one file, which must hold it.
func change(t *testing.T, file, old, with string) map[string]string {
	t.Helper()
	out := maps.Clone(tree)
	if !strings.Contains(out[file], old) {
		t.Fatalf("%s doesn't hold %q", file, old)
	}
	out[file] = strings.Replace(out[file], old, with, 1)
	return out
}

func with(file, text string) map[string]string {
	out := maps.Clone(tree)
	out[file] = text
	return out
}

func TestTheSameTreeHasTheSameID(t *testing.T) {
	want := build(t, builder(), hookpoints.Project, tree).ID
	list := files(tree)
	for range list { // every order of files, by turning them round
		list = append(list[1:], list[0])
		mixed := slices.Clone(list)
		slices.Reverse(mixed)
		for _, order := range [][]revision.File{list, mixed} {
			l, err := builder().Build(t.Context(), hookpoints.Project, order, nil)
			if err != nil || l.ID != want {
				t.Fatalf("%.12s, want %.12s: %v %v", l.ID, want, err, l.Err())
			}
		}
	}
	for name, texts := range map[string]map[string]string{
		"comments":                      with("agentd.yaml", "# about\n\n"+tree["agentd.yaml"]+"\n# end\n"),
		"live keys":                     with("agentd.yaml", tree["agentd.yaml"]+"listen: 127.0.0.1:7777\nlog: {level: debug}\nstore: {key_file: k}\nquestions: {timeout: 1h}\nallow_unconfined: true\nrequire_signature: [k]\n"),
		"the order of keys in a config": change(t, "agentd.yaml", "{max: 5, rate: 1.5}", "{rate: 1.5, max: 5}"),
		"another way to write a number": change(t, "agentd.yaml", "max: 5, rate: 1.5", "max: 5.0, rate: 15e-1"),
		"another way to write a list":   change(t, "agentd.yaml", "[shell, read_file]", "[ \"shell\", 'read_file' ]"),
		"the order of targets":          change(t, "agentd.yaml", "[b, a]", "[a, b, a]"),
		"an alias":                      change(t, "agentd.yaml", "tools: [shell, read_file]", "tools: &x [shell, read_file]"),
		"tests":                         with("hooks/limit_test.star", "def test_x():\n    pass\n"),
	} {
		if got := build(t, builder(), hookpoints.Project, texts).ID; got != want {
			t.Errorf("%s change the id", name)
		}
	}
}

func TestWhatDecidesHowALayerBehavesIsInItsID(t *testing.T) {
	seen := map[string]string{build(t, builder(), hookpoints.Project, tree).ID: "the tree itself"}
	see := func(name, id string) {
		t.Helper()
		if was := seen[id]; was != "" {
			t.Errorf("%s has the id of %s", name, was)
		}
		seen[id] = name
	}
	for name, texts := range map[string]map[string]string{
		"a comment in a script":   change(t, "hooks/limit.star", "def clamp", "# x\ndef clamp"),
		"a version":               change(t, "hooks/limit.star", "v1", "v2"),
		"a module":                change(t, "hooks/lib/m.star", "1", "2"),
		"a module nobody loads":   change(t, "hooks/lib/n.star", "1", "2"),
		"a default":               change(t, "hooks/limit.star", `"max": 100`, `"max": 101`),
		"a schema":                change(t, "hooks/limit.star", "integer", "number"),
		"a point":                 change(t, "hooks/watch.star", "run.after", "model.chat.after"),
		"the order of points":     change(t, "hooks/watch.star", `"tool.after", "run.after"`, `"run.after", "tool.after"`),
		"a config":                change(t, "agentd.yaml", "max: 5", "max: 6"),
		"a key of a config":       change(t, "agentd.yaml", "rate: 1.5", "rat: 1.5"),
		"the order of a list":     change(t, "agentd.yaml", "[shell, read_file]", "[read_file, shell]"),
		"a priority":              change(t, "agentd.yaml", "priority: 10", "priority: 11"),
		"a timeout":               change(t, "agentd.yaml", "priority: 10", "priority: 10, timeout: 2s"),
		"purposes":                change(t, "agentd.yaml", "priority: 10", "priority: 10, purposes: [action]"),
		"instances":               change(t, "agentd.yaml", "priority: 10", "priority: 10, instances: [main]"),
		"kinds":                   change(t, "agentd.yaml", "priority: 10", "priority: 10, kinds: [shell]"),
		"clients":                 change(t, "agentd.yaml", "priority: 10", "priority: 10, clients: [gemini]"),
		"targets":                 change(t, "agentd.yaml", "[b, a]", "[b]"),
		"a binding_id":            change(t, "agentd.yaml", "binding_id: more", "binding_id: most"),
		"what is switched off":    change(t, "agentd.yaml", "binding_id: off", "binding_id: watch"),
		"a model":                 change(t, "agentd.yaml", "a.yaml", "b.yaml"),
		"a policy":                change(t, "agentd.yaml", "confirm: ask", "confirm: deny"),
		"steps":                   change(t, "agentd.yaml", "confirm: ask", "confirm: ask, max_steps: 3"),
		"a budget":                change(t, "agentd.yaml", "confirm: ask", "confirm: ask, budget: {tokens: 5}"),
		"an agent's name":         change(t, "agentd.yaml", "default:", "other:"),
		"facts":                   change(t, "agentd.yaml", "git.*", "git.head"),
		"grants":                  change(t, "agentd.yaml", "git.commit", "notify"),
		"a hook less":             change(t, "hooks/watch.star", `, point = ["tool.after", "run.after"]`, ""),
		"a file more":             with("hooks/more.star", "x = 1\n"),
		"a folder":                with("hooks/sub/watch.star", "x = 1\n"),
		"the order of entries":    change(t, "agentd.yaml", "  - {binding_id: limit", "  - {binding_id: zero, hook_id: limit, point: tool.before}\n  - {binding_id: limit"),
		"a failure policy":        change(t, "hooks/watch.star", "observation = True", `observation = True, failure_policy = "continue"`),
		"background":              change(t, "hooks/watch.star", "observation = True", "observation = True, background = True"),
		"isolation":               change(t, "hooks/watch.star", "observation = True", "observation = True, isolate = True"),
		"a stream":                change(t, "hooks/watch.star", "observation = True", `observation = True, stream = "provisional"`),
		"the name of state":       change(t, "hooks/watch.star", "observation = True", `observation = True, state = "s"`),
		"the scope of state":      change(t, "hooks/watch.star", "observation = True", `observation = True, state = {"scope": "project"}`),
		"facts of a hook":         change(t, "hooks/watch.star", "observation = True", `observation = True, facts = ["git.head"]`),
		"a guard":                 change(t, "hooks/limit.star", `version = "v1"`, `version = "v1", guard = True`),
		"without a configuration": without("agentd.yaml"),
	} {
		see(name, build(t, builder(), hookpoints.Project, texts).ID)
	}
	see("another layer", build(t, builder(), hookpoints.User, tree).ID)
	b := builder()
	b.Limits.Fuel++
	see("another limit", build(t, b, hookpoints.Project, tree).ID)
	b = builder()
	b.Engines = revision.Engines{".star": other{b.Engines[".star"]}}
	see("another interpreter", build(t, b, hookpoints.Project, tree).ID)
}

func without(file string) map[string]string {
	out := maps.Clone(tree)
	delete(out, file)
	return out
}

func TestAManifestIsCanonicalAndNamesWhatItFroze(t *testing.T) {
	l := build(t, builder(), hookpoints.Project, tree)
	again, err := revision.Canonical(parse(t, string(l.Manifest)))
	if err != nil || string(again) != string(l.Manifest) {
		t.Errorf("the manifest isn't canonical: %v", err)
	}
	sum := sha256.Sum256(l.Manifest)
	if l.ID != hex.EncodeToString(sum[:]) || l.ID != revision.ID(l.Manifest) {
		t.Error("the id isn't the hash of the manifest")
	}
	m := parse(t, string(l.Manifest))
	entry := m.Get("bindings").At(2)
	keys := []string{}
	for k := range entry.Members() {
		keys = append(keys, k)
	}
	base := []string{"binding_id", "hook_id", "point", "version", "priority", "timeout", "failure_policy", "config", "purposes", "instances", "targets", "config_schema", "code_hash", "replay_safe", "observation", "point_contract", "order"}
	for _, k := range base {
		if !slices.Contains(keys, k) {
			t.Errorf("a binding lacks %s", k)
		}
	}
	for path, want := range map[string]string{
		"binding_id": `"project/limit"`, "config": `{"max":5,"rate":1.5}`, "priority": `10`, "timeout": `1`, "purposes": `null`, "targets": `[]`, "replay_safe": `true`, "order": `2`,
		"state": `{"cell":"project/limit","scope":"session"}`, "contract": `2`,
	} {
		if got := entry.Get(path).String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if got := entry.Get("point_contract").Get("schema").String(); !strings.Contains(got, `"additionalProperties":false`) {
		t.Errorf("the contract isn't closed: %s", got)
	}
	for path, want := range map[string]string{
		"module_id": `"hooks/v1"`, "point_contract_version": `2`, "total_timeout": `10`, "layer": `"project"`, "disabled": `["project/off"]`, "facts": `["git.*"]`, "grants": `{"limit":["git.commit"]}`,
	} {
		if got := m.Get(path).String(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	if m.Get("scripts").Len() != 4 || m.Get("engines").Len() != 1 || m.Get("schedule").Text() == "" || m.Get("builtins").Text() == "" {
		t.Errorf("the manifest: %s", l.Manifest)
	}
	if strings.Contains(string(l.Manifest), "git.head") || strings.Contains(string(l.Manifest), "def clamp") {
		t.Error("the manifest holds code")
	}
	if l.Bindings[2].Config.String() != `{"max":5,"rate":1.5}` {
		t.Errorf("the hook sees the config %s", l.Bindings[2].Config)
	}
}

func parse(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCanonicalNumbersAreThoseThatEveryMachineWritesAlike(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":[1.0,15e-1,1e2,0.10,-0]}`:           `{"a":[1,1.5,100,0.1,0],"b":1}`,
		`[9007199254740992,-9007199254740992]`:          `[9007199254740992,-9007199254740992]`,
		`[1e21,1e-7,123456789.125]`:                     `[1e+21,1e-7,123456789.125]`,
		`{"\u00e9":"\u20ac","a":"\/","\ud83d\ude00":1}`: `{"a":"/","é":"€","😀":1}`,
		`9007199254740993`:                              "",
		`[{"x":[-9007199254740993]}]`:                   "",
		`123456789012345678901234567890`:                "",
		`{"a":1e400}`:                                   "",
		`-1e400`:                                        "",
	} {
		got, err := revision.Canonical(parse(t, text))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is written as %s", text, got)
		case want != "" && (err != nil || string(got) != want):
			t.Errorf("%s is written as %s %v, want %s", text, got, err, want)
		}
	}
}

func TestTheCodeHashCoversTheFileAndItsModules(t *testing.T) {
	hash := func(texts map[string]string, id string) string {
		for b := range parse(t, string(build(t, builder(), hookpoints.Project, texts).Manifest)).Get("bindings").Items() {
			if b.Get("binding_id").Text() == "project/"+id {
				return b.Get("code_hash").Text()
			}
		}
		t.Fatalf("no binding %s", id)
		return ""
	}
	limit, watch := hash(tree, "limit"), hash(tree, "watch")
	if limit == watch || !strings.HasPrefix(limit, "sha256:") || hash(tree, "more") != limit {
		t.Errorf("hashes %s and %s", limit, watch)
	}
	for name, texts := range map[string]map[string]string{
		"the file":              change(t, "hooks/limit.star", "def clamp", "# x\ndef clamp"),
		"its module":            change(t, "hooks/lib/m.star", "1", "2"),
		"a module nobody loads": change(t, "hooks/lib/n.star", "1", "2"),
		"a config":              change(t, "agentd.yaml", "max: 5", "max: 6"),
	} {
		want := name == "the file" || name == "its module"
		if got := hash(texts, "limit") != limit; got != want {
			t.Errorf("%s changes the hash: %v, want %v", name, got, want)
		}
		if hash(texts, "watch") != watch {
			t.Errorf("%s changes the hash of another file", name)
		}
	}
	// Two layers may have files of one name: the hash is of the layer that the hook is from.
	base := build(t, builder(), hookpoints.Shipped, map[string]string{"hooks/a.star": `hook(id = "h", version = "v1", run = lambda ctx, call: None, point = "tool.before")` + "\n"})
	user := build(t, builder(), hookpoints.User, map[string]string{
		"hooks/a.star": "x = 1\n", "agentd.yaml": "hooks: [{binding_id: shipped/h, priority: 5}]\n",
	}, base)
	one, two := parse(t, string(base.Manifest)).Get("bindings").At(0).Get("code_hash"), parse(t, string(user.Manifest)).Get("bindings").At(0).Get("code_hash")
	if one.Text() != two.Text() {
		t.Errorf("the same code has the hashes %s and %s", one, two)
	}
}

func TestDiffNamesWhatChangedByPath(t *testing.T) {
	was := build(t, builder(), hookpoints.Project, tree)
	for name, c := range map[string]struct {
		texts map[string]string
		want  []string
	}{
		"nothing":       {tree, nil},
		"a config":      {change(t, "agentd.yaml", "max: 5", "max: 6"), []string{"bindings.project/limit@tool.before.config.max: 5 -> 6"}},
		"a binding":     {change(t, "agentd.yaml", "binding_id: more", "binding_id: most"), []string{"bindings.project/more@tool.before: gone", "bindings.project/most@tool.before: new"}},
		"a model":       {change(t, "agentd.yaml", "a.yaml", "b.yaml"), []string{`agents.default.model.file: "a.yaml" -> "b.yaml"`}},
		"an entry more": {change(t, "agentd.yaml", "  - {binding_id: limit", "  - {binding_id: zero, hook_id: limit, point: tool.before}\n  - {binding_id: limit"), []string{"bindings.project/zero@tool.before: new"}},
		"grants":        {change(t, "agentd.yaml", "[git.commit]", "[git.commit, notify]"), []string{`grants.limit: ["git.commit"] -> ["git.commit","notify"]`}},
	} {
		changes, err := revision.Diff(was.Manifest, build(t, builder(), hookpoints.Project, c.texts).Manifest)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			switch {
			case !c.Before.Exists():
				got = append(got, c.Path+": new")
			case !c.After.Exists():
				got = append(got, c.Path+": gone")
			default:
				got = append(got, c.Path+": "+c.Before.String()+" -> "+c.After.String())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	script := change(t, "hooks/watch.star", "v1", "v2")
	changes, err := revision.Diff(was.Manifest, build(t, builder(), hookpoints.Project, script).Manifest)
	if err != nil || len(changes) != 5 || changes[4].Path != "scripts.hooks/watch.star.sha256" {
		t.Errorf("%v %v", changes, err)
	}
	for _, bad := range [][2]string{{"{", "{}"}, {"{}", "["}} {
		if _, err := revision.Diff([]byte(bad[0]), []byte(bad[1])); err == nil {
			t.Errorf("%q and %q have a difference", bad[0], bad[1])
		}
	}
}

func TestAManifestForPeopleIsTheSameManifest(t *testing.T) {
	l := build(t, builder(), hookpoints.Project, tree)
	text, err := revision.Describe(l.Manifest)
	if err != nil || !strings.Contains(string(text), "\n  \"agents\": {") {
		t.Fatalf("%s %v", text, err)
	}
	back, err := revision.Canonical(parse(t, string(text)))
	if err != nil || string(back) != string(l.Manifest) {
		t.Errorf("read back it is another: %v", err)
	}
}

func TestLimitsAreFrozen(t *testing.T) {
	l := build(t, builder(), hookpoints.Project, tree)
	limits := parse(t, string(l.Manifest)).Get("limits")
	if n, _ := limits.Get("fuel").Int64(); n != meter.Default.Fuel {
		t.Errorf("fuel %d", n)
	}
	if n, _ := limits.Get("payload").Int64(); n != hookpoints.MaxPayload {
		t.Errorf("payload %d", n)
	}
}
