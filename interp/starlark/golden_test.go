package starlark_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
	"agentd/interp/starlark"
)

var updateGolden = flag.Bool("golden", false, "write testdata/golden.json anew")

// goldenFile is what hooks decided, and what they used, on some machine. Other machines, architectures,
// time zones and languages must come to the same: CI runs this test with and without cgo, with 32 and 64 bits.
const goldenFile = "testdata/golden.json"

// given is what a hook sees, by FILE HOOK, that the example of its point says nothing to.
var given = map[string]struct{ payload, facts string }{
	"budget_guard.star budget-wall": {facts: `{"budget":{"limit":1000,"used":1700,"left":0,"share":1.7}}`},
	"commit_after_checks.star checked": {payload: `{"name":"run","arguments":{"argv":["make","check"]},"status":"failed",
		"value":{"error":"exit code 1","exit_code":1,"stdout":"a_test: wrong\n","stderr":""}}`},
}

// goldenRow is one hook on the example of one of its points, or on what it is given.
type goldenRow struct {
	Hook  string   `json:"hook"` // FILE HOOK POINT
	Said  []string `json:"said,omitempty"`
	Keys  []string `json:"facts,omitempty"`
	Error string   `json:"error,omitempty"`
	Fuel  int64    `json:"fuel"`
	Bytes int64    `json:"bytes"`
}

func TestHooksComeToTheSameOnEveryMachine(t *testing.T) {
	var got []goldenRow
	for _, pattern := range []string{"../../docs/examples/hooks/*.star", "../../scripts/*.star"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.star") {
				got = append(got, goldenRows(t, name)...)
			}
		}
	}
	if len(got) < 8 {
		t.Fatalf("only %d hooks ran", len(got))
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *updateGolden {
		if err := os.WriteFile(goldenFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []goldenRow
	if err := json.Unmarshal(was, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks decide or use something else than recorded; if a script or the charges changed, go test ./interp/starlark -run EveryMachine -golden\n%s", diff)
	}
}

func goldenRows(t *testing.T, name string) (rows []goldenRow) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(name)
	defs, err := starlark.New().Load(t.Context(), interp.Source{Name: base, Text: text}, nil, meter.Default)
	if err != nil {
		return []goldenRow{{Hook: base, Error: err.Error()}}
	}
	points := hookpoints.Standard()
	for _, d := range defs {
		for _, point := range d.Points {
			rows = append(rows, goldenCall(t, base, d, points.Point(point)))
		}
	}
	return rows
}

func goldenCall(t *testing.T, file string, d interp.Definition, p *hookpoints.Point) goldenRow {
	t.Helper()
	row := goldenRow{Hook: file + " " + d.HookID + " " + p.Name}
	scope, err := hookpoints.NewScope(payload.NewObject(payload.Field{Name: "kind", Value: payload.NewString("shell")}, payload.Field{Name: "session_id", Value: payload.NewString("s")}))
	if err != nil {
		t.Fatal(err)
	}
	config := d.Default
	if !config.Exists() {
		config = payload.NewObject()
	}
	c := &hookpoints.Call{Point: p, Binding: &hookpoints.Binding{BindingID: "project/" + d.HookID, Config: config}, Payload: p.Example, State: payload.NewObject(),
		Around: &hookpoints.Around{Scope: scope, Now: time.Unix(1772600767, 0), Seed: "seed"}}
	own := given[file+" "+d.HookID]
	if own.payload != "" {
		c.Payload = interptest.Parse(t, own.payload)
		if err := p.Check(c.Payload); err != nil {
			t.Fatal(err)
		}
	}
	if asks, ok := d.Hook.(hookpoints.FactAsker); ok {
		keys, use, err := asks.FactKeys(t.Context(), c)
		row.Keys, row.Fuel, row.Bytes = append(row.Keys, keys...), use.Fuel, use.Bytes
		if err != nil {
			row.Error = err.Error()
			return row
		}
	}
	var facts []payload.Field // none can be had
	for _, key := range slices.Concat(d.FactKeys, row.Keys) {
		facts = append(facts, payload.Field{Name: key, Value: payload.NewNull()})
	}
	c.Facts = payload.NewObject(facts...)
	c.Missing = c.Facts
	if own.facts != "" {
		c.Facts, c.Missing = interptest.Parse(t, own.facts), payload.NewObject()
	}
	said, use, err := d.Hook.Decide(t.Context(), c)
	row.Fuel, row.Bytes = row.Fuel+use.Fuel, row.Bytes+use.Bytes
	if err != nil {
		t.Errorf("%s fails, which says little about its charges: %v", row.Hook, err)
		row.Error = err.Error()
	}
	for _, s := range said {
		row.Said = append(row.Said, s.Verb.String()+" "+s.Name+" "+s.Text+" "+payload.NewObject(s.Fields...).String())
	}
	return row
}
