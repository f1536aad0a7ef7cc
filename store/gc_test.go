package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
	"agentd/store"
)

// day is a clock that stands at a day.
type day int

func (d day) Now() time.Time { return zero.Add(time.Duration(d) * 24 * time.Hour) }

// play reads what happened, one operation a line: the day, then words. A word with = is a field of the
// head (session, run, parent, kind, project: its revision); open, waiting, unknown, unobserved say how
// it stands, it is over otherwise. "cell" and "revision" lines are no operations.
func play(t *testing.T, path string, key *store.Key, story string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(story))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		n, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		s, err := store.Open(t.Context(), path, store.Options{Key: key, Clock: day(n)})
		if err != nil {
			t.Fatal(err)
		}
		playLine(t, s, day(n), words[1], words[2:])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func playLine(t *testing.T, s *store.Store, at day, name string, words []string) {
	t.Helper()
	h := operation.Head{ID: name, Kind: "tool", Began: at.Now()}
	state := ""
	for _, w := range words {
		field, value, ok := strings.Cut(w, "=")
		if !ok {
			state = w
			continue
		}
		*map[string]*string{"session": &h.SessionID, "run": &h.RunID, "parent": &h.Parent, "kind": &h.Kind, "project": &h.Revisions.Project}[field] = value
	}
	long := payload.NewString(strings.Repeat("the large value of "+name+"; ", 100))
	switch name {
	case "cell":
		if err := s.Commit(t.Context(), operation.Commit{Cells: []operation.Cell{{Session: h.SessionID, Name: "n", Value: payload.NewInt(1)}}}); err != nil {
			t.Fatal(err)
		}
		return
	case "revision":
		keep(t, s, &revision.Revision{ID: h.Revisions.Project, Layer: hookpoints.Project, Created: at.Now(), Listed: state == "listed", Manifest: []byte("{}"),
			Files: []revision.File{{Path: "a.star", Text: []byte("# " + h.Revisions.Project)}}})
		if state == "listed" {
			if err := s.SetHead(t.Context(), hookpoints.Project, h.Revisions.Project); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	d := operation.Decided{Head: h, Original: long, Final: payload.NewObject(payload.Field{Name: "messages", Value: conversation(40)})}
	switch state {
	case "":
		d.Head.Composite = h.Kind == "run"
		commit(t, s, operation.IntentRow{Decided: d, State: operation.Running}, operation.OutcomeRow{Op: name, Status: operation.Succeeded, Value: long}, operation.AfterRow{Op: name, Effective: long})
	case "open":
		d.Head.Composite = true
		commit(t, s, operation.IntentRow{Decided: d, State: operation.Running})
	case "waiting":
		commit(t, s, operation.WaitingRow{Decided: d})
	case "unknown":
		commit(t, s, operation.IntentRow{Decided: d, State: operation.Running}, operation.AfterRow{Op: name, Unknown: true})
	case "unobserved":
		d.Head.Foreign = true
		commit(t, s, operation.IntentRow{Decided: d, State: operation.Running}, operation.AfterRow{Op: name, Unknown: true})
	default:
		t.Fatalf("%s is %q", name, state)
	}
}

// conversation is messages that are stored in chunks, most of which all have in common.
func conversation(n int) payload.Value {
	var items []payload.Value
	for i := range n {
		items = append(items, payload.NewString(strings.Repeat(fmt.Sprint("message ", i, "; "), 60)))
	}
	return payload.NewArray(items)
}

func TestGC(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  store.Collected
		left  string // the operations
		cells string // sessions that have state
		revs  string // revisions
	}{
		"nothing": {},
		"a session that is over": {story: `
			1 r1 kind=run run=r1 session=s
			1 t1 run=r1 session=s parent=r1
			1 cell session=s
			1 cell
			50 new session=s2`,
			want: store.Collected{Sessions: 1, Runs: 1, Operations: 2, Rows: 6, Blobs: 2}, left: "new", cells: "(project)"},
		"a session with a run of today": {story: `
			1 r1 kind=run run=r1 session=s
			50 r2 kind=run run=r2 session=s`, left: "r1 r2"},
		"a session with an open run":      {story: "1 r1 kind=run run=r1 session=s\n1 r2 kind=run run=r2 session=s open\n1 cell session=s", want: store.Collected{Open: 1}, left: "r1 r2", cells: "s"},
		"a session with a question":       {story: "1 r1 kind=run run=r1 session=s\n1 t run=r1 session=s waiting", want: store.Collected{Open: 1}, left: "r1 t"},
		"a session with an unknown call":  {story: "1 r1 kind=run run=r1 session=s\n1 t run=r1 session=s unknown", want: store.Collected{Open: 1}, left: "r1 t"},
		"a client's session":              {story: "1 a session=c\n1 b session=c unobserved", want: store.Collected{Sessions: 1, Operations: 2, Rows: 5, Blobs: 43}},
		"a run that belongs to nobody":    {story: "1 r kind=run run=r\n1 t run=r\n1 alone", want: store.Collected{Runs: 1, Operations: 3, Rows: 9, Blobs: 44}},
		"a session of an open one's part": {story: "1 r kind=run run=r session=s open\n1 sub kind=run run=r2 session=s2 parent=r\n1 deep kind=tool run=r3 session=s3 parent=sub", want: store.Collected{Open: 3}, left: "deep r sub"},
		"the newest rows":                 {story: "1 old session=a open\n2 new session=b", want: store.Collected{Sessions: 1, Operations: 1, Rows: 3, Blobs: 1, Open: 1}, left: "old"},
		"revisions": {story: `
			1 revision project=head listed
			1 revision project=pinned
			1 revision project=unused
			1 revision project=gone
			50 revision project=fresh
			1 t session=s project=gone
			1 u session=s2 project=pinned open`,
			want: store.Collected{Sessions: 1, Operations: 1, Rows: 3, Revisions: 2, Blobs: 3, Open: 1}, left: "u", revs: "fresh head pinned"},
	} {
		for kind, key := range map[string]*store.Key{"plain": nil, "encrypted": someKey(1)} {
			t.Run(name+", "+kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "agentd.db")
				s := openUnder(t, path, key)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				play(t, path, key, c.story)
				before := contents(path)
				o := store.GCOptions{Before: day(40).Now(), Key: key, Clock: day(60), DryRun: true}
				would, err := store.GC(t.Context(), path, o)
				if err != nil {
					t.Fatal(err)
				}
				if contents(path) != before && name != "nothing" {
					t.Error("looking what would go changed the file")
				}
				o.DryRun = false
				got, err := store.GC(t.Context(), path, o)
				if err != nil {
					t.Fatal(err)
				}
				if got.After > got.Before || got.After == 0 {
					t.Errorf("it had %d bytes and has %d", got.Before, got.After)
				}
				would.Before, would.After, got.Before, got.After = 0, 0, 0, 0
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("it removed other things (-want +got):\n%s", d)
				}
				if d := cmp.Diff(got, would); d != "" {
					t.Errorf("it removed other than it said (-did +said):\n%s", d)
				}
				r := readUnder(t, path, key)
				if left := listed(t, r); left != c.left {
					t.Errorf("left are %q, want %q", left, c.left)
				}
				if cells, revs := namesIn(t, path, `SELECT DISTINCT iif(session = '', '(project)', session) AS s FROM cells ORDER BY s`), namesIn(t, path, `SELECT id FROM revisions ORDER BY id`); cells != c.cells || revs != c.revs {
					t.Errorf("state is left of %q, want %q, and revisions %q, want %q", cells, c.cells, revs, c.revs)
				}
				// What comes afterwards is numbered anew, and told.
				s = openUnder(t, path, key)
				playLine(t, s, 61, "later", nil)
				for _, r := range []*store.Reader{s.Reader, readUnder(t, path, key)} {
					if left := listed(t, r); !strings.Contains(left, "later") {
						t.Errorf("what came later isn't listed: %q", left)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				again, err := store.GC(t.Context(), path, o)
				if again.Before, again.After = 0, 0; err != nil || again != (store.Collected{Open: got.Open}) {
					t.Errorf("again it removed %+v, %v", again, err)
				}
			})
		}
	}
}

// listed is the operations by id; all of the database must be sound.
func listed(t *testing.T, r *store.Reader) string {
	t.Helper()
	var ids []string
	for _, op := range seen(t, r).Operations {
		ids = append(ids, op.Head.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// What stays is what it was, whatever kind of row refers to a large value.
func TestGCLeavesWhatStaysAsItWas(t *testing.T) {
	for kind, key := range map[string]*store.Key{"plain": nil, "encrypted": someKey(1)} {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			play(t, path, key, "1 gone session=gone\n1 stays session=s open")
			s := openUnder(t, path, key)
			deep := payload.NewObject(payload.Field{Name: "apart", Value: conversation(100)}, payload.Field{Name: "text", Value: payload.NewString(strings.Repeat("y", 5000))})
			var want [][]operation.Row
			for i, v := range []payload.Value{noise(3000), conversation(70), deep, payload.NewString(strings.Repeat("long ", 900))} {
				rows := journaltest.EveryRow(fmt.Sprint("op-", i), v)
				commit(t, s, rows...)
				want = append(want, rows)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := store.GC(t.Context(), path, store.GCOptions{Before: day(40).Now(), Key: key, Clock: day(60)})
			if err != nil || got.Operations != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			r := readUnder(t, path, key)
			seen(t, r)
			for i, rows := range want {
				have, err := r.Rows(t.Context(), fmt.Sprint("op-", i))
				if err != nil {
					t.Fatal(err)
				}
				same(t, "rows", have, rows)
			}
		})
	}
}

// Of a damaged database nothing is removed.
func TestGCRemovesNothingItCanNotJudge(t *testing.T) {
	for name, breaks := range map[string]string{
		"a row that can't be read":        `UPDATE rows SET packed = 1, body = 'x' WHERE stage = 'intent'`,
		"a large value that can't be":     `UPDATE blobs SET packed = 1, text = 'x'`,
		"a row without its operation":     `UPDATE rows SET op = 77 WHERE stage = 'intent'`,
		"an operation that makes no time": `UPDATE operations SET began = 'x'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			play(t, path, nil, "1 gone session=gone\n1 stays session=s open")
			makeFile(t, path, breaks)
			_, err := store.GC(t.Context(), path, store.GCOptions{Before: day(40).Now(), Clock: day(60)})
			told(t, "gc", err, store.ErrDamaged, "")
			if n := namesIn(t, path, `SELECT count(*) FROM rows`); n != "4" {
				t.Errorf("%s rows are left, want 4", n)
			}
		})
	}
}

// gcChild collects, again and again, until it is killed.
func gcChild(path string) int {
	for {
		c, err := store.GC(context.Background(), path, store.GCOptions{Before: day(40).Now(), Clock: day(60), At: func(place string) { fmt.Printf("gc 0 0 %s\n", place) }})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if c.Operations == 0 {
			return 0
		}
	}
}

func TestGCIsKilled(t *testing.T) {
	for n := range 4 { // before the commit, after it, and later
		path := filepath.Join(t.TempDir(), "agentd.db")
		s := openStore(t, path)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var story strings.Builder
		for i := range 20 {
			fmt.Fprintf(&story, "1 gone-%d session=s%d\n1 stays-%d session=t%d open\n", i, i, i, i)
		}
		play(t, path, nil, story.String())
		killAfter(t, path+gcSuffix, n)
		ops := len(strings.Fields(listed(t, openReader(t, path))))
		if ops != 40 && ops != 20 {
			t.Errorf("killed at place %d it leaves %d operations, want 40 or 20", n, ops)
		}
		if got, err := store.GC(t.Context(), path, store.GCOptions{Before: day(40).Now(), Clock: day(60)}); err != nil || got.Operations != ops-20 {
			t.Errorf("the next removes %+v, %v", got, err)
		}
		listed(t, openReader(t, path))
	}
}

func TestGCWaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	openStore(t, path)
	if _, err := store.GC(t.Context(), path, store.GCOptions{Before: day(40).Now()}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v", err)
	}
}
