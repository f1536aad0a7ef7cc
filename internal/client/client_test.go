package client

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

var update = flag.Bool("update", false, "rewrite what the cases want")

// captures are the events that the real clients sent.
const captures = "../../testdata"

func read(t testing.TB, client, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(captures, client, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// golden runs the cases of a txtar file: each is its name, lines of input, and after a line "want:"
// what has to come out.
func golden(t *testing.T, file string, run func(t *testing.T, in map[string]string) string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Files) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	for i, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			given, want, _ := strings.Cut(string(f.Data), "want:\n")
			in := map[string]string{}
			for line := range strings.Lines(given) {
				key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				if !ok {
					t.Fatalf("a line without a colon: %s", line)
				}
				in[key] = value
			}
			got := run(t, in)
			if *update {
				a.Files[i].Data = []byte(given + "want:\n" + got)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stdinOf is what a client's hook is given: a capture by its name, or text.
func stdinOf(t *testing.T, client string, in map[string]string) []byte {
	if name := in["capture"]; name != "" {
		return read(t, client, name)
	}
	return []byte(in["stdin"])
}

func TestEventsAreUnderstood(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			golden(t, name+"_decode.txtar", func(t *testing.T, in map[string]string) string {
				_, e, err := Understand(name, in["event"], stdinOf(t, name, in))
				if err != nil {
					return "error: " + err.Error() + "\n" + told(t, Event{Client: e.Client, Name: e.Name, Point: e.Point})
				}
				return told(t, e)
			})
		})
	}
}

// told is an event as lines; what is empty is left out.
func told(t *testing.T, e Event) string {
	t.Helper()
	var out strings.Builder
	for _, f := range []struct{ name, value string }{
		{"client", e.Client}, {"event", e.Name}, {"called", e.Called}, {"version", e.Version}, {"session", e.SessionID}, {"call", e.CallID}, {"turn", e.Turn}, {"agent", e.Agent}, {"point", e.Point}, {"target", e.Target}, {"tool", e.Tool}, {"tool_id", e.ToolID},
		{"kind", e.Kind}, {"asks at", e.Asks}, {"can't", strings.Join(e.Cannot.Names(), " ")}, {"status", e.Status}, {"absent", strings.Join(e.Absent, " ")}, {"input", e.Input.String()}, {"payload", e.Payload.String()},
	} {
		if f.value != "" && (f.value != "null" || f.name != "input" && f.name != "payload") {
			fmt.Fprintf(&out, "%s: %s\n", f.name, f.value)
		}
	}
	for _, f := range []struct {
		is   bool
		said string
	}{{e.Continues, "a hook sent it on"}, {e.Forgets, "context is lost"}, {e.Second, "another event is about it too"}, {e.Ends, "the session ends"}, {e.Key != "", "it has a key"}} {
		if f.is {
			out.WriteString(f.said + "\n")
		}
	}
	return out.String()
}

var verdictKinds = map[string]VerdictKind{"no such verdict": 99, "deny": Deny, "no opinion": NoOpinion, "ask": Ask, "stop": Stop, "respond": Respond, "allow": Allow, "proceed": Proceed}

// saidVerdict is a verdict as the cases write it: its kind, and the rest as JSON.
func saidVerdict(t *testing.T, in map[string]string) Verdict {
	t.Helper()
	kind, known := verdictKinds[in["kind"]]
	if !known {
		t.Fatalf("there is no verdict %q", in["kind"])
	}
	said := payload.NewObject()
	if in["verdict"] != "" {
		var err error
		if said, err = payload.ParseString(in["verdict"]); err != nil {
			t.Fatal(err)
		}
	}
	v := Verdict{Kind: kind}
	for name, value := range said.Members() {
		switch name {
		case "reason":
			v.Reason = value.Text()
		case "value":
			v.Value = value
		case "text":
			v.Text = value.Text()
		case "note":
			v.Note = value.Text()
		case "clear":
			v.Clear = value.IsTrue()
		case "context":
			for _, s := range value.Strings() {
				v.Context = append(v.Context, Text{Text: s, From: "project/h"})
			}
		case "patch":
			for name, value := range value.Members() {
				v.Patch = append(v.Patch, payload.Field{Name: name, Value: value})
			}
		default:
			t.Fatalf("a verdict has no %q", name)
		}
	}
	return v
}

// answered is what a client is told: the exit code if it isn't 0, what is left for later, and what was
// downgraded.
func answered(t *testing.T, name string, in map[string]string) string {
	t.Helper()
	codec, e, err := Understand(name, in["event"], stdinOf(t, name, in))
	if broken := in["broken"] != ""; broken != (err != nil) {
		t.Fatal(err)
	}
	a, later, applied := Say(codec, e, saidVerdict(t, in))
	out := string(a.Stdout)
	if out != "" && !strings.HasSuffix(out, "\n") {
		t.Errorf("an answer without an end of line: %s", out)
	}
	if a.Exit != 0 {
		out = fmt.Sprintf("exit %d\n%s", a.Exit, out)
	}
	for _, text := range later {
		out += "later: " + text.Text + "\n"
	}
	for _, d := range applied {
		out += fmt.Sprintf("instead of %s: %s\n", strings.TrimSpace(d.Verb.String()+" "+d.Field), d.Instead)
	}
	return out
}

func TestVerdictsAreSaid(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			golden(t, name+"_encode.txtar", func(t *testing.T, in map[string]string) string { return answered(t, name, in) })
		})
	}
}

func TestForgottenVerdictDenies(t *testing.T) {
	for _, name := range Names() {
		codec, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []string{"Unknown", ""} {
			a := codec.Encode(Event{Client: name, Name: event}, Verdict{})
			none := codec.Encode(Event{Client: name, Name: event}, Verdict{Kind: NoOpinion})
			if string(a.Stdout) == string(none.Stdout) && a.Exit == none.Exit {
				t.Errorf("%s at %q says the same as with no opinion: %s, exit %d", name, event, a.Stdout, a.Exit)
			}
		}
	}
}

// captured calls each with every capture of every client, understood.
func captured(t *testing.T, each func(name, file string, codec Codec, e Event)) {
	t.Helper()
	for _, name := range Names() {
		files, err := os.ReadDir(filepath.Join(captures, name))
		if err != nil || len(files) == 0 {
			t.Fatalf("no captures of %s: %v", name, err)
		}
		for _, f := range files {
			event, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(f.Name(), ".json"), "pascal."), ".")
			codec, e, err := Understand(name, event, read(t, name, f.Name()))
			if err != nil {
				t.Errorf("%s/%s: %v", name, f.Name(), err)
				continue
			}
			each(name, f.Name(), codec, e)
		}
	}
}

func TestEveryCaptureFitsItsPoint(t *testing.T) {
	captured(t, func(name, file string, _ Codec, e Event) {
		if e.Client != name {
			t.Errorf("%s/%s was taken for %s's", name, file, e.Client)
		}
		p := points.Point(e.Point)
		if p == nil {
			t.Errorf("%s/%s fires at %q", name, file, e.Point)
			return
		}
		if err := p.Check(e.Payload); err != nil {
			t.Errorf("%s/%s: %v", name, file, err)
		}
		if k, ok := KnownEvent(name, e.Name); !ok || k.Point != e.Point {
			t.Errorf("%s/%s is %s at %s, which isn't what Events says: %+v", name, file, e.Name, e.Point, k)
		}
	})
}

// decides is what hooks may decide when an event fires at a point: before a tool it is also decided whether
// it may run.
func decides(point string) hookpoints.Verbs {
	all := points.Point(point).Allows
	if point == "tool.before" {
		all |= points.Point("tool.confirm").Allows
	}
	return all
}

// TestEveryDecisionReachesTheClientOrHasItsRow: what a hook may decide at an event is either said in the
// client's words or a row of the table.
func TestEveryDecisionReachesTheClientOrHasItsRow(t *testing.T) {
	captured(t, func(name, file string, codec Codec, e Event) {
		none, _, _ := Say(codec, e, Verdict{Kind: NoOpinion})
		p := points.Point(e.Point)
		try := func(what string, v Verdict) {
			a, _, applied := Say(codec, e, v)
			if string(a.Stdout) == string(none.Stdout) && a.Exit == none.Exit && len(applied) == 0 {
				t.Errorf("%s/%s: %s is lost without a row", name, file, what)
			}
		}
		for verb, v := range map[hookpoints.Verb]Verdict{
			hookpoints.Reject: {Kind: Deny, Reason: "r"}, hookpoints.Deny: {Kind: Deny, Reason: "r"}, hookpoints.Ask: {Kind: Ask, Reason: "r"}, hookpoints.Stop: {Kind: Stop, Reason: "r"},
			hookpoints.Respond: {Kind: Respond, Value: payload.NewObject(field("content", text("v")))}, hookpoints.Allow: {Kind: Allow, Reason: "r"},
			hookpoints.Proceed: {Kind: Proceed, Text: "go on"}, hookpoints.Context: {Kind: NoOpinion, Context: []Text{{Text: "c"}}},
		} {
			if decides(p.Name).Has(verb) {
				try(verb.String(), v)
			}
		}
		for _, name := range p.Writable {
			if p.Allows.Has(hookpoints.Patch) || p.Allows.Has(hookpoints.Edit) {
				value := p.Example.Get(name)
				switch {
				case e.Payload.Get(name).Kind() == payload.Array: // as it is, and one more
					items := slices.Collect(e.Payload.Get(name).Items())
					value = payload.NewArray(append(items, slices.Collect(value.Items())...))
				case name == "temperature", name == "top_p":
					value = payload.NewNumber("0.5")
				case name == "max_tokens":
					value = payload.NewInt(5)
				case name == "mode":
					value = text("any")
				case !value.Exists():
					value = payload.NewObject()
				}
				try("patch of "+name, Verdict{Kind: NoOpinion, Patch: []payload.Field{field(name, value)}})
			}
		}
	})
}

func TestEveryRowIsAboutAnEventOfItsClient(t *testing.T) {
	for _, row := range Table() {
		k, ok := KnownEvent(row.Client, row.Event)
		if !ok {
			t.Errorf("%s has no event %s", row.Client, row.Event)
			continue
		}
		p := points.Point(k.Point)
		if all := decides(p.Name); !all.Has(row.Verb) && row.Verb != hookpoints.Reject && (row.Verb != hookpoints.Patch || !all.Has(hookpoints.Edit)) {
			t.Errorf("%s, %s: %s isn't allowed at %s", row.Client, row.Event, row.Verb, k.Point)
		}
		if row.Field != "" && row.Field != "clear" && !p.CanWrite(row.Field) {
			t.Errorf("%s, %s: %s has no field %s to write", row.Client, row.Event, k.Point, row.Field)
		}
		if row.Why == "" || row.Instead == "" {
			t.Errorf("%+v says too little", row)
		}
	}
}

func TestUnknownClientIsNamedWithThoseThatAreKnown(t *testing.T) {
	if _, err := For("nobody"); err == nil || err.Error() != `the client "nobody" is unknown; agentd speaks `+strings.Join(Names(), ", ") {
		t.Errorf("got %v", err)
	}
}

// FuzzDecode: whatever arrives is understood or refused, and what is understood at a point fits to be
// answered.
func FuzzDecode(f *testing.F) {
	for _, name := range Names() {
		files, err := os.ReadDir(filepath.Join(captures, name))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			f.Add(read(f, name, file.Name()))
		}
	}
	for _, s := range []string{"", "{", "[]", "null", `{"hook_event_name":1}`, `{"hook_event_name":"BeforeTool","tool_name":"x","tool_input":[]}`,
		`{"hook_event_name":"AfterTool","tool_name":"x","tool_input":{},"tool_response":7}`, `{"hook_event_name":"BeforeTool","tool_name":"x","tool_input":{},"mcp_context":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stdin []byte) {
		for _, name := range Names() {
			codec, e, err := Understand(name, "", stdin)
			if e.Point == "" || points.Point(e.Point) == nil {
				t.Errorf("%s: %q is no point", name, e.Point)
			}
			if err == nil && e.Point == "tool.before" && (e.Tool == "" || e.ToolID == "" || e.Kind == "" || e.Payload.Kind() != payload.Object || e.Input.Kind() != payload.Object) {
				t.Errorf("%s at %s without what hooks need: %+v", name, e.Point, e)
			}
			for _, kind := range verdictKinds {
				a, _, _ := Say(codec, e, Verdict{Kind: kind, Value: e.Payload, Reason: e.Name})
				if len(a.Stdout) == 0 {
					continue
				}
				if v, err := payload.Parse(a.Stdout); err != nil || v.Kind() != payload.Object {
					t.Errorf("%s says %s: %v", name, a.Stdout, err)
				}
			}
		}
	})
}
