package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

func TestCheckFindsWhatIsWrong(t *testing.T) {
	large := payload.NewString(strings.Repeat("large ", 2000))
	for name, c := range map[string]struct{ breaks, finds string }{
		"a large value that is gone":       {`DELETE FROM blobs`, "is missing"},
		"a large value that has changed":   {`UPDATE blobs SET packed = 0, text = 'x'`, "its text has the hash"},
		"a large value that can't be read": {`UPDATE blobs SET text = 'x'`, "can't be read"},
		"a wrong size":                     {`UPDATE blobs SET size = 1`, "bytes, not 1"},
		"an unknown form":                  {`UPDATE rows SET packed = 7`, "unknown form 7"},
		"a row that isn't JSON":            {`UPDATE rows SET body = 'x' WHERE stage = 'outcome'`, "operation op: row op/outcome/0"},
		"an unknown stage":                 {`UPDATE rows SET stage = 'x' WHERE stage = 'outcome'`, "unknown to this agentd"},
		"a row without its operation":      {`DELETE FROM operations`, "of 3 rows 0 belong to an operation"},
		"a row that is cut off":            {`UPDATE rows SET prev = 0`, "of 3 rows 1 belong to an operation"},
		"a row twice":                      {`UPDATE rows SET stage = 'retry', n = 0, body = '{}' WHERE stage <> 'intent'`, "two rows retry 0"},
		"an operation listed wrongly":      {`UPDATE operations SET state = 'waiting'`, "listed as waiting, succeeded and its rows say finished, succeeded"},
		"another operation listed":         {`UPDATE operations SET tool = 'other'`, "listed as another one"},
		"a state that isn't JSON":          {`UPDATE cells SET value = '{'`, `state "n" of session "s"`},
		"a file of no revision":            {`PRAGMA foreign_keys = 0; INSERT INTO revision_files VALUES ('r', 'p', x'00')`, "of revision_files refers to"},
		"an index that disagrees":          {`PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'operations_open'; PRAGMA writable_schema = 0`, "the file: "},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			s := openStore(t, path)
			if err := s.Commit(t.Context(), operation.Commit{
				Rows:  append([]operation.Row{begin(operation.Head{ID: "op", Kind: "tool", Began: zero})}, operation.OutcomeRow{Op: "op", Status: operation.Succeeded, Value: large}, operation.AfterRow{Op: "op"}),
				Cells: []operation.Cell{{Session: "s", Name: "n", Value: large}},
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			rep, err := openReader(t, path).Check(t.Context())
			same(t, "the report before", rep, &store.Report{Operations: 1, Rows: 3, Blobs: 1})
			if err != nil {
				t.Fatal(err)
			}
			makeFile(t, path, c.breaks)
			rep, err = openReader(t, path).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(rep.Faults, "\n"), c.finds) {
				t.Errorf("the faults are %q, want one with %q", rep.Faults, c.finds)
			}
		})
	}
}

// A damaged database gives errors that say so, and never rows that weren't written.
func TestDamageIsNeverReadAsRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	var want []operation.Row
	for i := range 300 {
		row := operation.OutcomeRow{Op: fmt.Sprint("op-", i), Status: operation.Succeeded, Value: noise(500)}
		want = append(want, row)
	}
	commit(t, s, want...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for page := int64(1); page < 50; page += 3 {
		broken := filepath.Join(t.TempDir(), "agentd.db")
		writeFile(t, broken, contentsOf(t, path))
		overwrite(t, broken, page*4096, strings.Repeat("\xff", 4096))
		r, err := store.OpenReader(t.Context(), broken, nil)
		if err != nil {
			damaged++
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("page %d: the reader gets %v", page, err)
			}
			continue
		}
		for _, row := range want {
			rows, err := r.Rows(t.Context(), row.Key().Op)
			if err != nil {
				damaged++
				if !errors.Is(err, store.ErrDamaged) {
					t.Errorf("page %d: got %v, want ErrDamaged", page, err)
				}
				continue
			}
			if len(rows) > 0 {
				same(t, "rows", rows, []operation.Row{row})
			}
		}
		r.Close()
	}
	if damaged == 0 {
		t.Error("nothing was damaged")
	}
}

func contentsOf(t *testing.T, path string) string {
	t.Helper()
	return strings.TrimSuffix(contents(path), "<nil>")
}
