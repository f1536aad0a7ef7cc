package client

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// dressed are the ways in which one text has been seen to arrive.
var dressed = map[string]func(text []byte) []byte{
	"with a byte-order mark": func(text []byte) []byte { return append([]byte("\ufeff"), text...) },
	"with lines of Windows": func(text []byte) []byte {
		return append(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), "\r\n"...)
	},
	"encoded twice": func(text []byte) []byte {
		out, err := json.Marshal(string(text))
		if err != nil {
			panic(err)
		}
		return out
	},
	"as UTF-16": func(text []byte) []byte {
		out := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(string(text))) {
			out = append(out, byte(unit), byte(unit>>8))
		}
		return out
	},
	"with fields that are new": func(text []byte) []byte {
		return []byte(strings.Replace(string(text), "{", `{"brand_new_field":{"a":[1,null]},`, 1))
	},
}

// TestEventsArriveInAllClothes: the same event is understood however it is written down.
func TestEventsArriveInAllClothes(t *testing.T) {
	for _, name := range Names() {
		files, err := os.ReadDir(filepath.Join(captures, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			event := ""
			if name == "copilot" {
				event, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSuffix(f.Name(), ".json"), "pascal."), ".")
			}
			plain := read(t, name, f.Name())
			_, want, err := Understand(name, event, plain)
			if err != nil {
				t.Fatal(err)
			}
			for how, dress := range dressed {
				_, got, err := Understand(name, event, dress(plain))
				if err != nil {
					t.Errorf("%s/%s %s: %v", name, f.Name(), how, err)
					continue
				}
				squeeze := func(e Event) string {
					s := strings.NewReplacer("\r", "", "\n", "", " ", "").Replace(told(t, e))
					return strings.Replace(s, `"brand_new_field":{"a":[1,null]},`, "", 1)
				}
				if d := cmp.Diff(squeeze(want), squeeze(got)); d != "" {
					t.Errorf("%s/%s %s: %s", name, f.Name(), how, d)
				}
			}
		}
	}
}

// TestBrokenEventsAreRefusedInTheClientsWords: cut off anywhere, an event is an error that can be told to
// the client, and never one that lets something run.
func TestBrokenEventsAreRefusedInTheClientsWords(t *testing.T) {
	for _, name := range Names() {
		files, err := os.ReadDir(filepath.Join(captures, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			event, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(f.Name(), ".json"), "pascal."), ".")
			text := bytes.TrimSpace(read(t, name, f.Name()))
			for _, cut := range []int{0, 1, len(text) / 3, len(text) / 2, len(text) - 1} {
				codec, e, err := Understand(name, event, text[:cut])
				if err == nil {
					t.Errorf("%s/%s, cut off after %d bytes, was understood", name, f.Name(), cut)
					continue
				}
				if codec == nil || points.Point(e.Point) == nil {
					t.Errorf("%s/%s, cut off after %d bytes, has no codec or no point: %q", name, f.Name(), cut, e.Point)
				}
			}
		}
	}
}

// TestHalfCharactersOfUTF16AreRefusedBeforeATool: what stands for them isn't what the client would run.
func TestHalfCharactersOfUTF16AreRefusedBeforeATool(t *testing.T) {
	for what, c := range map[string]struct {
		units   []uint16
		more    string
		refused bool
	}{
		"whole ones":                        {[]uint16{0xd83d, 0xde00}, "", false},
		"what stands for one, sent as such": {[]uint16{0xfffd}, "", false},
		"half a one":                        {[]uint16{0xd83d}, "", true},
		"half a one beside what stands for": {[]uint16{0xfffd, 0xde00}, "", true},
		"half a unit at the end":            {nil, " ", true},
	} {
		units := slices.Concat(utf16.Encode([]rune(`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"x","tool_input":{"command":"`)), c.units, utf16.Encode([]rune(`"}}`)))
		stdin := []byte{0xff, 0xfe}
		for _, unit := range units {
			stdin = append(stdin, byte(unit), byte(unit>>8))
		}
		_, e, err := Understand("gemini", "", append(stdin, c.more...))
		if refused := err != nil; refused != c.refused || e.Point != "tool.before" {
			t.Errorf("%s: %v, at %s", what, err, e.Point)
		}
	}
}

// TestLargeInputsAreUnderstood: a file of five megabytes is written by a call like any other.
func TestLargeInputsAreUnderstood(t *testing.T) {
	content := strings.Repeat("0123456789abcdef", 5<<20/16)
	for name, text := range map[string]string{
		"claude":  `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"u","tool_input":{"file_path":"/x","content":"` + content + `"}}`,
		"codex":   `{"session_id":"s","turn_id":"t","model":"m","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_use_id":"u","tool_input":{"command":"` + content + `"}}`,
		"cursor":  `{"conversation_id":"s","cursor_version":"1","hook_event_name":"preToolUse","tool_name":"Write","tool_use_id":"u","tool_input":{"file_path":"/x","content":"` + content + `"}}`,
		"copilot": `{"sessionId":"s","timestamp":1,"toolName":"create","toolArgs":"{\"path\":\"/x\",\"file_text\":\"` + content + `\"}"}`,
	} {
		_, e, err := Understand(name, "", []byte(text))
		if err != nil || e.Point != "tool.before" || e.Client != name {
			t.Errorf("%s: %v, %s of %s", name, err, e.Point, e.Client)
		}
	}
}
