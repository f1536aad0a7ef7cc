package agentd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/revision"
)

const readme = "README.md"

// pages are README and all pages of docs, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	out := map[string]string{}
	for _, name := range append(names, readme) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(name)] = string(text)
	}
	return out
}

var (
	fenced  = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noLabel = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the places of a page that a link can name, as GitHub makes them.
func anchors(text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out = append(out, strings.ReplaceAll(noLabel.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

func TestLinksOfThePagesLeadSomewhereAndToEachPage(t *testing.T) {
	all := pages(t)
	next, seen := []string{readme}, map[string]bool{readme: true}
	for len(next) > 0 {
		page := next[0]
		next = next[1:]
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(all[page], ""), -1) {
			to, place, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, ":") {
				continue // an address
			}
			file := page
			if to != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(page), to))
			}
			text, isPage := all[file]
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link %s leads nowhere: %v", page, m[1], err)
			} else if place != "" && (!isPage || !slices.Contains(anchors(text), place)) {
				t.Errorf("%s: the link %s leads to no heading", page, m[1])
			}
			if isPage && !seen[file] {
				seen[file] = true
				next = append(next, file)
			}
		}
	}
	for page := range all {
		if !seen[page] {
			t.Errorf("no link leads from %s to %s", readme, page)
		}
	}
}

// Each script that a page shows loads by itself, in the layer of whoever tries it out. One with tests is tried with
// the first script of its language on the page beside it, which is what it tests.
func TestTheScriptsOfThePagesLoad(t *testing.T) {
	ends := map[string]string{"python": ".star", "lua": ".lua"}
	scripts, tests := 0, 0
	for page, text := range pages(t) {
		first := map[string]string{}
		for i, m := range fenced.FindAllStringSubmatch(text, -1) {
			end, script := ends[m[1]], m[2]
			if end == "" || !strings.Contains(script, "def ") && !strings.Contains(script, "function") {
				continue // another language, or calls one by one
			}
			if first[end] == "" {
				first[end] = script
			}
			files := []revision.File{{Path: "hooks/page" + end, Text: []byte(script)}}
			isTest := strings.Contains(script, "assert.")
			if isTest {
				files = []revision.File{{Path: "hooks/page" + end, Text: []byte(first[end])}, {Path: "hooks/page_test" + end, Text: []byte(script)}}
			}
			rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
			if err != nil {
				t.Fatal(err)
			}
			layer, err := rt.Build(t.Context(), hookpoints.Project, files, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := layer.Err(); err != nil {
				t.Errorf("%s, block %d: %v", page, i+1, err)
				continue
			}
			if scripts++; !isTest {
				continue
			}
			if _, err := rt.Serve(t.Context(), []*revision.Layer{layer}); err != nil {
				t.Fatal(err)
			}
			report, err := daemon.RunTests(t.Context(), rt, layer, files, daemon.TestOptions{})
			if err != nil || report.Passed == 0 || report.Failed > 0 {
				t.Errorf("%s, block %d: %+v, %v", page, i+1, report, err)
			}
			tests++
		}
	}
	if scripts < 25 || tests < 2 {
		t.Errorf("only %d scripts, %d of them tests", scripts, tests)
	}
}

// Each configuration that a page shows is taken, beside the hooks that the pages' configurations name.
func TestTheConfigurationsOfThePagesAreTaken(t *testing.T) {
	all := pages(t)
	script := func(page string) []byte {
		for _, m := range fenced.FindAllStringSubmatch(all[page], -1) {
			if m[1] == "python" {
				return []byte(m[2])
			}
		}
		t.Fatalf("%s has no script", page)
		return nil
	}
	n := 0
	for page, text := range all {
		for i, m := range fenced.FindAllStringSubmatch(text, -1) {
			if m[1] != "yaml" || strings.HasPrefix(m[2], "turns:") { // those are a scenario
				continue
			}
			n++
			files := []revision.File{{Path: "agentd.yaml", Text: []byte(m[2])},
				{Path: "hooks/clamp.star", Text: script("docs/hooks.md")}, {Path: "hooks/commit.star", Text: script("docs/effects.md")}}
			rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
			if err != nil {
				t.Fatal(err)
			}
			layer, err := rt.Build(t.Context(), hookpoints.Project, files, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := layer.Err(); err != nil {
				t.Errorf("%s, block %d: %v", page, i+1, err)
			}
			p := config.Places{UserConfig: t.TempDir(), UserState: t.TempDir(), StateDir: t.TempDir()}
			if err := os.WriteFile(filepath.Join(p.UserConfig, "agentd.yaml"), []byte(m[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := config.ReadLive(p, func(name string) string { return map[string]string{"HOME": p.UserState}[name] }); err != nil {
				t.Errorf("%s, block %d, as a user's: %v", page, i+1, err)
			}
			if strings.Contains(m[2], "open:") { // a project may not
				continue
			}
			p.Project = t.TempDir()
			if err := os.MkdirAll(filepath.Join(p.Project, config.Dir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(p.UserConfig, "agentd.yaml"), filepath.Join(p.Project, config.Dir, "agentd.yaml")); err != nil {
				t.Fatal(err)
			}
			if _, err := config.ReadLive(p, func(string) string { return "" }); err != nil {
				t.Errorf("%s, block %d, as a project's: %v", page, i+1, err)
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d configurations", n)
	}
}

// What README asks about its hook comes out as README says: the limit is cut to the hook's.
func TestTheHookOfReadmeDecidesWhatItIsAsked(t *testing.T) {
	text := pages(t)[readme]
	script := fenced.FindStringSubmatch(text)
	asked := regexp.MustCompile(`echo '(\{.*\})' \|`).FindStringSubmatch(text)
	if script == nil || asked == nil {
		t.Fatal("README has no script, or asks nothing")
	}
	rt, layer, _ := servedExamples(t, hookpoints.Project, []revision.File{{Path: "hooks/limit.star", Text: []byte(script[2])}})
	if err := layer.Err(); err != nil {
		t.Fatal(err)
	}
	call, err := payload.ParseString(asked[1])
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.Decide(t.Context(), rt.Serving(), agentd.DecideRequest{Point: "tool.before", Payload: call})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Payload.Get("arguments").String(); got != `{"path":"a.txt","limit":100}` {
		t.Errorf("%s of %s", got, asked[1])
	}
}

// The page names each key that configuration has: what a key that there isn't may have meant is said in the fault.
func TestThePageOfTheConfigurationNamesEachKey(t *testing.T) {
	page := pages(t)["docs/configuration.md"]
	known := regexp.MustCompile(`use one of ([a-z_, ]+)`)
	for _, wrong := range []string{"x: 1", "agents: {default: {x: 1}}", "agents: {default: {model: {x: 1}}}", "agents: {default: {model: {provider: scripted}, budget: {x: 1}}}",
		"hooks: [{binding_id: a, x: 1}]", "facts: {x: 1}", "webhooks: {x: 1}", "clients: {x: 1}", "log: {x: 1}", "questions: {x: 1}"} {
		rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
		if err != nil {
			t.Fatal(err)
		}
		layer, err := rt.Build(t.Context(), hookpoints.Project, []revision.File{{Path: "agentd.yaml", Text: []byte(wrong)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, f := range layer.Faults {
			if m := known.FindStringSubmatch(f.Error()); m != nil {
				keys = strings.Split(m[1], ", ")
			}
		}
		if len(keys) == 0 {
			t.Errorf("%s: no keys are named: %v", wrong, layer.Faults)
		}
		for _, key := range keys {
			if !regexp.MustCompile(`\b` + key + `\b(:|` + "`" + `)`).MatchString(page) {
				t.Errorf("%s: the page doesn't name the key %s", wrong, key)
			}
		}
	}
}

// The page of the hooks names each argument that hook takes.
func TestThePageOfTheHooksNamesEachArgument(t *testing.T) {
	page := pages(t)["docs/hooks.md"]
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	script := "def f(ctx, call):\n    return None\n\nhook(id = 'a', version = 'v1', run = f, nothing = 1)\n"
	layer, err := rt.Build(t.Context(), hookpoints.Project, []revision.File{{Path: "hooks/a.star", Text: []byte(script)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fault := regexp.MustCompile(`there is no argument nothing, want ([a-z_, ]+)`)
	m := fault.FindStringSubmatch(layer.Err().Error())
	if m == nil {
		t.Fatalf("no arguments are named: %v", layer.Err())
	}
	for _, name := range strings.Split(m[1], ", ") {
		if !regexp.MustCompile(`(?m)^\|.*` + "`" + name + "`" + `.*\|`).MatchString(page) {
			t.Errorf("the page doesn't name the argument %s", name)
		}
	}
}
