package reload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Polling is off: each of these has to be seen by what the system reports, and so has a plain save
// after it.
func TestEverySaveStyleIsSeen(t *testing.T) {
	for _, s := range saves {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.needs != "" {
				if _, err := exec.LookPath(s.needs); err != nil {
					t.Skipf("%s isn't installed", s.needs)
				}
			}
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			first := s.first
			if s.before != nil {
				s.before(t, dir)
			} else {
				write(t, dir+"/hooks/a.star", "old")
				write(t, dir+"/hooks/lib/b.star", "old")
				first = files{"a.star": "old", "lib/b.star": "old"}
			}
			f := follow(t, []Root{{Dir: dir + "/hooks", Match: scripts}}, Options{Poll: -1}, nil)
			f.until(first)
			s.act(t, dir)
			f.until(s.want)

			later := files{"later.star": "later"}
			for name, text := range s.want {
				later[name] = text
			}
			for name := range s.want { // in each folder that is left
				name = filepath.Dir(name) + "/again.star"
				later[strings.TrimPrefix(name, "./")] = "later"
			}
			for name, text := range later {
				if s.want[name] == "" {
					write(t, dir+"/hooks/"+name, text)
				}
			}
			f.until(later)
		})
	}
}

func TestWhatIsNoSaveIsNotHandedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/hooks/a.star", "a")
	f := follow(t, []Root{{Dir: dir + "/hooks", Match: scripts}}, Options{Poll: -1}, nil)
	f.until(files{"a.star": "a"})
	must(t, os.Chmod(dir+"/hooks/a.star", 0o600))
	must(t, os.Chtimes(dir+"/hooks/a.star", time.Now(), time.Now()))
	write(t, dir+"/hooks/a.star", "a")
	for _, name := range []string{".a.star.swp", ".hidden.star", "a.star~", "4913", ".#a.star", "#a.star#", "a.star.swp", "notes.txt", ".git/a.star"} {
		write(t, dir+"/hooks/"+name, "dropped")
	}
	write(t, dir+"/hooks/b.star", "b")
	if got := <-f.sets; len(got.Files) != 2 {
		t.Errorf("a set of %d files was handed over, want only that with the new file", len(got.Files))
	}
}

// The writer saves a, then z, and makes a file in the folder a, then one in z. At no moment is z ahead
// of a, or a more than one ahead of z. Many files lie between the two, so that a look at one after the
// other takes its time.
func TestScanSeesOneMoment(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, n int) {
		write(t, dir+"/.save", fmt.Sprintf("%d %s", n, strings.Repeat("x", n%97)))
		must(t, os.Rename(dir+"/.save", dir+"/"+name))
	}
	for _, name := range []string{"a", "z"} {
		save(name+".star", 0)
		must(t, os.Mkdir(dir+"/"+name, 0o755))
	}
	for i := range 100 {
		write(t, fmt.Sprintf("%s/b/%d.star", dir, i), "between")
	}
	const saves = 300
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := 1; n <= saves; n++ {
			save("a.star", n)
			save("z.star", n)
			save(fmt.Sprintf("a/%d.star", n), n)
			save(fmt.Sprintf("z/%d.star", n), n)
		}
	}()
	w := New([]Root{{Dir: dir}}, nil, Options{})
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		s, err := w.Scan()
		if !done && errors.Is(err, ErrChanging) {
			continue
		}
		must(t, err)
		saved, made := map[string]int{}, map[string]int{}
		for _, f := range s.Files {
			if folder, _, below := strings.Cut(f.Name, "/"); below {
				made[folder]++
			} else {
				var n int
				fmt.Sscan(string(f.Text), &n)
				saved[f.Name] = n
			}
		}
		if d := saved["a.star"] - saved["z.star"]; d < 0 || d > 1 {
			t.Fatalf("a set with save %d of a and save %d of z", saved["a.star"], saved["z.star"])
		}
		if d := made["a"] - made["z"]; d < 0 || d > 1 {
			t.Fatalf("a set with %d files in a and %d in z", made["a"], made["z"])
		}
		if done && (saved["z.star"] != saves || made["z"] != saves) {
			t.Fatalf("the last set has save %d and %d files", saved["z.star"], made["z"])
		}
	}
}

func TestAnEmptiedFileKeepsTheLastGoodSet(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.star")
	write(t, a, "guard")
	write(t, filepath.Join(dir, "empty.star"), "")
	f := follow(t, []Root{{Dir: dir, Match: scripts}}, Options{}, nil)
	f.until(files{"a.star": "guard", "empty.star": ""})

	write(t, a, "")
	f.logged(ErrEmptied.Error())
	if len(f.sets) != 0 {
		t.Errorf("the set with the emptied file was handed over: %v", tree(<-f.sets))
	}
	if err := f.w.Err(); err == nil || !strings.Contains(err.Error(), "a.star") {
		t.Errorf("the fault is %v, want the file's name in it", err)
	}
	write(t, a, "guard 2")
	f.until(files{"a.star": "guard 2", "empty.star": ""})
	f.logged("can be taken over again")
	if err := f.w.Err(); err != nil {
		t.Errorf("the fault stays: %v", err)
	}
	must(t, os.Remove(a))
	f.until(files{"empty.star": ""})
}

func TestAFaultKeepsTheLastGoodSetUntilItIsMended(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.star"), "a")
	f := follow(t, []Root{{Dir: dir, Match: scripts}}, Options{Poll: -1}, nil)
	f.until(files{"a.star": "a"})
	write(t, filepath.Join(dir, "new/huge.star"), strings.Repeat("x", MaxFile+1))
	f.logged("too large")
	write(t, filepath.Join(dir, "new/huge.star"), "small")
	f.until(files{"a.star": "a", "new/huge.star": "small"})
}

func TestATargetsErrorIsKeptAndTheSetNotTriedAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.star"), "good")
	f := follow(t, []Root{{Dir: dir, Match: scripts}}, Options{Poll: time.Millisecond}, func(s Snapshot) error {
		if text := tree(s)["a.star"]; text != "good" {
			return fmt.Errorf("a.star: %s: %w", text, fs.ErrInvalid)
		}
		return nil
	})
	f.until(files{"a.star": "good"})
	write(t, filepath.Join(dir, "a.star"), "broken")
	f.until(files{"a.star": "broken"})
	write(t, filepath.Join(dir, "a.star"), "worse") // the next set, although many polls lie between
	if got := tree(<-f.sets)["a.star"]; got != "worse" {
		t.Errorf("after broken came %q", got)
	}
	write(t, filepath.Join(dir, "a.star"), "good")
	f.until(files{"a.star": "good"})
}
