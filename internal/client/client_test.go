package client

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

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

func stdin(t *testing.T, in map[string]string) []byte {
	if name := in["capture"]; name != "" {
		return read(t, "gemini", name)
	}
	return []byte(in["stdin"])
}

func TestGeminiIsUnderstood(t *testing.T) {
	golden(t, "gemini_decode.txtar", func(t *testing.T, in map[string]string) string {
		e, err := gemini{}.Decode(stdin(t, in))
		if err != nil {
			return "error: " + err.Error() + "\n" + told(t, Event{Client: e.Client, Name: e.Name})
		}
		return told(t, e)
	})
}

// told is an event as lines; what is empty is left out.
func told(t *testing.T, e Event) string {
	t.Helper()
	var out strings.Builder
	for _, f := range []struct{ name, value string }{
		{"client", e.Client}, {"event", e.Name}, {"session", e.SessionID}, {"call", e.CallID}, {"point", e.Point}, {"tool", e.Tool}, {"tool_id", e.ToolID},
		{"kind", e.Kind}, {"status", e.Status}, {"absent", strings.Join(e.Absent, " ")}, {"input", e.Input.String()}, {"payload", e.Payload.String()},
	} {
		if f.value != "" && (f.value != "null" || f.name != "input" && f.name != "payload") {
			fmt.Fprintf(&out, "%s: %s\n", f.name, f.value)
		}
	}
	if e.Ends {
		out.WriteString("the session ends\n")
	}
	return out.String()
}

var verdictKinds = map[string]VerdictKind{"no such verdict": 99, "deny": Deny, "no opinion": NoOpinion, "ask": Ask, "stop": Stop, "respond": Respond}

func TestGeminiIsAnswered(t *testing.T) {
	golden(t, "gemini_encode.txtar", func(t *testing.T, in map[string]string) string {
		e, err := gemini{}.Decode(stdin(t, in))
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Reason       string
			Input, Value payload.Value
			Context      []string
		}
		if in["verdict"] != "" {
			if err := json.Unmarshal([]byte(in["verdict"]), &said); err != nil {
				t.Fatal(err)
			}
		}
		kind, known := verdictKinds[in["kind"]]
		if !known {
			t.Fatalf("there is no verdict %q", in["kind"])
		}
		out, exit := gemini{}.Encode(e, Verdict{Kind: kind, Reason: said.Reason, Input: said.Input, Value: said.Value, Context: said.Context})
		if exit != 0 {
			return fmt.Sprintf("exit %d\n%s", exit, out)
		}
		return string(out)
	})
}

func TestForgottenVerdictDenies(t *testing.T) {
	for _, name := range Names() {
		codec, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range []string{"BeforeTool", "AfterTool", "Unknown", ""} {
			out, exit := codec.Encode(Event{Name: event}, Verdict{})
			if v, err := payload.Parse(out); err != nil || exit != 0 || v.Get("decision").Text() != "deny" {
				t.Errorf("%s at %q: %s, exit %d, %v", name, event, out, exit, err)
			}
		}
	}
}

func TestEveryCaptureIsTakenInAndAnsweredWithOneJSONObject(t *testing.T) {
	for _, name := range Names() {
		codec, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(filepath.Join(captures, name))
		if err != nil || len(files) == 0 {
			t.Fatalf("no captures of %s: %v", name, err)
		}
		for _, f := range files {
			e, err := codec.Decode(read(t, name, f.Name()))
			if err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
			for word, kind := range verdictKinds {
				out, _ := codec.Encode(e, Verdict{Kind: kind, Reason: "r", Value: payload.NewString("v"), Context: []string{"c"}})
				if v, err := payload.Parse(out); err != nil || v.Kind() != payload.Object {
					t.Errorf("%s, %s: %s, %v", f.Name(), word, out, err)
				}
			}
		}
	}
}

func TestUnknownClientIsNamedWithThoseThatAreKnown(t *testing.T) {
	if _, err := For("nobody"); err == nil || err.Error() != `the client "nobody" is unknown; agentd speaks gemini` {
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
			codec, err := For(name)
			if err != nil {
				t.Fatal(err)
			}
			e, err := codec.Decode(stdin)
			if err == nil && e.Point != "" && (e.Tool == "" || e.ToolID == "" || e.Kind == "" || e.Payload.Kind() != payload.Object || e.Input.Kind() != payload.Object) {
				t.Errorf("%s at %s without what hooks need: %+v", name, e.Point, e)
			}
			for _, kind := range verdictKinds {
				out, _ := codec.Encode(e, Verdict{Kind: kind, Input: e.Input, Value: e.Payload, Reason: e.Name})
				if v, err := payload.Parse(out); err != nil || v.Kind() != payload.Object {
					t.Errorf("%s says %s: %v", name, out, err)
				}
			}
		}
	})
}
