package agentd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"agentd"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

// standing is a clock that stands: nothing that a chain decides may depend on it.
type standing struct{}

func (standing) Now() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
func (standing) Nanos() int64   { return 0 }

// A scenario is a txtar file: what it is about, the files of the layers under shipped/, user/ and
// project/, and then either faults.json, the faults of the layers from the lowest up, or pairs of
// NAME.call.json and NAME.want.json (or call.json and want.json).
type scenario struct {
	layers map[hookpoints.Layer][]revision.File
	calls  []call
	faults []byte
}

type call struct {
	name       string
	ask, wants []byte
}

func readScenario(t *testing.T, file string) scenario {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := scenario{layers: map[hookpoints.Layer][]revision.File{}}
	wants := map[string][]byte{}
	for _, f := range ar.Files {
		dir, rest, _ := strings.Cut(f.Name, "/")
		layer, isLayer := hookpoints.ParseLayer(dir)
		switch {
		case isLayer:
			s.layers[layer] = append(s.layers[layer], revision.File{Path: rest, Text: f.Data})
		case f.Name == "faults.json":
			s.faults = f.Data
		case strings.HasSuffix(f.Name, "call.json"):
			s.calls = append(s.calls, call{name: strings.TrimSuffix(f.Name, "call.json"), ask: f.Data})
		case strings.HasSuffix(f.Name, "want.json"):
			wants[strings.TrimSuffix(f.Name, "want.json")] = f.Data
		default:
			t.Fatalf("%s: what is %s?", file, f.Name)
		}
	}
	for i := range s.calls {
		s.calls[i].wants = wants[s.calls[i].name]
		delete(wants, s.calls[i].name)
		if s.calls[i].wants == nil {
			t.Fatalf("%s: %scall.json has no want.json", file, s.calls[i].name)
		}
	}
	if len(wants) > 0 || (len(s.calls) == 0) == (s.faults == nil) {
		t.Fatalf("%s: it has calls with their wants, or faults", file)
	}
	return s
}

func TestChains(t *testing.T) {
	files, err := filepath.Glob("testdata/chain/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := readScenario(t, file)
			rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}, Limits: meter.Limits{Fuel: 200_000, Bytes: 4 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			layers, faults := s.build(t, rt)
			if s.faults != nil {
				s.checkFaults(t, faults)
				return
			}
			if len(faults) > 0 {
				t.Fatalf("the layers have faults: %v", faults)
			}
			for _, c := range s.calls {
				t.Run(strings.TrimSuffix(c.name, "."), func(t *testing.T) { c.run(t, rt, layers) })
			}
		})
	}
}

// build builds the layers twice, the files in another order: that must not show.
func (s *scenario) build(t *testing.T, rt *agentd.Runtime) (layers []*revision.Layer, faults []revision.Fault) {
	t.Helper()
	for _, which := range hookpoints.Layers() {
		files := s.layers[which]
		if len(files) == 0 {
			continue
		}
		l, err := rt.Build(t.Context(), which, files, layers)
		if err != nil {
			t.Fatal(err)
		}
		other := slices.Clone(files)
		slices.Reverse(other)
		again, err := rt.Build(t.Context(), which, other, layers)
		if err != nil || again.ID != l.ID {
			t.Errorf("the %s layer comes to %.12s, and in another order of files to %.12s (%v)", which, l.ID, again.ID, err)
		}
		layers, faults = append(layers, l), append(faults, l.Faults...)
	}
	return layers, faults
}

// checkFaults holds each fault against what is wanted, in order, and all of them to their form.
func (s *scenario) checkFaults(t *testing.T, faults []revision.Fault) {
	var wants []map[string]any
	unmarshal(t, s.faults, &wants)
	for i, f := range faults {
		if i >= len(wants) {
			t.Errorf("one fault more: %v", f)
			continue
		}
		got, err := payload.From(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, said := wants[i]["binding_id"]; !said && f.BindingID == "" {
			t.Errorf("fault %d names no binding: %v", i, f)
		}
		if f.File == "" || f.Line == 0 || f.Fix == "" || strings.Contains(f.Message, "\n") {
			t.Errorf("fault %d lacks a place or a fix, or is more than a sentence: %#v", i, f)
		}
		if err := matches(wants[i], got); err != nil {
			t.Errorf("fault %d: %v\n%v", i, err, f)
		}
	}
	if len(faults) < len(wants) {
		t.Errorf("%d faults, want %d: %v", len(faults), len(wants), faults)
	}
}

// asked is a call.json.
type asked struct {
	agentd.DecideRequest
	Untrusted bool `json:"untrusted"` // the project's hooks aren't trusted
}

func (c call) run(t *testing.T, rt *agentd.Runtime, layers []*revision.Layer) {
	var q asked
	unmarshal(t, c.ask, &q)
	if !q.Payload.Exists() {
		q.Payload = rt.Points().Point(q.Point).Example
	}
	if q.Untrusted {
		layers = distrust(layers)
	}
	g := rt.Compose(layers)
	var want map[string]any
	unmarshal(t, c.wants, &want)
	got, err := rt.Decide(t.Context(), g, q.DecideRequest)
	if says, ok := want["error"]; ok {
		if err == nil || !regexp.MustCompile(says.(string)).MatchString(err.Error()) {
			t.Errorf("error %v, want %q", err, says)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := rt.Decide(t.Context(), g, q.DecideRequest)
	one, two := encode(t, got), encode(t, again)
	if err != nil || !bytes.Equal(one.JSON(), two.JSON()) {
		t.Errorf("deciding again gives something else: %v\n%s\n%s", err, one, two)
	}
	checkRecords(t, got.Records)
	if ran, ok := want["ran"]; ok {
		delete(want, "ran")
		if err := matches(ran, ids(got.Records)); err != nil {
			t.Errorf("ran: %v", err)
		}
	}
	if err := matches(want, one); err != nil {
		t.Errorf("%v\n%s", err, indent(one))
	}
}

// distrust makes the project's bindings untrusted, as serving an unknown project does.
func distrust(layers []*revision.Layer) []*revision.Layer {
	out := slices.Clone(layers)
	for i, l := range out {
		if l.Layer != hookpoints.Project {
			continue
		}
		marked := *l
		marked.Bindings = nil
		for _, b := range l.Bindings {
			copied := *b
			copied.Untrusted = true
			marked.Bindings = append(marked.Bindings, &copied)
		}
		out[i] = &marked
	}
	return out
}

// checkRecords: "allowed" and "never checked" are never the same.
func checkRecords(t *testing.T, recs []hookpoints.Record) {
	for _, r := range recs {
		switch {
		case r.Ran == (r.Why != ""):
			t.Errorf("%s ran and didn't: %+v", r.BindingID, r)
		case r.Error != "" && !slices.Contains([]string{"hook_failed", "budget", "not_permitted", "host_timeout"}, r.Error):
			t.Errorf("%s: the error is %q", r.BindingID, r.Error)
		case r.Ran && r.Fuel <= 0:
			t.Errorf("%s ran and used nothing", r.BindingID)
		case r.Point == "" || r.HookID == "" || r.Version == "" || r.Schedule != meter.Schedule:
			t.Errorf("%s: the record lacks something: %+v", r.BindingID, r)
		}
	}
}

func ids(recs []hookpoints.Record) payload.Value {
	var out []string
	for _, r := range recs {
		if r.Ran {
			out = append(out, r.BindingID)
		}
	}
	return payload.NewStrings(out)
}

func unmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func encode(t *testing.T, v any) payload.Value {
	t.Helper()
	out, err := payload.From(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func indent(v payload.Value) string {
	var b bytes.Buffer
	if err := json.Indent(&b, v.JSON(), "", "  "); err != nil {
		return v.String()
	}
	return b.String()
}

// matches holds got to want: objects may have more members, lists may not have more items. A string
// that begins with ~ is a regular expression, null means that there is nothing.
func matches(want any, got payload.Value) error {
	switch want := want.(type) {
	case nil:
		if got.Exists() && got.Kind() != payload.Null {
			return fmt.Errorf("there is %s, want nothing", got)
		}
		return nil
	case map[string]any:
		var all error
		for name, w := range want {
			if err := matches(w, got.Get(name)); err != nil {
				all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
			}
		}
		return all
	case []any:
		if got.Kind() != payload.Array || got.Len() != len(want) {
			return fmt.Errorf("got %s, want %d items: %v", got, len(want), want)
		}
		var all error
		for i, w := range want {
			if err := matches(w, got.At(i)); err != nil {
				all = errors.Join(all, fmt.Errorf("item %d: %w", i, err))
			}
		}
		return all
	case string:
		if pattern, ok := strings.CutPrefix(want, "~"); ok {
			if got.Kind() != payload.String || !regexp.MustCompile(pattern).MatchString(got.Text()) {
				return fmt.Errorf("got %s, want a match of %q", got, pattern)
			}
			return nil
		}
		if got.Kind() != payload.String || got.Text() != want {
			return fmt.Errorf("got %s, want %q", got, want)
		}
		return nil
	}
	text, err := json.Marshal(want)
	if err != nil || got.String() != string(text) {
		return fmt.Errorf("got %s, want %s %v", got, text, err)
	}
	return nil
}
