package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

// The benchmarks compare operations a second with bare SQLite that commits the same bytes twice an
// operation, one commit after the other:
//
//	go test -bench 'Bare|Operations' -benchtime 3s ./store
//
// Each prints ops/s. BenchmarkRatios runs all of them in turns and prints the ratios, because the
// disk's mood changes by the minute.

// call is the two commits of the n-th operation of one that works one operation after the other:
// what came out of the one before rides with the intent.
func call(who, n int) (first, second operation.Commit) {
	id := func(n int) string { return fmt.Sprintf("op-%04d-%09d", who, n) }
	session := fmt.Sprintf("session-%04d", who)
	input := payload.NewObject(payload.Field{Name: "command", Value: payload.NewString(fmt.Sprintf("grep -rn %d ", n) + strings.Repeat("internal/store ", 24))})
	record := hookpoints.Record{BindingID: "project/guard-shell", HookID: "guard-shell", Version: "v1", Point: "tool.before", Part: hookpoints.Ordinary, Ran: true, Fuel: int64(1000 + n), Bytes: 512, Micros: 3}
	if n > 0 {
		first.Rows = append(first.Rows, operation.AfterRow{Op: id(n - 1), Effective: payload.NewString(fmt.Sprintf("%d lines", n-1)), Chained: operation.Chained{Records: []hookpoints.Record{record}}})
	}
	first.Rows = append(first.Rows, operation.IntentRow{State: operation.Running, Decided: operation.Decided{
		Head:     operation.Head{ID: id(n), Parent: session + "/run/turn", Kind: "tool", RunID: session + "/run", SessionID: session, Agent: "default", Tool: "shell", Began: time.Unix(int64(n), 0)},
		Original: input, Final: input, Outcome: hookpoints.Continued, Chained: operation.Chained{Records: []hookpoints.Record{record}}}})
	second.Rows = []operation.Row{operation.OutcomeRow{Op: id(n), Status: operation.Succeeded, Value: payload.NewString(fmt.Sprintf("%d ", n) + strings.Repeat("a line that was found\n", 44))}}
	return first, second
}

// sizes is how many bytes of rows the two commits of an operation hold.
func sizes(t testing.TB) (first, second int) {
	size := func(c operation.Commit) (n int) {
		for _, r := range c.Rows {
			e, err := operation.EncodeRow(r)
			if err != nil {
				t.Fatal(err)
			}
			n += len(e.Body)
			for _, b := range e.Blobs {
				n += len(b.Text)
			}
		}
		return n
	}
	a, b := call(1, 1000)
	return size(a), size(b)
}

// workers counts who has ever worked, so that nobody works under an old name.
var workers atomic.Int64

// prepared is the commits of n operations, for so many who work at once.
func prepared(inFlight, n int) [][]operation.Commit {
	work := make([][]operation.Commit, inFlight)
	for i := range n {
		first, second := call(int(workers.Load())+i%inFlight, i/inFlight)
		work[i%inFlight] = append(work[i%inFlight], first, second)
	}
	workers.Add(int64(inFlight))
	return work
}

// rate does what is prepared and returns operations a second.
func rate(t testing.TB, s *store.Store, work [][]operation.Commit) float64 {
	n := 0
	var wg sync.WaitGroup
	began := time.Now()
	for _, commits := range work {
		n += len(commits) / 2
		wg.Go(func() {
			for _, c := range commits {
				if err := s.Commit(context.Background(), c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(began).Seconds()
}

// bare is SQLite with one table and one prepared statement.
type bare struct {
	db            *sql.DB
	insert        *sql.Stmt
	first, second []byte
}

func newBare(t testing.TB) *bare {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(t.TempDir(), "bare.db")+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE journal (seq INTEGER PRIMARY KEY, op TEXT, body BLOB)`); err != nil {
		t.Fatal(err)
	}
	b := &bare{db: db}
	if b.insert, err = db.Prepare(`INSERT INTO journal (op, body) VALUES (?, ?)`); err != nil {
		t.Fatal(err)
	}
	first, second := sizes(t)
	b.first, b.second = make([]byte, first), make([]byte, second)
	return b
}

func (b *bare) rate(t testing.TB, n int) float64 {
	began := time.Now()
	for i := range n {
		op := fmt.Sprintf("op-%04d-%09d", 1, i)
		for _, body := range [][]byte{b.first, b.second} {
			copy(body, op)
			if _, err := b.insert.Exec(op, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	return float64(n) / time.Since(began).Seconds()
}

func BenchmarkBare(b *testing.B) {
	x := newBare(b)
	b.ResetTimer()
	report(b, x.rate(b, b.N))
}

func BenchmarkOperations1(b *testing.B)  { benchmarkOperations(b, 1) }
func BenchmarkOperations32(b *testing.B) { benchmarkOperations(b, 32) }

func benchmarkOperations(b *testing.B, inFlight int) {
	s := openStore(b, filepath.Join(b.TempDir(), "agentd.db"))
	work := prepared(inFlight, b.N)
	b.ResetTimer()
	report(b, rate(b, s, work))
}

func report(b *testing.B, rate float64) { b.ReportMetric(rate, "ops/s") }

// BenchmarkRatios runs the three in short turns and compares medians; one iteration is one turn.
func BenchmarkRatios(b *testing.B) {
	x := newBare(b)
	one, many := openStore(b, filepath.Join(b.TempDir(), "agentd.db")), openStore(b, filepath.Join(b.TempDir(), "agentd.db"))
	rates := map[string][]float64{}
	b.ResetTimer()
	for range b.N {
		rates["bare"] = append(rates["bare"], x.rate(b, 100))
		rates["1"] = append(rates["1"], rate(b, one, prepared(1, 100)))
		rates["32"] = append(rates["32"], rate(b, many, prepared(32, 640)))
	}
	for _, list := range rates {
		slices.Sort(list)
	}
	median := func(name string) float64 { return rates[name][b.N/2] }
	b.ReportMetric(median("bare"), "bare-ops/s")
	b.ReportMetric(median("1"), "1-ops/s")
	b.ReportMetric(median("32"), "32-ops/s")
	b.ReportMetric(median("1")/median("bare"), "x1")
	b.ReportMetric(median("32")/median("bare"), "x32")
	first, second := sizes(b)
	b.ReportMetric(float64(first+second), "B/operation")
}

// BenchmarkOpen is what a command pays before it can ask.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "agentd.db")
	s := openStore(b, path)
	rate(b, s, prepared(8, 2000))
	b.Run("reader", func(b *testing.B) {
		for range b.N {
			r, err := store.OpenReader(b.Context(), path, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
	s.Close()
	b.Run("writer", func(b *testing.B) {
		for range b.N {
			s, err := store.Open(b.Context(), path, store.Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}

// BenchmarkRows reads one operation while the table of operations is behind by as many rows as it
// may be.
func BenchmarkRows(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), "agentd.db"))
	rate(b, s, prepared(1, store.IndexAfter-1))
	for {
		n, err := s.Behind(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if n >= store.IndexAfter-2 {
			break
		}
		rate(b, s, prepared(1, 1))
	}
	id := fmt.Sprintf("op-%04d-%09d", int(workers.Load())-1, 0)
	b.ResetTimer()
	for range b.N {
		if rows, err := s.Rows(b.Context(), id); err != nil || len(rows) == 0 {
			b.Fatal(len(rows), err)
		}
	}
}
