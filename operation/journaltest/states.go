package journaltest

import (
	"bufio"
	"embed"
	"strconv"
	"strings"
	"testing"

	"agentd/operation"
)

//go:embed testdata/*.txt
var data embed.FS

// step is a line of testdata/states.txt: a row, and whether its operation is open afterwards.
type step struct {
	row  operation.Row
	open bool
}

// states commits the stories of testdata/states.txt row by row: first each in a journal of its own,
// then all of them interleaved in one.
func states(t *testing.T, open func(t *testing.T) operation.Journal) {
	stories := readStories(t)
	for _, s := range stories {
		t.Run("open or done/"+s.name, func(t *testing.T) {
			b := &bench{t.Context(), open(t)}
			for _, st := range s.steps {
				b.commit(t, st.row)
				b.agrees(t, st)
			}
		})
	}
	t.Run("open or done/all at once", func(t *testing.T) {
		b := &bench{t.Context(), open(t)}
		last := map[string]bool{}
		var order []string
		for i, more := 0, true; more; i++ {
			more = false
			for _, s := range stories {
				if i >= len(s.steps) {
					continue
				}
				more = true
				st, op := s.steps[i], s.steps[i].row.Key().Op
				b.commit(t, st.row)
				if _, ok := last[op]; !ok {
					order = append(order, op)
				}
				last[op] = st.open
			}
		}
		var want, got []string
		for _, op := range order {
			if last[op] {
				want = append(want, op)
			}
		}
		for _, h := range b.open(t) {
			got = append(got, h.ID)
		}
		same(t, "open", got, want)
	})
}

// agrees checks Open against the story and against what the rows say.
func (b *bench) agrees(t *testing.T, st step) {
	t.Helper()
	op := st.row.Key().Op
	sum := operation.Summarise(b.rows(t, op))
	if sum.Done() == st.open {
		t.Errorf("after %+v the rows say done = %v (%s, %s)", st.row.Key(), sum.Done(), sum.State, sum.Status)
	}
	listed := false
	for _, h := range b.open(t) {
		if h.ID == op {
			listed = true
			sum.Head.ID = op
			same(t, "head", h, sum.Head)
		}
	}
	if listed != st.open {
		t.Errorf("after %+v it is listed as open = %v, want %v", st.row.Key(), listed, st.open)
	}
}

type story struct {
	name  string
	steps []step
}

// readStories reads chunks of lines "mark op stage number body" below a line "# name".
func readStories(t *testing.T) (out []story) {
	f, err := data.Open("testdata/states.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "# "); ok {
			out = append(out, story{name: name})
		} else if line != "" {
			s := &out[len(out)-1]
			s.steps = append(s.steps, readStep(t, line))
		}
	}
	return out
}

func readStep(t *testing.T, line string) step {
	t.Helper()
	parts := strings.SplitN(line, " ", 5)
	if len(parts) != 5 {
		t.Fatalf("%q has %d parts", line, len(parts))
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil {
		t.Fatal(err)
	}
	row, err := operation.DecodeRow(operation.Key{Op: parts[1], Stage: operation.Stage(parts[2]), N: n}, []byte(parts[4]), nil)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return step{row, parts[0] == "open"}
}
