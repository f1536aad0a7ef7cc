package lua

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// usageVariable names a file of what the attacks in Starlark came to on another machine; those in Lua have one
// beside it. The first machine writes it.
const usageVariable = "AGENTD_USAGE"

// TestAttacksComeToTheSameOnEveryMachine compares how each attack ended, and what it used, between machines: make
// determinism runs it with 64 and 32 bits, and in another time zone and language. By itself it has nothing
// to compare with, and TestAttacksEndTheSameEachTime runs them.
func TestAttacksComeToTheSameOnEveryMachine(t *testing.T) {
	path := os.Getenv(usageVariable)
	if path == "" {
		t.Skipf("%s names no file of another machine", usageVariable)
	}
	path += ".lua"
	files, err := filepath.Glob("testdata/attacks/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	got := map[string]string{}
	engine := New()
	for _, file := range files {
		for _, c := range readAttacks(t, file) {
			got[strings.TrimSuffix(c.file, ".lua")+"/"+c.name] = strconv.Quote(c.run(t.Context(), t, engine).text)
		}
	}
	if len(got) < 100 {
		t.Errorf("only %d attacks ran", len(got))
	}
	was, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := json.Marshal(got)
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var want map[string]string
	if err == nil {
		err = json.Unmarshal(was, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range got {
		if want[name] != text {
			t.Errorf("%s ends otherwise here than on the machine that ran it first:\n%s\n%s", name, want[name], text)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d attacks ran here and %d there", len(got), len(want))
	}
}
