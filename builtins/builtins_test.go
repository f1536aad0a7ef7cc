package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// testCase is one call in testdata/*.json: of want and error exactly one is given.
type testCase struct {
	Call  string          `json:"call"`
	Args  []payload.Value `json:"args"`
	Want  payload.Value   `json:"want"`
	Error string          `json:"error"` // part of the error
	Note  string          `json:"note"`
}

func readCases(t *testing.T) map[string][]testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	tables := map[string][]testCase{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		var cases []testCase
		if err := dec.Decode(&cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		tables[filepath.Base(file)] = cases
	}
	return tables
}

func find(t testing.TB, name string) *Func {
	t.Helper()
	for _, f := range All() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no builtin %s", name)
	return nil
}

// pad fills the absent optional arguments, as a language does.
func pad(f *Func, args []payload.Value) []payload.Value {
	return append(args[:len(args):len(args)], make([]payload.Value, len(f.Params)-len(args))...)
}

// built copies a parsed tree into nodes that have no source text, as values from a script are.
func built(v payload.Value) payload.Value {
	switch v.Kind() {
	case payload.String:
		return payload.NewString(v.Text())
	case payload.Array:
		var items []payload.Value
		for item := range v.Items() {
			items = append(items, built(item))
		}
		return payload.NewArray(items)
	case payload.Object:
		var fields []payload.Field
		for name, item := range v.Members() {
			fields = append(fields, payload.Field{Name: name, Value: built(item)})
		}
		return payload.NewObject(fields...)
	}
	return v
}

// weight is what a value takes: its values and their text.
func weight(v payload.Value) int64 {
	size := int64(itemBytes + v.TextLen())
	for item := range v.Items() {
		size += weight(item)
	}
	for name, item := range v.Members() {
		size += int64(len(name)) + weight(item)
	}
	return size
}

func roomy() *meter.Meter {
	return meter.New(new(uint64), meter.Limits{Fuel: 1 << 40, Bytes: 1 << 40})
}

func TestTables(t *testing.T) {
	covered := map[string]bool{}
	for file, cases := range readCases(t) {
		t.Run(file, func(t *testing.T) {
			for _, c := range cases {
				covered[c.Call] = true
				check(t, c)
			}
		})
	}
	for _, f := range All() {
		if !covered[f.Name] {
			t.Errorf("no table calls %s", f.Name)
		}
	}
}

func check(t *testing.T, c testCase) {
	t.Helper()
	f := find(t, c.Call)
	if len(c.Args) > len(f.Params) {
		t.Errorf("%s %v: too many arguments", c.Call, c.Args)
		return
	}
	parsed := pad(f, c.Args)
	scripted := make([]payload.Value, len(parsed))
	for i, a := range parsed {
		if a.Exists() {
			scripted[i] = built(a)
		}
	}
	for _, form := range []struct {
		name string
		args []payload.Value
	}{{"parsed", parsed}, {"built", scripted}} {
		m := roomy()
		got, err := f.Call(m, form.args)
		if c.Error != "" {
			if err == nil || !strings.Contains(err.Error(), c.Error) {
				t.Errorf("%s %v (%s): error is %v, want %q in it (%s)", c.Call, c.Args, form.name, err, c.Error, c.Note)
			}
			if err != nil && !strings.HasPrefix(err.Error(), c.Call+": ") {
				t.Errorf("%s %v: the error %q does not begin with the name", c.Call, c.Args, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %v (%s): %v (%s)", c.Call, c.Args, form.name, err, c.Note)
			continue
		}
		if want := built(c.Want); built(got).String() != want.String() {
			t.Errorf("%s %v (%s): got %s, want %s (%s)", c.Call, c.Args, form.name, got, want, c.Note)
		}
		if fuel, bytes := m.Used(); fuel <= 0 || c.Call != "json.decode" && bytes < weight(got) {
			t.Errorf("%s %v (%s): charged %d fuel and %d bytes for a result of %d bytes", c.Call, c.Args, form.name, fuel, bytes, weight(got))
		}
	}
	if c.Call == "json.encode" { // copies source text as it came, so its length counts
		return
	}
	if a, b := f.cost(parsed), f.cost(scripted); a != b {
		t.Errorf("%s %v: charge is %+v parsed and %+v built, want the same", c.Call, c.Args, a, b)
	}
}

func TestEveryBuiltinIsDescribedInOneSentence(t *testing.T) {
	for _, f := range All() {
		switch doc := f.Doc; {
		case len(doc) < 10 || !strings.HasSuffix(doc, "."):
			t.Errorf("%s: %q is no sentence", f.Name, doc)
		case doc[:1] != strings.ToUpper(doc[:1]):
			t.Errorf("%s: %q begins with a small letter", f.Name, doc)
		case strings.Contains(strings.TrimSuffix(doc, "."), ". "):
			t.Errorf("%s: %q is more than one sentence", f.Name, doc)
		}
		optional := false
		for _, p := range f.Params {
			if optional && !p.Optional {
				t.Errorf("%s: the required %s follows an optional one", f.Name, p.Name)
			}
			optional = p.Optional
		}
	}
}

func TestAllIsSortedAndUnique(t *testing.T) {
	all := All()
	if len(all) == 0 {
		t.Fatal("there are no builtins")
	}
	for i := 1; i < len(all); i++ {
		if all[i-1].Name >= all[i].Name {
			t.Errorf("%s comes before %s", all[i-1].Name, all[i].Name)
		}
	}
}

func TestCallRefusesMissingAndWrongArguments(t *testing.T) {
	f := find(t, "text.cut")
	text := payload.NewString("a")
	if _, err := f.Call(roomy(), []payload.Value{text, {}}); err == nil || err.Error() != "text.cut: argument sep is missing" {
		t.Errorf("missing: %v", err)
	}
	if _, err := f.Call(roomy(), []payload.Value{payload.NewInt(1), text}); err == nil || err.Error() != "text.cut: argument text is number, want string" {
		t.Errorf("wrong kind: %v", err)
	}
}

// huge are arguments that no default budget can pay for, one set a builtin.
func huge(f *Func) []payload.Value {
	long := payload.NewString(strings.Repeat("ab c\n/", 12<<20))
	args := make([]payload.Value, len(f.Params))
	for i, p := range f.Params {
		switch {
		case p.Name == "pattern":
			args[i] = payload.NewString("[a-z]+")
		case p.Name == "bytes":
			args[i] = payload.NewInt(5)
		case p.Optional:
		case p.Kinds == payload.Array:
			args[i] = payload.NewArray([]payload.Value{long, long})
		case p.Kinds == payload.Object:
			args[i] = payload.NewObject(payload.Field{Name: "command", Value: long})
		default:
			args[i] = long
		}
	}
	return args
}

func TestHugeArgumentsAreRefusedBeforeAnyWork(t *testing.T) {
	for _, f := range All() {
		worked := false
		spy := New(f.Name, f.Doc, f.Params, f.cost, func([]payload.Value) (payload.Value, error) {
			worked = true
			return payload.NewNull(), nil
		})
		fuel := new(uint64)
		m := meter.New(fuel, meter.Default)
		_, err := spy.Call(m, huge(f))
		if !errors.Is(err, meter.ErrSpent) || worked {
			t.Errorf("%s: error %v, worked %v; want a spent budget and no work", f.Name, err, worked)
		}
		if got, _ := m.Used(); got != meter.Default.Fuel {
			t.Errorf("%s: used %d fuel, want all", f.Name, got)
		}
	}
}

func TestSmallCallsAreCheap(t *testing.T) {
	s := payload.NewString
	for _, c := range []struct {
		call string
		args []payload.Value
		most int64 // fuel
	}{
		{"path.inside", []payload.Value{s("/srv/project"), s("/srv/project/src/main.go")}, 50},
		{"text.fields", []payload.Value{s("git push --force origin main")}, 100},
		{"tool.commands", []payload.Value{payload.NewObject(payload.Field{Name: "command", Value: s("git push")}, payload.Field{Name: "content", Value: s(strings.Repeat("x", 1<<20))})}, 500},
		{"tool.paths", []payload.Value{payload.NewObject(payload.Field{Name: "path", Value: s("a.go")}, payload.Field{Name: "content", Value: s(strings.Repeat("x", 1<<20))})}, 500},
		{"re.match", []payload.Value{s(`\brm\s+-[a-z]*r`), s("cd /tmp && rm -rf build")}, 2000},
		{"re.replace", []payload.Value{s(`AKIA[0-9A-Z]{16}`), s(strings.Repeat("nothing to see here ", 500)), s("[key]")}, 10_000},
		{"re.replace", []payload.Value{s(`AKIA[0-9A-Z]{16}`), s(strings.Repeat("nothing to see here ", 500) + "AKIA0123456789ABCDEF"), s("[key]")}, 20_000},
		{"re.find_all", []payload.Value{s(`\w+`), s(strings.Repeat("some words ", 100))}, 60_000},
		{"glob.match", []payload.Value{s("src/**/*.go"), s("src/internal/daemon/daemon.go")}, 3000},
		{"shell.allowed", []payload.Value{s("git status --short && go test ./... 2>&1 | tail -n 20"), payload.NewStrings([]string{"git", "go", "tail"})}, 10_000},
		{"shell.parse", []payload.Value{s("cat <<'EOF' > a.go\n" + strings.Repeat("it's text, with \"$x\" and `y` in it\n", 64<<10/36) + "EOF")}, 950_000},
	} {
		m := meter.New(new(uint64), meter.Default)
		if _, err := find(t, c.call).Call(m, pad(find(t, c.call), c.args)); err != nil {
			t.Errorf("%s: %v", c.call, err)
		}
		if fuel, _ := m.Used(); fuel > c.most {
			t.Errorf("%s charged %d fuel, want at most %d", c.call, fuel, c.most)
		}
	}
}
