package agentd_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"agentd/hookpoints"
	"agentd/revision"
)

// A conformance case is a file NUMBER.txtar of testdata/conformance. Its comment says what must hold;
// a paragraph that begins with "differs: " says where and why agentd does otherwise on purpose, and
// then that is what the case checks. The files:
//
//	LAYER/PATH            a file of a layer: shipped, user or project
//	VERSION/LAYER/PATH    the same, for the step "serve: VERSION"
//	NAME.yaml             a scenario, with a store of its own; see scenarioSpec
type conformanceCase struct {
	number    int
	says      string
	differs   string
	files     map[string]map[hookpoints.Layer][]revision.File // by version, "" is what serves first
	scenarios []part
}

type part struct {
	name string
	text string
}

// scenarioSpec is a scenario: what there is, then steps. Each step is a process of its own over the
// same store, so every second one is a resume.
type scenarioSpec struct {
	// Each makes the scenario a table: in each row $KEY, here and in the files, stands for the value.
	Each []map[string]string `yaml:"each"`
	// Host is the hooks of a host in Go, see puppet.
	Host []puppet `yaml:"host"`
	// Operations are what a step can do, by id.
	Operations map[string]actionSpec `yaml:"operations"`
	// Model is what the model answers, request by request, over all steps.
	Model []modelReply `yaml:"model"`
	// Tools are offered to the model beside the agent's own.
	Tools []toolSpec `yaml:"tools"`
	Steps []stepSpec `yaml:"steps"`
}

var updatePages = flag.Bool("update", false, "rewrite docs/conformance.md")

// covered are the numbers that must be there.
func covered() (out []int) {
	for _, span := range [][2]int{{1, 1}, {3, 7}, {9, 48}, {52, 56}, {58, 58}, {60, 61}, {63, 77}, {89, 92}} {
		for n := span[0]; n <= span[1]; n++ {
			out = append(out, n)
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	cases := readConformance(t)
	var numbers []int
	for _, c := range cases {
		numbers = append(numbers, c.number)
	}
	if !slices.Equal(numbers, covered()) {
		t.Errorf("there are cases %v, want %v", numbers, covered())
	}
	page := conformancePage(cases)
	const file = "docs/conformance.md"
	if *updatePages {
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if had, err := os.ReadFile(file); err != nil || !bytes.Equal(had, page) {
		t.Errorf("%s isn't what the cases say (%v); go test . -run TestConformance -update writes it", file, err)
	}
	for _, c := range cases {
		t.Run(strconv.Itoa(c.number), func(t *testing.T) {
			t.Parallel()
			for _, s := range c.scenarios {
				t.Run(s.name, func(t *testing.T) { c.play(t, s) })
			}
		})
	}
}

func readConformance(t *testing.T) (cases []conformanceCase) {
	t.Helper()
	files, err := filepath.Glob("testdata/conformance/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := conformanceCase{files: map[string]map[hookpoints.Layer][]revision.File{}}
		if c.number, err = strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".txtar")); err != nil {
			t.Fatalf("%s is named by no number", file)
		}
		c.says, c.differs, _ = strings.Cut(strings.TrimSpace(string(ar.Comment)), "\ndiffers: ")
		c.says = strings.TrimSpace(c.says)
		for _, f := range ar.Files {
			if name, ok := strings.CutSuffix(f.Name, ".yaml"); ok && !strings.Contains(name, "/") {
				c.scenarios = append(c.scenarios, part{name, string(f.Data)})
				continue
			}
			version, rest := "", f.Name
			layer, path, _ := strings.Cut(rest, "/")
			which, ok := hookpoints.ParseLayer(layer)
			if !ok {
				version, rest, _ = strings.Cut(f.Name, "/")
				layer, path, _ = strings.Cut(rest, "/")
				which, ok = hookpoints.ParseLayer(layer)
			}
			if !ok || path == "" {
				t.Fatalf("%s: what is %s?", file, f.Name)
			}
			if c.files[version] == nil {
				c.files[version] = map[hookpoints.Layer][]revision.File{}
			}
			c.files[version][which] = append(c.files[version][which], revision.File{Path: path, Text: f.Data})
		}
		if c.says == "" || len(c.scenarios) == 0 {
			t.Fatalf("%s says nothing, or has no scenario", file)
		}
		cases = append(cases, c)
	}
	slices.SortFunc(cases, func(a, b conformanceCase) int { return cmp.Compare(a.number, b.number) })
	return cases
}

// play plays a scenario, or each row of its table.
func (c conformanceCase) play(t *testing.T, p part) {
	var table struct {
		Each []map[string]string `yaml:"each"`
	}
	if err := yaml.Unmarshal([]byte(p.text), &table); err != nil {
		t.Fatal(err)
	}
	if table.Each == nil {
		c.playRow(t, p, nil)
		return
	}
	for i, row := range table.Each {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) { c.playRow(t, p, row) })
	}
}

var placeholder = regexp.MustCompile(`\$[a-z_]+`)

func (c conformanceCase) playRow(t *testing.T, p part, row map[string]string) {
	fill := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(name string) string {
			if v, ok := row[name[1:]]; ok {
				return v
			}
			return name
		})
	}
	w := &world{t: t, dir: t.TempDir(), files: map[string]map[hookpoints.Layer][]revision.File{}, wall: standing{}.Now()}
	dec := yaml.NewDecoder(strings.NewReader(fill(p.text)))
	dec.KnownFields(true)
	if err := dec.Decode(&w.spec); err != nil {
		t.Fatalf("%s.yaml: %v", p.name, err)
	}
	for version, layers := range c.files {
		w.files[version] = map[hookpoints.Layer][]revision.File{}
		for layer, files := range layers {
			for _, f := range files {
				w.files[version][layer] = append(w.files[version][layer], revision.File{Path: f.Path, Text: []byte(fill(string(f.Text)))})
			}
		}
	}
	w.play()
}

// conformancePage is docs/conformance.md.
func conformancePage(cases []conformanceCase) []byte {
	var b bytes.Buffer
	b.WriteString(`# Conformance

What must hold of chains, operations and runs, as numbered cases. Each is a file of [testdata/conformance](../testdata/conformance),
which is played against the real chain, operation and store by ` + "`go test . -run TestConformance`" + `; those that need the agent's loop
run it. Every step of a case is a process of its own over the same store: what died before it, died at a named place between
two durable steps, inside of the test's process. What holds when real processes are killed is what ` + "`make crash`" + ` shows.
Actions, requests and calls of hooks are counted outside of the journal.

Contract v1 exists only as its hash. Numbers that are missing are about another interpreter, or about parts that agentd
doesn't have. Where agentd differs on purpose, the case says why and checks what agentd does.

This page is written by the test; don't edit it.

`)
	for _, c := range cases {
		fmt.Fprintf(&b, "**%d.** %s\n", c.number, c.says)
		if c.differs != "" {
			fmt.Fprintf(&b, "*Differs:* %s\n", strings.TrimSpace(c.differs))
		}
		b.WriteString("\n")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
