package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

const (
	// childEnv makes the test binary a writer that runs until it is killed.
	childEnv = "AGENTD_STORE_TEST_CHILD"
	// killsEnv says how often TestKill kills; the long form is some hundred times.
	killsEnv = "AGENTD_STORE_TEST_KILLS"
	writers  = 6
)

// child writes as much as it can and says what was acknowledged: "writer operation rows" a line.
func child(path string) int {
	s, err := store.Open(context.Background(), path, store.Options{Key: killKey(path)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tag := strconv.Itoa(os.Getpid())
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				for rows, c := range killCommits(tag, w, i) {
					if err := s.Commit(context.Background(), c); err != nil {
						fmt.Fprintln(os.Stderr, err)
						os.Exit(1)
					}
					out.Lock()
					fmt.Printf("%s %d %d %d\n", tag, w, i, rows+1)
					out.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return 0
}

// killCommits is the three commits of the i-th operation of a writer, one row each.
func killCommits(tag string, w, i int) [3]operation.Commit {
	id, run := fmt.Sprintf("%s-%d-%d", tag, w, i), fmt.Sprintf("%s-%d", tag, w)
	large := payload.NewString(strings.Repeat(id+" ", 1+i%7*400))
	cells := []operation.Cell{{Session: run, Name: "n", Value: payload.NewInt(int64(i))}}
	return [3]operation.Commit{
		{Rows: []operation.Row{operation.IntentRow{State: operation.Running, Decided: operation.Decided{
			Head: operation.Head{ID: id, RunID: run, SessionID: run, Kind: "tool", Began: time.Unix(int64(i), 0).UTC()}, Original: large, Final: large}}}},
		{Rows: []operation.Row{operation.OutcomeRow{Op: id, Status: operation.Succeeded, Value: large}}},
		{Rows: []operation.Row{operation.AfterRow{Op: id, Effective: payload.NewString("ok")}}, Cells: cells},
	}
}

// acknowledged is what a child said of one operation.
type acknowledged struct {
	tag     string
	w, i, n int
}

// killKey is the key of the database that is encrypted.
func killKey(path string) *store.Key {
	if filepath.Base(filepath.Dir(path)) == "encrypted" {
		return someKey(1)
	}
	return nil
}

func TestKill(t *testing.T) {
	for _, kind := range []string{"plain", "encrypted"} {
		t.Run(kind, func(t *testing.T) { kill(t, filepath.Join(t.TempDir(), kind, "agentd.db")) })
	}
}

func kill(t *testing.T, path string) {
	kills := 4
	if testing.Short() {
		kills = 2
	}
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	total := 0
	for range kills {
		acks := killOnce(t, path)
		s := openUnder(t, path, killKey(path))
		for _, a := range acks {
			total += checkAcknowledged(t, s, a)
		}
		rep, err := s.Check(t.Context())
		if err != nil || len(rep.Faults) > 0 {
			t.Fatalf("%v: %v", err, rep)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows were acknowledged before %d kills, and are there", total, kills)
}

// startChild starts this program to do what arg says, with what it prints.
func startChild(t *testing.T, arg string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// killOnce lets a child write, kills it somewhere, and returns the last that it acknowledged of each
// operation.
func killOnce(t *testing.T, path string) []acknowledged {
	t.Helper()
	cmd, out := startChild(t, path)
	after := 1 + rand.IntN(800)
	best := map[string]acknowledged{}
	lines := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF { // a last line may be torn: it says nothing
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var a acknowledged
		if _, err := fmt.Sscan(line, &a.tag, &a.w, &a.i, &a.n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		best[fmt.Sprint(a.w, " ", a.i)] = a
		if n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(best) == 0 {
		t.Fatalf("the child ended with %v after %d operations", err, len(best))
	}
	acks := make([]acknowledged, 0, len(best))
	for _, a := range best {
		acks = append(acks, a)
	}
	return acks
}

// checkAcknowledged finds the acknowledged rows byte for byte, and perhaps later ones.
func checkAcknowledged(t *testing.T, s *store.Store, a acknowledged) int {
	t.Helper()
	commits := killCommits(a.tag, a.w, a.i)
	var want []operation.Row
	for _, c := range commits {
		want = append(want, c.Rows...)
	}
	rows, err := s.Rows(t.Context(), want[0].Key().Op)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < a.n || len(rows) > len(want) {
		t.Fatalf("of %+v %d rows are there", a, len(rows))
	}
	same(t, "rows", rows, want[:len(rows)])
	if a.n == len(want) {
		cells, err := s.Cells(t.Context(), fmt.Sprintf("%s-%d", a.tag, a.w))
		if n, _ := cells["n"].Value.Int64(); err != nil || n < int64(a.i) {
			t.Errorf("the state is %d after operation %d was acknowledged, %v", n, a.i, err)
		}
	}
	return a.n
}
