package builtins

import (
	"fmt"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
)

// TestWhatACallHidesIsPaidFor asks for the commands and paths of calls that are made to hold as many as
// can be in places that cost little to look at.
func TestWhatACallHidesIsPaidFor(t *testing.T) {
	const n = 2000
	each := func(between, text string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(text, "#", fmt.Sprint(i))
		}
		return strings.Join(parts, between)
	}
	named := make([]string, len(pathNames))
	for i, name := range pathNames {
		named[i] = fmt.Sprintf(`"%s":"%d-#"`, name, i)
	}
	for name, call := range map[string]string{
		"typed without a name":    `{"name":"x","arguments":{"":"` + strings.Repeat("{enter}", n) + `"}}`,
		"typed":                   `{"name":"write_stdin","arguments":{"chars":"` + strings.Repeat("{enter}", n) + `"}}`,
		"a diff":                  `{"arguments":{"diff":"` + each("", `--- #\n+++ z#\n`) + `"}}`,
		"diffs in a list":         `{"arguments":{"diff":[` + each(",", `"--- #\n+++ z#"`) + `]}}`,
		"a map of changes":        `{"arguments":{"changes":{` + each(",", `"#":1`) + `}}}`,
		"edits of many names":     `{"arguments":{"edits":[` + each(",", "{"+strings.Join(named, ",")+"}") + `]}}`,
		"a patch":                 `{"arguments":{"patch":"*** Begin Patch` + each("", `\n*** Move to: #`) + `"}}`,
		"calls of many names":     `{"arguments":{"tool_calls":[` + each(",", `{"parameters":{`+strings.Join(named, ",")+`}}`) + `]}}`,
		"calls of commands":       `{"arguments":{"tool_calls":[` + each(",", `{"parameters":{"command":"a","cmd":"b","command_line":"c","script":["d","e"],"commands":["f",{"cmd":"g"}]}}`) + `]}}`,
		"calls around each other": `{"arguments":` + strings.Repeat(`{"command":"a","path":"b","tool_calls":[{"parameters":`, 50) + `{}` + strings.Repeat(`}]}`, 50) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			v, err := payload.ParseString(call)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range toolModule() {
				cost := f.cost([]payload.Value{v})
				got, err := f.Call(roomy(), []payload.Value{v})
				if err != nil {
					t.Fatal(err)
				}
				if size := weight(got); cost.Bytes < size {
					t.Errorf("%s is charged %d bytes for %d", f.Name, cost.Bytes, size)
				}
				if cost.Fuel < 4*int64(got.Len()) {
					t.Errorf("%s is charged %d fuel for %d items", f.Name, cost.Fuel, got.Len())
				}
			}
		})
	}
}
