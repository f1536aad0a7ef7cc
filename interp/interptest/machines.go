package interptest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// usageVariable begins the names of the files, one a language, of what the attacks came to on another
// machine. The first machine writes them.
const usageVariable = "AGENTD_USAGE"

// leastAttacks is how many attacks each language has.
const leastAttacks = 100

// AttacksComeToTheSameOnEveryMachine compares how each attack ended, and what it used, between machines:
// make determinism runs it with 64 and 32 bits, and in another time zone and language. By itself it has
// nothing to compare with, and AttacksEndTheSameEachTime runs them. An outcome that holds narrow may
// differ, unless that is "".
func AttacksComeToTheSameOnEveryMachine(t *testing.T, files fs.FS, pattern, narrow string, arena Arena) {
	t.Helper()
	prefix := os.Getenv(usageVariable)
	if prefix == "" {
		t.Skipf("%s names no file of another machine", usageVariable)
	}
	got := map[string]string{}
	for _, name := range glob(t, files, pattern) {
		for _, a := range ReadAttacks(t, files, name) {
			got[a.FullName()] = strconv.Quote(arena.Attack(t.Context(), t, a).Text)
		}
	}
	if len(got) < leastAttacks {
		t.Errorf("only %d attacks ran", len(got))
	}
	want := elsewhere(t, prefix+path.Ext(pattern), got)
	for name, text := range got {
		if want[name] != text && (narrow == "" || !strings.Contains(text, narrow)) {
			t.Errorf("%s ends otherwise here than on the machine that ran it first:\n%s\n%s", name, want[name], text)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d attacks ran here and %d there", len(got), len(want))
	}
}

// elsewhere reads what another machine wrote. The first one writes what it got.
func elsewhere(t *testing.T, file string, got map[string]string) (want map[string]string) {
	t.Helper()
	was, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if was, err = json.MarshalIndent(got, "", " "); err == nil {
			err = os.WriteFile(file, was, 0o644)
		}
	}
	if err == nil {
		err = json.Unmarshal(was, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return want
}
