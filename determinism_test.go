package agentd_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

// hookSet is files that serve together.
type hookSet struct {
	name   string
	layers map[hookpoints.Layer][]revision.File
}

// hookSets are all hooks of the cases and the examples.
func hookSets(t *testing.T) (sets []hookSet) {
	t.Helper()
	for _, pattern := range []string{"testdata/conformance/*.txtar", "testdata/chain/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal("no cases", err)
		}
		for _, name := range names {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			set := hookSet{name, map[hookpoints.Layer][]revision.File{}}
			for _, f := range ar.Files {
				layer, path, _ := strings.Cut(f.Name, "/")
				if which, ok := hookpoints.ParseLayer(layer); ok && path != "" {
					set.layers[which] = append(set.layers[which], revision.File{Path: path, Text: f.Data})
				}
			}
			sets = append(sets, set)
		}
	}
	return append(sets, hookSet{"examples", map[hookpoints.Layer][]revision.File{hookpoints.Project: exampleFiles(t)}},
		hookSet{"examples in Lua", map[hookpoints.Layer][]revision.File{hookpoints.Project: luaFiles(t)}})
}

// inFreshState loads a set anew and asks every point that it has hooks at. What comes back may be compared: of
// what may differ, the time and the ids of layers, nothing is in it.
func (s hookSet) inFreshState(t *testing.T, backwards bool) (said []string, hooks int) {
	t.Helper()
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	b := *rt.Builder()
	b.Backwards = backwards
	b.Isolated = b.Engines
	var layers []*revision.Layer
	for _, which := range hookpoints.Layers() {
		l, err := b.Build(t.Context(), which, s.layers[which], slices.Clone(layers))
		if err != nil {
			t.Fatal(err)
		}
		if l.Err() != nil {
			said = append(said, fmt.Sprint(which, len(l.Faults))) // which of two is the second is a matter of order
			continue
		}
		layers = append(layers, l)
	}
	g := rt.Compose(layers)
	hooks = len(g.Table.Bindings())
	points := map[string]bool{}
	for _, bound := range g.Table.Bindings() {
		points[bound.Point] = true
	}
	for _, p := range rt.Points().All() {
		if !points[p.Name] {
			continue
		}
		for _, kind := range []string{"", "shell", "write"} {
			res, err := rt.Decide(t.Context(), g, agentd.DecideRequest{Point: p.Name, Payload: p.Example, Kind: kind, Granted: true})
			if err != nil {
				said = append(said, p.Name+" "+err.Error())
				continue
			}
			v, err := payload.From(res)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, p.Name+" "+changing.ReplaceAllString(v.String(), ""))
		}
	}
	return said, hooks
}

var changing = regexp.MustCompile(`"us":\d+,?|"revisions":\{[^}]*\},?`)

// TestEveryHookDecidesTheSameTwice runs all hooks that there are twice, in fresh states and with their files read
// in two orders: decisions, records, fuel and bytes are the same. make determinism does it in another time zone
// and language, and without cgo.
func TestEveryHookDecidesTheSameTwice(t *testing.T) {
	ran := 0
	for _, s := range hookSets(t) {
		first, hooks := s.inFreshState(t, false)
		second, _ := s.inFreshState(t, true)
		ran += hooks
		if err := same(first, second); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if ran < 200 {
		t.Errorf("only %d hooks ran", ran)
	}
}

func same(first, second []string) error {
	if len(first) != len(second) {
		return fmt.Errorf("%d and %d things were said", len(first), len(second))
	}
	var err error
	for i := range first {
		if first[i] != second[i] {
			err = errors.Join(err, fmt.Errorf("not the same twice:\n%s\n%s", first[i], second[i]))
		}
	}
	return err
}
