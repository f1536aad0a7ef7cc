package facts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// placeOf follows a path in the fixture; {ROOT} stands for its folder, in the result too.
func placeOf(t *testing.T, d disk, root, path, cwd string, o Options) Place {
	t.Helper()
	at := func(s string) string { return strings.ReplaceAll(s, "{ROOT}", root) }
	o.Root = at(o.Root)
	p := real(t.Context(), d, at(path), at(cwd), o)
	for _, s := range []*string{&p.Real, &p.Entry, &p.Reason} {
		*s = strings.ReplaceAll(*s, root, "{ROOT}")
	}
	for i, s := range p.SameFileAs {
		p.SameFileAs[i] = strings.ReplaceAll(s, root, "{ROOT}")
	}
	return p
}

func TestEntryIsWhatARemovalActsOn(t *testing.T) {
	root := fixture(t)
	for _, c := range []struct {
		path, real, entry string
		inside, entryIn   bool
	}{
		{"a.txt", "{ROOT}/ws/a.txt", "{ROOT}/ws/a.txt", true, true},
		{"new.txt", "{ROOT}/ws/new.txt", "{ROOT}/ws/new.txt", true, true},
		{"to_out", "{ROOT}/out", "{ROOT}/ws/to_out", false, true},
		{"to_out/", "{ROOT}/out", "{ROOT}/out", false, false},
		{"to_out/.", "{ROOT}/out", "{ROOT}/out", false, false},
		{"to_out/secret.txt", "{ROOT}/out/secret.txt", "{ROOT}/out/secret.txt", false, false},
		{"chain1", "{ROOT}/out", "{ROOT}/ws/chain1", false, true},
		{"dangle_out", "{ROOT}/out/not-there.txt", "{ROOT}/ws/dangle_out", false, true},
		{"{ROOT}/home/dev/proj", "{ROOT}/ws", "{ROOT}/home/dev/proj", true, false},
		{"lnk_slash", "{ROOT}/out", "{ROOT}/ws/lnk_slash", false, true},
		{"here/up/ws/to_file", "{ROOT}/out/secret.txt", "{ROOT}/ws/to_file", false, true},
		{"{ROOT}/out/back_ws/to_file", "{ROOT}/out/secret.txt", "{ROOT}/ws/to_file", false, true},
	} {
		p := placeOf(t, system{}, root, c.path, "{ROOT}/ws", Options{Root: "{ROOT}/ws"})
		if p.Real != c.real || p.Entry != c.entry || p.Inside != c.inside || p.EntryInside != c.entryIn {
			t.Errorf("%s: %+v, want %+v", c.path, p, c)
		}
	}
}

func TestWhatCanBeMade(t *testing.T) {
	root := fixture(t)
	long := strings.Repeat("n", 256)
	for _, c := range []struct {
		path, real, kernel string
		creatable          bool
	}{
		{"new.txt", "{ROOT}/ws/new.txt", "ENOENT", true},
		{"new/deep/x.txt", "{ROOT}/ws/new/deep/x.txt", "ENOENT", true},
		{"new/./x.txt", "{ROOT}/ws/new/x.txt", "ENOENT", true},
		{"new/../new/x.txt", "{ROOT}/ws/new/x.txt", "ENOENT", true},
		{"new/../x.txt", "{ROOT}/ws/x.txt", "ENOENT", false},
		{"new/../to_out/x.txt", "{ROOT}/out/x.txt", "ENOENT", false},
		{"new/../loop1", "", "ENOENT", false},
		{"new/", "{ROOT}/ws/new", "ENOENT", false},
		{"new/.", "{ROOT}/ws/new", "ENOENT", false},
		{"new/x/..", "{ROOT}/ws/new", "ENOENT", false},
		{"dangle_in", "{ROOT}/ws/sub/not-there.txt", "ENOENT", true},
		{"dangle_in/", "{ROOT}/ws/sub/not-there.txt", "ENOENT", false},
		{"dangle_in/x", "{ROOT}/ws/sub/not-there.txt/x", "ENOENT", true},
		{"a.txt/", "", "ENOTDIR", false},
		{"a.txt/.", "", "ENOTDIR", false},
		{"a.txt/..", "", "ENOTDIR", false},
		{"to_file/x", "", "ENOTDIR", false},
		{long, "", "ENAMETOOLONG", false},
		{"new/" + long, "", "ENOENT", false},
		{strings.Repeat("./", 2048) + "a", "", "ENAMETOOLONG", false},
		{"self", "", "ELOOP", false},
	} {
		p := placeOf(t, system{}, root, c.path, "{ROOT}/ws", Options{})
		if p.Real != c.real || p.Kernel != c.kernel || p.Creatable != c.creatable {
			t.Errorf("%.60s: %+v, want %+v", c.path, p, c)
		}
		if (p.Real == "") != (p.Entry == "") || p.Inside || p.EntryInside {
			t.Errorf("%.60s: %+v", c.path, p)
		}
	}
}

func TestFortyLinksAndNoMore(t *testing.T) {
	root := fixture(t)
	if err := os.WriteFile(root+"/l0", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 41; i++ {
		if err := os.Symlink(fmt.Sprintf("l%d", i-1), fmt.Sprintf("%s/l%d", root, i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, kernel string }{
		{"l40", OK}, {"l41", "ELOOP"}, {strings.Repeat("here/", 40) + "a.txt", OK}, {strings.Repeat("here/", 41) + "a.txt", "ELOOP"},
	} {
		cwd := root + "/home/dev/proj" // has a link of its own, which doesn't count
		if strings.HasPrefix(c.path, "l") {
			cwd = root + "/home/dev/proj/up"
		}
		if p := Real(t.Context(), c.path, cwd, Options{}); p.Kernel != c.kernel {
			t.Errorf("%.20s: %+v, want %s", c.path, p, c.kernel)
		}
	}
}

func TestWorkingDirectoriesThatAreNone(t *testing.T) {
	root := fixture(t)
	for _, c := range []struct{ path, cwd, real, kernel string }{
		{"a.txt", "", "", Unknown},
		{"a.txt", "ws", "", Unknown},
		{"a.txt", "{ROOT}/nosuch", "", "ENOENT"},
		{"a.txt", "{ROOT}/ws/a.txt", "", "ENOTDIR"},
		{"a.txt", "{ROOT}/ws/loop1", "", "ELOOP"},
		{"a.txt", "{ROOT}/ws\x00", "", NUL},
		{"{ROOT}/ws/a.txt", "{ROOT}/nosuch", "{ROOT}/ws/a.txt", OK},
		{"/proc/self/cwd/a.txt", "{ROOT}/nosuch", "", Unknown},
		{"a.txt", "/proc/self/cwd", "", Unknown},
	} {
		if strings.Contains(c.path+c.cwd, "/proc") && !(system{}).procfs("/proc") {
			continue
		}
		p := placeOf(t, system{}, root, c.path, c.cwd, Options{})
		if p.Real != c.real || p.Kernel != c.kernel || p.Real == "" && p.Reason == "" {
			t.Errorf("%s from %q: %+v, want %+v", c.path, c.cwd, p, c)
		}
	}
}

func TestLinksOfProcessesAreToldOrUnknown(t *testing.T) {
	if !(system{}).procfs("/proc") {
		t.Skip("there is no /proc here")
	}
	root := fixture(t)
	self := fmt.Sprintf("/proc/%d", os.Getpid())
	for _, c := range []struct{ path, real, kernel string }{
		{"/proc/self/cwd", "{ROOT}/ws", OK},
		{"/proc/self/cwd/", "{ROOT}/ws", OK},
		{"/proc/thread-self/cwd/a.txt", "{ROOT}/ws/a.txt", OK},
		{"/proc/self/cwd/new.txt", "{ROOT}/ws/new.txt", "ENOENT"},
		{"/proc/self/../self/cwd/a.txt", "{ROOT}/ws/a.txt", OK},
		{"/proc/self/task/../cwd/a.txt", "{ROOT}/ws/a.txt", OK},
		{"/proc/self/root", "/", OK},
		{"/proc/self/root/proc/self/root{ROOT}/out", "{ROOT}/out", OK},
		{"/proc/self/root/..", "/", OK},
		{"root_link/{ROOT}/out", "{ROOT}/out", OK},
		{"/proc/self", "/proc/self", OK},
		{"/proc/self/status", "/proc/self/status", OK},
		{"/proc/mounts", "/proc/self/mounts", OK},
		{"/proc/self/..", "/proc", OK},
		{"/proc/thread-self/..", "", Unknown},
		{"/proc/self/exe", "", Unknown},
		{"/proc/self/fd/0", "", Unknown},
		{"/proc/self/fd/98765", "", Unknown},
		{"/proc/self/fd/98765/../x", "", Unknown},
		{"/proc/self/ns/mnt", "", Unknown},
		{self + "/cwd", "", Unknown},
		{self + "/root/etc", "", Unknown},
		{self + "/task/" + filepath.Base(self) + "/cwd", "", Unknown},
		{"/dev/stdin", "", Unknown},
		{"/dev/fd/3", "", Unknown},
	} {
		if strings.HasPrefix(c.path, "/dev/") {
			if to, err := filepath.EvalSymlinks("/dev/fd"); err != nil || !strings.HasPrefix(to, "/proc/") {
				continue
			}
		}
		p := placeOf(t, system{}, root, c.path, "{ROOT}/ws", Options{})
		if p.Real != c.real || p.Kernel != c.kernel || p.Kernel == Unknown && p.Reason == "" {
			t.Errorf("%s: %+v, want %+v", c.path, p, c)
		}
	}
}

func TestRootsUnderOtherNamesAndRootsThatAreNone(t *testing.T) {
	root := fixture(t)
	for _, c := range []struct {
		root   string
		inside bool
	}{
		{"{ROOT}/ws", true}, {"{ROOT}/wslink", true}, {"{ROOT}/home/dev/proj/./", true}, {"{ROOT}", true}, {"/", true},
		{"{ROOT}/WS", false}, {"{ROOT}/ws/a.tx", false}, {"{ROOT}/w", false}, {"", false}, {"ws", false}, {"{ROOT}/ws/loop1", false},
		{"{ROOT}/nosuch/../ws", true}, {"{ROOT}/ws/a.txt", true},
	} {
		p := placeOf(t, system{}, root, "a.txt", "{ROOT}/ws", Options{Root: c.root})
		if p.Inside != c.inside || p.Real == "" {
			t.Errorf("root %s: %+v", c.root, p)
		}
	}
}

func TestOtherNamesAreSearchedWithinBounds(t *testing.T) {
	root := fixture(t)
	for i := range 30 {
		if err := os.WriteFile(fmt.Sprintf("%s/ws/sub/f%d", root, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(root+"/ws/a.txt", root+"/ws/sub/deep/again.txt"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		o    Options
		same []string
		why  string
	}{
		{"a.txt", Options{Root: "{ROOT}/ws"}, []string{"{ROOT}/ws/sub/deep/again.txt"}, ""},
		{"sub/deep/again.txt", Options{Root: "{ROOT}"}, []string{"{ROOT}/out/hard_in.txt", "{ROOT}/ws/a.txt"}, ""},
		{"a.txt", Options{Root: "{ROOT}/ws", Search: 20}, nil, "the search for other names ended before its last folder"},
		{"a.txt", Options{Root: "{ROOT}/ws", Search: -1}, nil, ""},
		{"a.txt", Options{}, nil, ""},
	} {
		p := placeOf(t, system{}, root, c.path, "{ROOT}/ws", c.o)
		if p.Links != 3 || p.Reason != c.why {
			t.Errorf("%s with %+v: %+v", c.path, c.o, p)
		}
		if diff := cmp.Diff(c.same, p.SameFileAs); diff != "" && !(strings.HasPrefix(c.why, "the search") && len(p.SameFileAs) < 2) {
			t.Errorf("%s with %+v: %s", c.path, c.o, diff)
		}
	}
	over, end := context.WithCancel(t.Context())
	end()
	if p := Real(over, "a.txt", root+"/ws", Options{Root: root}); p.Reason == "" || p.Links != 3 || p.Real == "" {
		t.Errorf("without time: %+v", p)
	}
	if p := Real(t.Context(), "sub", root+"/ws", Options{Root: root}); p.Links != 0 || !p.Exists {
		t.Errorf("a folder: %+v", p)
	}
}

// broken fails for some names as a disk can.
type broken struct {
	system
	fail map[string]error
	lie  map[string]string // links that turn out to be something else
}

func (b broken) lstat(name string) (fs.FileInfo, error) {
	for end, err := range b.fail {
		if strings.HasSuffix(name, end) {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
	}
	return os.Lstat(name)
}

func (b broken) readlink(name string) (string, error) {
	if why, ok := b.lie[filepath.Base(name)]; ok {
		return "", fmt.Errorf("%s: %s", name, why)
	}
	return os.Readlink(name)
}

func TestWhatCannotBeLookedAtIsNoPlace(t *testing.T) {
	root := fixture(t)
	d := broken{
		fail: map[string]error{"/docs/readme.md": syscall.EACCES, "/b.txt": syscall.EIO, "/c.txt": syscall.ENAMETOOLONG},
		lie:  map[string]string{"to_out": "no link any more"},
	}
	for _, c := range []struct{ path, kernel string }{
		{"docs/readme.md", "EACCES"}, {"docs/readme.md/x", "EACCES"}, {"sub/b.txt", "EIO"}, {"sub/deep/c.txt", "ENAMETOOLONG"}, {"to_out/secret.txt", Unknown},
	} {
		p := placeOf(t, d, root, c.path, "{ROOT}/ws", Options{Root: "{ROOT}"})
		if p.Kernel != c.kernel || p.Real != "" || p.Entry != "" || p.Inside || p.Reason == "" {
			t.Errorf("%s: %+v, want %s", c.path, p, c.kernel)
		}
	}
}

// folding is a disk that takes names for the same that differ in case.
type folding struct {
	system
	root string
}

// stored spells a name below root as it is on the disk.
func (f folding) stored(name string) string {
	rest, ok := strings.CutPrefix(name, f.root)
	if !ok {
		return name
	}
	here := f.root
	for _, part := range strings.Split(strings.Trim(rest, "/"), "/") {
		names, _ := f.names(here)
		if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, part) }); i >= 0 {
			part = names[i]
		}
		here += "/" + part
	}
	return here
}

func (f folding) lstat(name string) (fs.FileInfo, error) { return os.Lstat(f.stored(name)) }
func (f folding) readlink(name string) (string, error)   { return os.Readlink(f.stored(name)) }

func TestNamesAreTheFoldersOwnWhereCaseIsNotToldApart(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+"/Work/.git/Hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/Work/Été.txt", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../Work/.git", root+"/Work/Link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, real string }{
		{".GIT/hooks", "{ROOT}/Work/.git/Hooks"},
		{".GIT/hooks/Post-Commit", "{ROOT}/Work/.git/Hooks/Post-Commit"},
		{"LINK/HOOKS", "{ROOT}/Work/.git/Hooks"},
		{"éTÉ.TXT", "{ROOT}/Work/Été.txt"},
		{"Été.txt", "{ROOT}/Work/Été.txt"},
	} {
		p := placeOf(t, folding{root: root}, root, c.path, "{ROOT}/WORK", Options{Root: "{ROOT}/wORK"})
		if p.Real != c.real || !p.Inside {
			t.Errorf("%s: %+v, want %s", c.path, p, c.real)
		}
	}
	if err := os.Link(root+"/Work/Été.txt", root+"/Work/éTÉ.TXT"); err != nil {
		t.Fatal(err)
	}
	if p := placeOf(t, system{}, root, "éTÉ.TXT", "{ROOT}/Work", Options{}); p.Real != "{ROOT}/Work/éTÉ.TXT" {
		t.Errorf("two names of one file that differ in case: %+v", p)
	}
}

func TestPlacesAsScriptsSeeThem(t *testing.T) {
	p := Place{Real: "/a", Entry: "/l", Inside: true, Kernel: OK, Exists: true, Links: 2, SameFileAs: []string{"/b"}, Reason: "why"}
	want := `{"real":"/a","entry":"/l","inside":true,"entry_inside":false,"kernel":"ok","exists":true,"creatable":false,"links":2,"same_file_as":["/b"],"reason":"why"}`
	if got := p.Value().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want = `{"real":null,"entry":null,"inside":true,"entry_inside":false,"kernel":"ok","exists":true,"creatable":false,"links":1,"same_file_as":[null],"reason":"a name is no Unicode text"}`
	p = Place{Real: "/\xff", Inside: true, Kernel: OK, Exists: true, Links: 1, SameFileAs: []string{"/\xff"}}
	if got := p.Value().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want = `{"real":null,"entry":null,"inside":false,"entry_inside":false,"kernel":"NUL","exists":false,"creatable":false,"links":0,"same_file_as":[],"reason":""}`
	if got := Real(t.Context(), "\x00", "/", Options{}).Value().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkReal(b *testing.B) {
	root := fixture(b)
	for b.Loop() {
		Real(b.Context(), "sub/deep/out2/d.txt", root+"/ws", Options{Root: root + "/ws"})
	}
}
