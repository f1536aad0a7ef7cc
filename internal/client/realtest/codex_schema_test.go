package realtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints/payload"
	"agentd/internal/client"
)

// codexSchemas are those that the installed Codex CLI carries in its program, by their titles.
func codexSchemas(t *testing.T) map[string]*jsonschema.Resolved {
	t.Helper()
	program, err := Installed(codexProgram)
	if err != nil {
		t.Skip(err)
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(program), "..", "..", "codex-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) == 0 {
		t.Skipf("the program of Codex CLI isn't beside %s: %v", program, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*jsonschema.Resolved{}
	for mark := []byte("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\""); ; {
		at := bytes.Index(text, mark)
		if at < 0 {
			return out
		}
		text = text[at:]
		var s jsonschema.Schema
		if err := json.NewDecoder(bytes.NewReader(text[:min(len(text), 1<<16)])).Decode(&s); err != nil {
			t.Fatal(err)
		}
		if out[s.Title], err = s.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", s.Title, err)
		}
		text = text[len(mark):]
	}
}

// TestCodexsOwnSchemasFit: the captures are what Codex CLI says it sends, and whatever is decided is answered with
// what it says it takes.
func TestCodexsOwnSchemasFit(t *testing.T) {
	schemas := codexSchemas(t)
	if len(schemas) < 20 {
		t.Fatalf("%d schemas, which isn't all of them", len(schemas))
	}
	fits := func(title string, text []byte) {
		t.Helper()
		s := schemas[title]
		if s == nil {
			t.Errorf("there is no schema %s", title)
			return
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Error(err)
		} else if err := s.Validate(v); err != nil {
			t.Errorf("%s: %s: %v", title, text, err)
		}
	}
	dir := filepath.Join("..", "..", "..", "testdata", "codex")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		event, _, _ := strings.Cut(f.Name(), ".")
		var title strings.Builder
		for i, r := range event {
			if i > 0 && r >= 'A' && r <= 'Z' {
				title.WriteByte('-')
			}
			title.WriteRune(r)
		}
		of := strings.ToLower(title.String()) + ".command."
		fits(of+"input", text)
		codec, e, err := client.Understand("codex", "", text)
		if err != nil {
			t.Fatal(err)
		}
		if schemas[of+"output"] == nil && event == "SessionEnd" { // nothing is read
			continue
		}
		for kind := client.Deny; kind <= client.Proceed; kind++ {
			for _, patch := range [][]payload.Field{nil, {{Name: "arguments", Value: payload.NewObject(payload.Field{Name: "command", Value: payload.NewString("ls")})}}, {{Name: "value", Value: payload.NewString("x")}}} {
				for _, context := range [][]client.Text{nil, {{Text: "c"}}} {
					a, _, _ := client.Say(codec, e, client.Verdict{Kind: kind, Reason: "why", Text: "go on", Value: payload.NewString("v"), Patch: patch, Context: context, Note: "note"})
					if len(a.Stdout) > 0 {
						fits(of+"output", a.Stdout)
					}
				}
			}
		}
	}
}
