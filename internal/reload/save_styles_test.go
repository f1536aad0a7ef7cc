package reload

import (
	"fmt"
	"os"
	"os/exec"
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
