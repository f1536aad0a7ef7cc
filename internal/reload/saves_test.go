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

type files = map[string]string

// save is one way in which files change. dir is an empty folder; the root is dir/hooks.
type save struct {
	name   string
	before func(t *testing.T, dir string) // default: hooks/a.star and hooks/lib/b.star with "old"
	act    func(t *testing.T, dir string)
	first  files // what is there before; default as before
	want   files
	needs  string // a program
}

var saves = []save{
	{
		name: "truncate and write",
		act:  func(t *testing.T, dir string) { write(t, dir+"/hooks/a.star", "new") },
		want: files{"a.star": "new", "lib/b.star": "old"},
	},
	{
		name: "rename a finished file over the old one",
		act: func(t *testing.T, dir string) {
			write(t, dir+"/hooks/.a.star.tmp1", "new")
			must(t, os.Rename(dir+"/hooks/.a.star.tmp1", dir+"/hooks/a.star"))
		},
		want: files{"a.star": "new", "lib/b.star": "old"},
	},
	{
		name: "rename a file of last year over the old one",
		act: func(t *testing.T, dir string) {
			write(t, dir+"/elsewhere", "new")
			lastYear := time.Now().AddDate(-1, 0, 0)
			must(t, os.Chtimes(dir+"/elsewhere", lastYear, lastYear))
			must(t, os.Rename(dir+"/elsewhere", dir+"/hooks/a.star"))
		},
		want: files{"a.star": "new", "lib/b.star": "old"},
	},
	{
		name: "move the old one away, write, remove the backup",
		act: func(t *testing.T, dir string) {
			a := dir + "/hooks/a.star"
			write(t, dir+"/hooks/.a.star.swp", "swap")
			write(t, dir+"/hooks/4913", "")
			must(t, os.Remove(dir+"/hooks/4913"))
			must(t, os.Rename(a, a+"~"))
			write(t, a, "new")
			must(t, os.Remove(a+"~"))
			must(t, os.Remove(dir+"/hooks/.a.star.swp"))
		},
		want: files{"a.star": "new", "lib/b.star": "old"},
	},
	{
		name: "write in the middle of a file",
		act: func(t *testing.T, dir string) {
			f, err := os.OpenFile(dir+"/hooks/a.star", os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt([]byte("D"), 2)
			must(t, err)
			must(t, f.Close())
		},
		want: files{"a.star": "olD", "lib/b.star": "old"},
	},
	{
		name: "link over the old name",
		act: func(t *testing.T, dir string) {
			write(t, dir+"/hooks/.new", "new")
			must(t, os.Remove(dir+"/hooks/lib/b.star"))
			must(t, os.Link(dir+"/hooks/.new", dir+"/hooks/lib/b.star"))
		},
		want: files{"a.star": "old", "lib/b.star": "new"},
	},
	{
		name: "remove a file",
		act:  func(t *testing.T, dir string) { must(t, os.Remove(dir+"/hooks/lib/b.star")) },
		want: files{"a.star": "old"},
	},
	{
		name: "rename a file",
		act:  func(t *testing.T, dir string) { must(t, os.Rename(dir+"/hooks/a.star", dir+"/hooks/c.star")) },
		want: files{"c.star": "old", "lib/b.star": "old"},
	},
	{
		name: "make folders and a file in one go",
		act:  func(t *testing.T, dir string) { write(t, dir+"/hooks/x/y/z/c.star", "new") },
		want: files{"a.star": "old", "lib/b.star": "old", "x/y/z/c.star": "new"},
	},
	{
		name: "rename a folder",
		act:  func(t *testing.T, dir string) { must(t, os.Rename(dir+"/hooks/lib", dir+"/hooks/bil")) },
		want: files{"a.star": "old", "bil/b.star": "old"},
	},
	{
		name: "move a folder in from elsewhere",
		act: func(t *testing.T, dir string) {
			write(t, dir+"/elsewhere/deep/c.star", "new")
			must(t, os.Rename(dir+"/elsewhere", dir+"/hooks/more"))
		},
		want: files{"a.star": "old", "lib/b.star": "old", "more/deep/c.star": "new"},
	},
	{
		name: "remove the root and make it again",
		act: func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir+"/hooks"))
			write(t, dir+"/hooks/a.star", "new")
		},
		want: files{"a.star": "new"},
	},
	{
		name: "move the root away and another in its place",
		act: func(t *testing.T, dir string) {
			write(t, dir+"/next/c.star", "new")
			must(t, os.Rename(dir+"/hooks", dir+"/gone"))
			must(t, os.Rename(dir+"/next", dir+"/hooks"))
		},
		want: files{"c.star": "new"},
	},
	{
		name: "remove the root",
		act:  func(t *testing.T, dir string) { must(t, os.RemoveAll(dir+"/hooks")) },
		want: files{},
	},
	{
		name:   "make a root that wasn't there",
		before: func(*testing.T, string) {},
		first:  files{},
		act:    func(t *testing.T, dir string) { write(t, dir+"/hooks/lib/b.star", "new") },
		want:   files{"lib/b.star": "new"},
	},
	{
		name:   "swap what the files are links into",
		before: mounted,
		first:  files{"a.star": "old"},
		act: func(t *testing.T, dir string) {
			write(t, dir+"/hooks/..2/a.star", "new")
			must(t, os.Symlink("..2", dir+"/hooks/..data_tmp"))
			must(t, os.Rename(dir+"/hooks/..data_tmp", dir+"/hooks/..data"))
			must(t, os.RemoveAll(dir+"/hooks/..1"))
		},
		want: files{"a.star": "new"},
	},
	{
		name: "swap the link that the root is",
		before: func(t *testing.T, dir string) {
			write(t, dir+"/v1/a.star", "old")
			must(t, os.Symlink("v1", dir+"/hooks"))
		},
		first: files{"a.star": "old"},
		act: func(t *testing.T, dir string) {
			write(t, dir+"/v2/a.star", "new")
			must(t, os.Symlink("v2", dir+"/next"))
			must(t, os.Rename(dir+"/next", dir+"/hooks"))
		},
		want: files{"a.star": "new"},
	},
	{
		name: "write behind a link to a file elsewhere",
		before: func(t *testing.T, dir string) {
			write(t, dir+"/dotfiles/real.star", "old")
			write(t, dir+"/hooks/b.star", "old")
			must(t, os.Symlink("../dotfiles/real.star", dir+"/hooks/a.star"))
		},
		first: files{"a.star": "old", "b.star": "old"},
		act:   func(t *testing.T, dir string) { write(t, dir+"/dotfiles/real.star", "new") },
		want:  files{"a.star": "new", "b.star": "old"},
	},
	{
		name: "write behind a link to a folder elsewhere",
		before: func(t *testing.T, dir string) {
			write(t, dir+"/shared/deep/a.star", "old")
			must(t, os.MkdirAll(dir+"/hooks", 0o755))
			must(t, os.Symlink("../shared", dir+"/hooks/lib"))
		},
		first: files{"lib/deep/a.star": "old"},
		act:   func(t *testing.T, dir string) { write(t, dir+"/shared/deep/a.star", "new") },
		want:  files{"lib/deep/a.star": "new"},
	},
	{
		name: "write many files at once",
		act: func(t *testing.T, dir string) {
			for i := range 300 {
				write(t, fmt.Sprintf("%s/hooks/many/%d/%03d.star", dir, i%7, i), "new")
			}
			must(t, os.RemoveAll(dir+"/hooks/lib"))
		},
		want: func() files {
			all := files{"a.star": "old"}
			for i := range 300 {
				all[fmt.Sprintf("many/%d/%03d.star", i%7, i)] = "new"
			}
			return all
		}(),
	},
	{
		name:  "vim",
		needs: "vim",
		act: func(t *testing.T, dir string) {
			run(t, dir, "vim", "-u", "NONE", "-N", "-es", "-c", "set swapfile backup writebackup backupcopy=no backupdir=. directory=.", "-c", "%s/old/new/", "-c", "wq", "hooks/a.star")
		},
		want: files{"a.star": "new\n", "lib/b.star": "old"},
	},
	{
		name:  "vim, writing in place",
		needs: "vim",
		act: func(t *testing.T, dir string) {
			run(t, dir, "vim", "-u", "NONE", "-N", "-es", "-c", "set swapfile backupcopy=yes directory=.", "-c", "%s/old/new/", "-c", "wq", "hooks/lib/b.star")
		},
		want: files{"a.star": "old", "lib/b.star": "new\n"},
	},
	{
		name:  "sed -i",
		needs: "sed",
		act:   func(t *testing.T, dir string) { run(t, dir, "sed", "-i.bak", "s/old/new/", "hooks/a.star") },
		want:  files{"a.star": "new", "lib/b.star": "old"},
	},
	{
		name:  "git checkout",
		needs: "git",
		before: func(t *testing.T, dir string) {
			git := func(args ...string) {
				run(t, dir+"/hooks", "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"}, args...)...)
			}
			write(t, dir+"/hooks/x/c.star", "new")
			write(t, dir+"/hooks/a.star", "new")
			git("init", "-q", ".")
			git("add", ".")
			git("commit", "-qm", "one")
			git("tag", "new")
			write(t, dir+"/hooks/a.star", "old")
			must(t, os.RemoveAll(dir+"/hooks/x"))
			git("commit", "-qam", "two")
		},
		first: files{"a.star": "old"},
		act:   func(t *testing.T, dir string) { run(t, dir+"/hooks", "git", "checkout", "-q", "new") },
		want:  files{"a.star": "new", "x/c.star": "new"},
	},
}

func mounted(t *testing.T, dir string) {
	write(t, dir+"/hooks/..1/a.star", "old")
	must(t, os.Symlink("..1", dir+"/hooks/..data"))
	must(t, os.Symlink("..data/a.star", dir+"/hooks/a.star"))
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

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
