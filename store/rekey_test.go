package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/operation"
	"agentd/store"
)

func TestRekeyChangesTheKeyAndNothingElse(t *testing.T) {
	texts := secrets(t)
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	fill(t, s)
	for i := range 3 * store.IndexAfter / 2 { // so that the table of operations is behind at the end
		commit(t, s, operation.OutcomeRow{Op: fmt.Sprint("more-", i)})
	}
	want := ask(t, s.Reader)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a, b := someKey(1), someKey(2)
	var was *store.Key
	for i, key := range []*store.Key{a, b, a, nil, b} {
		told := 0
		got, err := store.Rekey(t.Context(), path, store.RekeyOptions{From: was, To: key, Progress: func(done, total int) {
			if told = done; done > total {
				t.Errorf("%d of %d are done", done, total)
			}
		}})
		if err != nil || !got.Swept || got.Texts < want.Look.Report.Rows || told != got.Texts {
			t.Fatalf("change %d: %+v, %v, %d were told", i, got, err, told)
		}
		same(t, "the answers", ask(t, readUnder(t, path, key)), want)
		if n, _ := leaks(t, path, texts); key != nil && n > 0 {
			t.Errorf("change %d: %d pieces of texts are left", i, n)
		}
		for _, other := range []*store.Key{nil, a, b} {
			if other == key {
				continue
			}
			if _, err := store.OpenReader(t.Context(), path, other); !errors.Is(err, store.ErrKey) {
				t.Errorf("change %d: another key gets %v", i, err)
			}
		}
		s := openUnder(t, path, key) // it goes on
		commit(t, s, operation.OutcomeRow{Op: "more-0"})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		was = key
	}
	before := contents(path)
	if got, err := store.Rekey(t.Context(), path, store.RekeyOptions{From: a, To: b}); err != nil || got.Texts != 0 || !got.Swept {
		t.Errorf("what is done already gives %+v, %v", got, err)
	}
	if contents(path) != before {
		t.Error("and it has changed the file")
	}
}

func TestRekeyRefusesWhatItCanNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openUnder(t, path, someKey(1))
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(o store.RekeyOptions, want error, says string) {
		t.Helper()
		before := contents(path)
		_, err := store.Rekey(t.Context(), path, o)
		told(t, "rekey", err, want, says)
		if contents(path) != before {
			t.Error("the file has changed")
		}
	}
	refused(store.RekeyOptions{To: someKey(2)}, store.ErrKey, "rekey --from OLDFILE")
	refused(store.RekeyOptions{}, store.ErrKey, "rekey --from FILE")
	refused(store.RekeyOptions{From: someKey(3), To: someKey(2)}, store.ErrKey, "another key")
	held := openUnder(t, path, someKey(1))
	_, err := store.Rekey(t.Context(), path, store.RekeyOptions{From: someKey(1), To: someKey(2)})
	told(t, "rekey beside a writer", err, store.ErrInUse, "")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	makeFile(t, path, `UPDATE rows SET body = x'00' WHERE stage = 'retry'`) // one text of many
	refused(store.RekeyOptions{From: someKey(1), To: someKey(2)}, store.ErrDamaged, "doesn't open")
	if _, err := readUnder(t, path, someKey(1)).Rows(t.Context(), "call"); err != nil {
		t.Errorf("the old key: %v", err)
	}
}

// Somebody who reads keeps the log from being emptied: what is old may be in it, which is told, and
// done by the next.
func TestRekeyIsNotDoneWhileSomebodyReads(t *testing.T) {
	texts := secrets(t)
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	fill(t, s)
	reader := openReader(t, path)
	release, err := reader.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	key := someKey(1)
	got, err := store.Rekey(t.Context(), path, store.RekeyOptions{To: key})
	if err != nil || got.Texts == 0 || got.Swept {
		t.Fatalf("beside a reader: %+v, %v", got, err)
	}
	if left, err := readUnder(t, path, key).Unswept(t.Context()); err != nil || !left {
		t.Errorf("afterwards old texts are left: %v, %v", left, err)
	}
	release()
	if got, err = store.Rekey(t.Context(), path, store.RekeyOptions{To: key}); err != nil || got.Texts != 0 || !got.Swept {
		t.Errorf("again: %+v, %v", got, err)
	}
	if n, _ := leaks(t, path, texts); n > 0 {
		t.Errorf("%d pieces of texts are left", n)
	}
}

// rekeyChild changes the key of a database until it is killed, and says how far it is.
func rekeyChild(path string) int {
	_, err := store.Rekey(context.Background(), path, store.RekeyOptions{To: someKey(1), Progress: func(done, total int) {
		fmt.Printf("rekey 0 %d 1\n", done)
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// However often it is killed, the old key opens the database or the new one, never both or none, and
// beginning again comes to the end.
func TestRekeyIsKilled(t *testing.T) {
	texts := secrets(t)
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	fill(t, s)
	for i := range 15 {
		var rows []operation.Row
		for j := range 100 {
			rows = append(rows, operation.OutcomeRow{Op: fmt.Sprint("more-", i), N: j, Status: operation.Succeeded, Value: noise(1100)})
		}
		commit(t, s, rows...)
	}
	want := ask(t, s.Reader)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kills, committed := []int{0, 2, 4, 4, 5, 0}, 0 // after so many thousand texts; there are three, and the end
	if testing.Short() {
		kills = []int{0, 3, 4}
	}
	for i, n := range kills {
		killAfter(t, path+rekeySuffix, n)
		before, after := opens(t, path, nil), opens(t, path, someKey(1))
		if before == after {
			t.Fatalf("after kill %d the old key opens it: %v, the new one: %v", i, before, after)
		}
		if before {
			same(t, "the answers under the old key", ask(t, readUnder(t, path, nil)), want)
		} else {
			committed++
			same(t, "the answers under the new key", ask(t, readUnder(t, path, someKey(1))), want)
		}
	}
	if got, err := store.Rekey(t.Context(), path, store.RekeyOptions{To: someKey(1)}); err != nil || !got.Swept {
		t.Fatalf("to the end: %+v, %v", got, err)
	}
	same(t, "the answers at the end", ask(t, readUnder(t, path, someKey(1))), want)
	if n, _ := leaks(t, path, texts); n > 0 {
		t.Errorf("%d pieces of texts are left", n)
	}
	t.Logf("%d kills, %d of them after the commit", len(kills), committed)
}

// killAfter kills a child after so many lines, if it isn't done before.
func killAfter(t *testing.T, arg string, n int) {
	t.Helper()
	cmd, out := startChild(t, arg)
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() > 0 {
		t.Fatal(err)
	}
}

func opens(t *testing.T, path string, key *store.Key) bool {
	t.Helper()
	r, err := store.OpenReader(t.Context(), path, key)
	if err == nil {
		err = r.Close()
		return err == nil
	}
	if !errors.Is(err, store.ErrKey) {
		t.Fatal(err)
	}
	return false
}

// What a child does instead of writing.
const (
	rekeySuffix = "?rekey"
	gcSuffix    = "?gc"
)

func childOf(path string) int {
	if path, ok := strings.CutSuffix(path, rekeySuffix); ok {
		return rekeyChild(path)
	}
	if path, ok := strings.CutSuffix(path, gcSuffix); ok {
		return gcChild(path)
	}
	return child(path)
}

// A table whose texts are packed is one that Rekey has to know.
func TestRekeyKnowsEveryTableThatIsEncrypted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	if err := openStore(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	got := namesIn(t, path, `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'packed' ORDER BY m.name`)
	if want := "blobs cells revisions rows"; got != want {
		t.Errorf("texts are packed in %q, and Rekey does %q", got, want)
	}
}
