package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the bare one

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

// per is how long each way of committing is measured.
const per = time.Second

// commits: operations of two commits each, alone and many at once, against bare SQLite that commits
// the same bytes twice an operation, one by one.
func commits(ctx context.Context, dir string) ([]row, error) {
	var bare, alone, secret, many []float64
	key, err := store.NewKey([]byte("a key for figures, and nothing's")) // 32 bytes
	if err != nil {
		return nil, err
	}
	for i := range rounds {
		b, err := bareCommits(filepath.Join(dir, fmt.Sprintf("bare-%d.db", i)))
		if err != nil {
			return nil, err
		}
		one, err := operations(ctx, filepath.Join(dir, fmt.Sprintf("one-%d", i), "agentd.db"), 1, nil)
		if err != nil {
			return nil, err
		}
		all, err := operations(ctx, filepath.Join(dir, fmt.Sprintf("all-%d", i), "agentd.db"), 32, nil)
		if err != nil {
			return nil, err
		}
		hidden, err := operations(ctx, filepath.Join(dir, fmt.Sprintf("hidden-%d", i), "agentd.db"), 1, key)
		if err != nil {
			return nil, err
		}
		secret = append(secret, hidden)
		bare, alone, many = append(bare, b), append(alone, one), append(many, all)
	}
	b := median(bare)
	against := fmt.Sprintf("bare SQLite (%.0f/s)", b)
	return []row{
		{"operations a second, 1 in flight", against, fmt.Sprintf("%.2f (%.0f/s)", median(alone)/b, median(alone)), "at least 0.8"},
		{"the same, encrypted", "not encrypted", ratio(median(secret), median(alone)), "at least 0.9"},
		{"operations a second, 32 in flight", against, fmt.Sprintf("%.2f (%.0f/s)", median(many)/b, median(many)), "at least 4"},
	}, nil
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// rows of the operation n of a worker: about a kilobyte of payload.
func rowsOf(worker, n int) (intent, outcome operation.Row) {
	id := fmt.Sprintf("op-%d-%d", worker, n)
	in := payload.NewObject(payload.Field{Name: "arguments", Value: payload.NewString(strings.Repeat(id, 1000/len(id)))})
	h := operation.Head{ID: id, Kind: "tool", RunID: "run", SessionID: "s", Tool: "shell", Began: time.Unix(int64(n), 0)}
	return operation.IntentRow{Decided: operation.Decided{Head: h, Original: in, Final: in}, State: operation.Running},
		operation.OutcomeRow{Op: id, Value: payload.NewString("done"), Status: operation.Succeeded}
}

func operations(ctx context.Context, path string, inFlight int, key *store.Key) (float64, error) {
	s, err := store.Open(ctx, path, store.Options{Key: key})
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	counts, errs := make([]int, inFlight), make([]error, inFlight)
	start := time.Now()
	for w := range inFlight {
		wg.Go(func() {
			for n := 0; time.Since(start) < per && errs[w] == nil; n++ {
				intent, outcome := rowsOf(w, n)
				if errs[w] = s.Commit(ctx, operation.Commit{Rows: []operation.Row{intent}}); errs[w] == nil {
					errs[w] = s.Commit(ctx, operation.Commit{Rows: []operation.Row{outcome}})
				}
				counts[w]++
			}
		})
	}
	wg.Wait()
	total, took := 0, time.Since(start)
	for w := range inFlight {
		if errs[w] != nil {
			return 0, errs[w]
		}
		total += counts[w]
	}
	return float64(total) / took.Seconds(), s.Close()
}

// bareCommits writes the same bodies with nothing around them.
func bareCommits(path string) (float64, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return 0, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE rows (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)`); err != nil {
		return 0, err
	}
	insert, err := db.Prepare(`INSERT INTO rows (body) VALUES (?)`)
	if err != nil {
		return 0, err
	}
	n, start := 0, time.Now()
	for ; time.Since(start) < per; n++ {
		intent, outcome := rowsOf(0, n)
		for _, r := range []operation.Row{intent, outcome} {
			enc, err := operation.EncodeRow(r)
			if err != nil {
				return 0, err
			}
			if _, err := insert.Exec(enc.Body); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(start).Seconds(), db.Close()
}
