package charges

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
)

var updateSchedule = flag.Bool("schedule", false, "write testdata/schedule.txt anew, for a new number")

// scheduleFile is what each row is charged under the number that its first line says.
const scheduleFile = "testdata/schedule.txt"

// TestChargesChangeWithTheirNumberOnly holds all charges against those that the number stands for.
func TestChargesChangeWithTheirNumberOnly(t *testing.T) {
	got := []string{fmt.Sprintf("schedule %d", meter.Schedule), "what: fuel bytes, of doing it once"}
	for _, r := range Rows {
		sizes := []int{10}
		if r.Hi > 2 && r.Source == nil {
			sizes = append(sizes, 300)
		}
		for _, n := range sizes {
			fuel, bytes, err := r.charged(t.Context(), n)
			if err != nil {
				t.Fatalf("%s %s of %d: %v", r.Names, r.Note, n, err)
			}
			got = append(got, fmt.Sprintf("%s (%s) %d: %d %d", r.Names, r.Note, n, fuel, bytes))
		}
	}
	text, err := os.ReadFile(scheduleFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if *updateSchedule {
		if want[0] == got[0] && cmp.Diff(want, got) != "" && rowsChanged(want, got) {
			t.Fatalf("%s stands for other charges already: count meter.Schedule up", got[0])
		}
		if err := os.WriteFile(scheduleFile, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("charges aren't those of their number: count meter.Schedule up if a charge changed, then go test ./internal/figures/charges -run Number -schedule\n%s", diff)
	}
}

// rowsChanged reports whether a row is charged otherwise; new ones, and some less, are no change.
func rowsChanged(want, got []string) bool {
	before := map[string]string{}
	for _, line := range want {
		name, cost, _ := strings.Cut(line, ": ")
		before[name] = cost
	}
	for _, line := range got {
		name, cost, _ := strings.Cut(line, ": ")
		if old, ok := before[name]; ok && old != cost {
			return true
		}
	}
	return false
}
