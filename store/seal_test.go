package store_test

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/store"
)

// fill writes something of everything that a database can hold.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	long := payload.NewString(strings.Repeat("a secret that is long enough for a place of its own; ", 300))
	for i, v := range []payload.Value{payload.NewString("a secret that stands in its row"), long, noise(9000)} {
		commit(t, s, journaltest.EveryRow(fmt.Sprint("op-", i), v)...)
	}
	call := operation.IntentRow{State: operation.Running}
	call.Head = operation.Head{ID: "call", Kind: "tool", SessionID: "session", RunID: "run", Tool: "shell", Began: zero}
	call.Final = payload.NewObject(payload.Field{Name: "arguments", Value: long})
	used, err := payload.ParseString(`{"usage":{"input_tokens":12,"output_tokens":3},"text":"and a model's secret answer"}`)
	if err != nil {
		t.Fatal(err)
	}
	model := begin(operation.Head{ID: "model", Kind: "model.chat", SessionID: "session", RunID: "run", Tool: "m", Began: zero})
	if err := s.Commit(t.Context(), operation.Commit{
		Rows:  []operation.Row{call, model, operation.OutcomeRow{Op: "model", Status: operation.Succeeded, Value: used}},
		Cells: []operation.Cell{{Session: "session", Name: "n", Value: payload.NewString("what a hook keeps in a session")}, {Name: "p", Value: long}},
	}); err != nil {
		t.Fatal(err)
	}
	keep(t, s, rev("first", hookpoints.Project, true))
	keep(t, s, rev("second", hookpoints.User, false))
}

// stored is the texts of a plain database as they lie there, and the names of its large values.
func stored(t *testing.T, path string) (texts [][]byte) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{`SELECT body FROM rows`, `SELECT text FROM blobs`, `SELECT hash FROM blobs`, `SELECT value FROM cells`, `SELECT manifest FROM revisions`} {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text []byte
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// namesIn is what a query of one column finds.
func namesIn(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// windowBytes is a length that nothing but a copy has in common with a text: a time is shorter.
const windowBytes = 32

// leaks counts the pieces of texts that stand in the file or its log.
func leaks(t *testing.T, path string, texts [][]byte) (n, pieces int) {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal", "-journal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	known := map[string]int{}
	for _, text := range texts {
		for at := 0; at+windowBytes <= len(text); at += 7 {
			known[string(text[at:at+windowBytes])]++
			pieces++
		}
	}
	for at := 0; at+windowBytes <= len(all); at++ {
		if times := known[string(all[at:at+windowBytes])]; times > 0 {
			n += times
			delete(known, string(all[at:at+windowBytes]))
		}
	}
	return n, pieces
}

// secrets is what must not be found where a key is: what a plain database holds, packed and not.
func secrets(t *testing.T) [][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	texts := stored(t, path)
	for _, text := range texts {
		if len(text) == 32 {
			texts = append(texts, []byte(hex.EncodeToString(text)))
		}
	}
	r := openReader(t, path)
	for _, id := range []string{"op-1", "op-2", "call"} { // what was packed, as it was before
		rows, err := r.Rows(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			enc, err := operation.EncodeRow(row)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range enc.Blobs {
				texts = append(texts, b.Text)
			}
		}
	}
	if n, pieces := leaks(t, path, texts[:len(stored(t, path))]); n < pieces*9/10 {
		t.Fatalf("of %d pieces only %d are found in a plain database, so the search is no good", pieces, n)
	}
	return texts
}

func TestAnEncryptedDatabaseHoldsNoText(t *testing.T) {
	texts := secrets(t)
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openUnder(t, path, someKey(1))
	fill(t, s)
	if n, _ := leaks(t, path, texts); n > 0 {
		t.Errorf("%d pieces of texts stand in the file and its log", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, _ := leaks(t, path, texts); n > 0 {
		t.Errorf("%d pieces of texts stand in the file", n)
	}
}

// everything is all that a reader can be asked.
type everything struct {
	Look      look
	Rows      []string // as they are written
	Run       string
	Cells     map[string]operation.Cell
	Trail     []store.TrailRow
	Used      [2]store.Usage
	Revisions []string
}

func ask(t *testing.T, r *store.Reader) (e everything) {
	t.Helper()
	ctx := t.Context()
	e.Look = seen(t, r)
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, op := range e.Look.Operations {
		rows, err := r.Rows(ctx, op.Head.ID)
		if err != nil {
			t.Fatal(err)
		}
		e.Rows = append(e.Rows, written(t, rows))
		e.Look.Operations[i].Updated = time.Time{}
	}
	for i := range e.Look.Sessions {
		e.Look.Sessions[i].Updated = time.Time{}
	}
	run, err := r.RunRows(ctx, "run")
	check()
	e.Run = written(t, run)
	e.Cells, err = r.Cells(ctx, "session")
	check()
	e.Trail, err = r.Trail(ctx, "session", 10)
	check()
	for i := range e.Trail {
		e.Trail[i].Updated = time.Time{}
	}
	e.Used[0], e.Used[1], err = r.Usage(ctx, "session", "run")
	check()
	for _, id := range []string{"first", "second"} {
		rev, err := r.Revision(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		e.Revisions = append(e.Revisions, fmt.Sprintf("%+v", *rev))
	}
	return e
}

// written is rows as texts, which compare faster than trees.
func written(t *testing.T, rows []operation.Row) string {
	t.Helper()
	var texts []string
	for _, r := range rows {
		e, err := operation.EncodeRow(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%s %s %d %s", e.Key.Op, e.Key.Stage, e.Key.N, e.Body))
	}
	return strings.Join(texts, "\n")
}

func TestAnEncryptedDatabaseAnswersAsAPlainOneDoes(t *testing.T) {
	var answers []everything
	v := noise(9000) // the same in both
	for _, key := range []*store.Key{nil, someKey(1)} {
		path := filepath.Join(t.TempDir(), "agentd.db")
		s := openUnder(t, path, key)
		fill(t, s)
		commit(t, s, operation.OutcomeRow{Op: "noise", Value: v})
		for i := range 100 { // so that some are in the table of operations
			commit(t, s, operation.OutcomeRow{Op: fmt.Sprint("more-", i)})
		}
		a := ask(t, s.Reader)
		same(t, "a reader's answers", ask(t, readUnder(t, path, key)), a)
		for i, rows := range a.Rows { // the noise of fill differs
			if strings.HasPrefix(rows, "op-2 ") {
				a.Rows[i] = ""
			}
		}
		answers = append(answers, a)
	}
	if len(answers[0].Trail) == 0 || answers[0].Used[0].Input != 12 {
		t.Fatalf("the trail or usage is empty: %+v", answers[0].Used)
	}
	same(t, "the answers", answers[1], answers[0])
}

func TestAKeyThatDoesNotFitIsRefused(t *testing.T) {
	a, b := someKey(1), someKey(2)
	for name, c := range map[string]struct {
		is, given *store.Key
		says      string
	}{
		"none for an encrypted one":    {a, nil, "name its key file in store.key_file"},
		"another for an encrypted one": {a, b, "was encrypted under another key"},
		"one for a plain one":          {nil, a, "isn't encrypted yet"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			s := openUnder(t, path, c.is)
			fill(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			before := contents(path)
			_, err := store.OpenReader(t.Context(), path, c.given)
			told(t, "the reader", err, store.ErrKey, c.says)
			_, err = store.Open(t.Context(), path, store.Options{Key: c.given})
			told(t, "the writer", err, store.ErrKey, c.says)
			if contents(path) != before {
				t.Error("the file has changed")
			}
			seen(t, readUnder(t, path, c.is))
		})
	}
}

// What somebody puts into an encrypted file, or moves about in it, is never read as something that
// was written there.
func TestTextsCanNotBeMovedOrPutIn(t *testing.T) {
	for name, breaks := range map[string]string{
		"the text of another operation": `UPDATE rows SET body = (SELECT body FROM rows WHERE id = 'b') WHERE id = 'a'`,
		"a plain text":                  `UPDATE rows SET packed = 0, body = '{"status":"succeeded"}' WHERE id = 'a'`,
		"a text that is cut":            `UPDATE rows SET body = x'00' WHERE id = 'a'`,
		"nothing":                       `UPDATE rows SET body = x'' WHERE id = 'a'`,
		"another stage":                 `UPDATE rows SET stage = 'after' WHERE id = 'a'`,
		"another number":                `UPDATE rows SET n = 1 WHERE id = 'a'`,
		"a changed bit":                 `UPDATE rows SET body = unhex(hex(substr(body, 1, 30)) || CASE substr(hex(body), 61, 2) WHEN '00' THEN '01' ELSE '00' END || hex(substr(body, 32))) WHERE id = 'a'`,
		"a compressed one's form":       `UPDATE rows SET packed = 3 WHERE id = 'a'`,
		"a key that is gone":            `DELETE FROM meta WHERE name = 'key'`,
		"a key that is cut":             `UPDATE meta SET value = x'00' WHERE name = 'key'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			s := openUnder(t, path, someKey(1))
			commit(t, s, operation.OutcomeRow{Op: "a", Value: payload.NewString("one of a")}, operation.OutcomeRow{Op: "b", Value: payload.NewString("one of b")})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			makeFile(t, path, breaks)
			r, err := store.OpenReader(t.Context(), path, someKey(1))
			if err == nil {
				defer r.Close()
				_, err = r.Rows(t.Context(), "a")
			}
			if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrKey) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestStateAndLargeValuesCanNotBeMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openUnder(t, path, someKey(1))
	if err := s.Commit(t.Context(), operation.Commit{
		Rows:  []operation.Row{operation.OutcomeRow{Op: "a", Value: noise(2000)}, operation.OutcomeRow{Op: "b", Value: noise(2000)}},
		Cells: []operation.Cell{{Session: "s", Name: "a", Value: payload.NewInt(1)}, {Session: "s", Name: "b", Value: payload.NewInt(2)}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	makeFile(t, path, `UPDATE cells SET value = (SELECT value FROM cells WHERE name = 'b')`, `UPDATE blobs SET text = (SELECT text FROM blobs LIMIT 1)`)
	r := readUnder(t, path, someKey(1))
	if _, err := r.Cells(t.Context(), "s"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the cells give %v", err)
	}
	_, errA := r.Rows(t.Context(), "a")
	_, errB := r.Rows(t.Context(), "b")
	if !errors.Is(errors.Join(errA, errB), store.ErrDamaged) {
		t.Errorf("the rows give %v and %v", errA, errB)
	}
}

// The same texts in two databases under one key have nothing in common, so no two can be compared.
func TestDatabasesUnderOneKeyHaveNothingInCommon(t *testing.T) {
	var names [2][][]byte
	for i := range names {
		path := filepath.Join(t.TempDir(), "agentd.db")
		s := openUnder(t, path, someKey(1))
		keep(t, s, rev("first", hookpoints.Project, true))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		names[i] = stored(t, path)
	}
	for _, a := range names[0] {
		for _, b := range names[1] {
			if bytes.Equal(a, b) {
				t.Fatalf("both hold %x", a)
			}
		}
	}
}
