package reload

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

func scan(t *testing.T, roots ...Root) Snapshot {
	t.Helper()
	s, err := New(roots, nil, Options{}).Scan()
	must(t, err)
	return s
}

func TestScanListsFilesByRootAndName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"hooks/b.star", "hooks/a/x.star", "hooks/a.star", "hooks/a/.hidden/y.star", "hooks/notes.md", "agentd.yaml", "other.yaml", "state/agentd.yaml"} {
		write(t, filepath.Join(dir, name), name)
	}
	s := scan(t,
		Root{Dir: dir + "/hooks/", Match: scripts},
		Root{Dir: dir, Match: func(rel string) bool { return rel == "agentd.yaml" }, Descend: func(string) bool { return false }},
		Root{Dir: dir + "/packages"},
	)
	var got []string
	for _, f := range s.Files {
		got = append(got, fmt.Sprint(f.Root, " ", f.Name))
	}
	want := []string{"0 a.star", "0 a/x.star", "0 b.star", "1 agentd.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if string(s.Files[1].Text) != "hooks/a/x.star" {
		t.Errorf("text is %q", s.Files[1].Text)
	}
	if got := len(s.Under(1)); got != 1 {
		t.Errorf("%d files under the second root, want 1", got)
	}
}

func TestTheHashSaysWhetherSetsAreEqual(t *testing.T) {
	set := func(files map[string]string) Snapshot {
		dir := t.TempDir()
		for name, text := range files {
			write(t, filepath.Join(dir, name), text)
		}
		return scan(t, Root{Dir: dir}, Root{Dir: dir + "/a"})
	}
	base := set(files{"a/x": "1", "b": "2"})
	if again := set(files{"a/x": "1", "b": "2"}); again.Hash != base.Hash {
		t.Error("the same files in another folder have another hash")
	}
	for _, other := range []files{{}, {"a/x": "1"}, {"a/x": "2", "b": "1"}, {"a/x": "1", "c": "2"}, {"x": "1", "b": "2"}, {"a/x": "1", "b": "2", "c": ""}} {
		if got := set(other); got.Hash == base.Hash {
			t.Errorf("%v has the hash of other files", other)
		}
	}
	const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := scan(t, Root{Dir: t.TempDir() + "/missing"}); got.Hash != empty {
		t.Errorf("no files have the hash %s, want that of nothing", got.Hash)
	}
	if f := set(files{"b": ""}).Files[0]; f.Hash != empty {
		t.Errorf("an empty file has the hash %s, want that of nothing", f.Hash)
	}
}

func TestScanFollowsLinksButNotInCircles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/elsewhere/deep/x.star", "x")
	write(t, dir+"/elsewhere/y.txt", "y")
	write(t, dir+"/hooks/a.star", "a")
	for link, to := range map[string]string{
		"lib": "../elsewhere", "self": ".", "up": "..", "b.star": "a.star", "c.star": "../elsewhere/y.txt", "dangling.star": "nowhere", "loop.star": "loop.star",
	} {
		must(t, os.Symlink(to, dir+"/hooks/"+link))
	}
	got := tree(scan(t, Root{Dir: dir + "/hooks", Match: scripts, Descend: func(rel string) bool { return !strings.HasPrefix(rel, "up") }}))
	want := files{"a.star": "a", "b.star": "a", "c.star": "y", "lib/deep/x.star": "x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name := range tree(scan(t, Root{Dir: dir + "/hooks"})) { // now also through ..
		if strings.Count(name, "/") > 4 {
			t.Errorf("%s was reached in a circle", name)
		}
	}
}

func TestScanRefusesWhatIsTooMuch(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(dir string)
		want error
		text string
	}{
		"a large file": {func(dir string) { write(t, dir+"/a/big.star", strings.Repeat("x", MaxFile+1)) }, ErrTooLarge, "a/big.star: too large: 1048577 bytes, want at most 1048576"},
		"many bytes": {func(dir string) {
			for i := range MaxTotal/MaxFile + 1 {
				write(t, fmt.Sprintf("%s/%02d.star", dir, i), strings.Repeat("x", MaxFile))
			}
		}, ErrTooLarge, "64.star: too large: with it the files have more than 67108864 bytes together"},
		"many files": {func(dir string) {
			for i := range MaxFiles + 1 {
				write(t, fmt.Sprintf("%s/%d.star", dir, i), "")
			}
		}, ErrTooMany, "too many files: more than 4096"},
		"many folders": {func(dir string) {
			for i := range MaxFolders {
				must(t, os.MkdirAll(fmt.Sprintf("%s/d/%d", dir, i), 0o755))
			}
		}, ErrTooMany, "too many files: more than 1024 folders"},
		"folders behind links, again and again": {func(dir string) {
			for i := range 12 {
				must(t, os.MkdirAll(fmt.Sprintf("%s/%d", dir, i), 0o755))
				must(t, os.Symlink(fmt.Sprintf("../%d", i+1), fmt.Sprintf("%s/%d/a", dir, i)))
				must(t, os.Symlink(fmt.Sprintf("../%d", i+1), fmt.Sprintf("%s/%d/b", dir, i)))
			}
			must(t, os.MkdirAll(dir+"/12", 0o755))
		}, ErrTooMany, "folders"},
	} {
		dir := t.TempDir()
		c.fill(dir)
		_, err := New([]Root{{Dir: dir, Match: scripts}}, nil, Options{}).Scan()
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error is %v, want %q", name, err, c.text)
		}
	}
}

func TestScanNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/hooks", "a file")
	if _, err := New([]Root{{Dir: dir + "/hooks"}}, nil, Options{}).Scan(); err == nil || !strings.HasSuffix(err.Error(), "hooks: not a folder") {
		t.Errorf("a file as root: %v", err)
	}
	write(t, dir+"/bad/\xff.star", "")
	if _, err := New([]Root{{Dir: dir + "/bad"}}, nil, Options{}).Scan(); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a name that is no text: %v", err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root can read everything")
	}
	write(t, dir+"/secret/a.star", "")
	must(t, os.Chmod(dir+"/secret/a.star", 0))
	if _, err := New([]Root{{Dir: dir + "/secret"}}, nil, Options{}).Scan(); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "a.star") {
		t.Errorf("a file that can't be read: %v", err)
	}
}

func TestADroppingIsKnownByItsName(t *testing.T) {
	for name, want := range map[string]bool{
		".a.star.swp": true, "a.star~": true, "4913": true, ".#a.star": true, "#a.star#": true, ".git": true, "..data": true, "a.star.swp": true, "a.swx": true,
		"a.star": false, "4913.star": false, "a~b.star": false, "#a.star": false, "swp": false, "lib": false,
	} {
		if got := isDropping(name); got != want {
			t.Errorf("isDropping(%q) is %v, want %v", name, got, want)
		}
	}
}

func TestAChangeOfModeIsNoHintAndALostEventIs(t *testing.T) {
	events, errs := make(chan fsnotify.Event), make(chan error)
	n := &notifier{
		fs:    &fsnotify.Watcher{Events: events, Errors: errs},
		log:   slog.New(slog.DiscardHandler),
		hints: make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	go n.pump()
	events <- fsnotify.Event{Name: "a", Op: fsnotify.Chmod}
	errs <- fsnotify.ErrEventOverflow // taken only after the event was dealt with
	<-n.hints
	for range 10 {
		events <- fsnotify.Event{Name: "a", Op: fsnotify.Write | fsnotify.Chmod}
	}
	<-n.hints
	close(events)
	close(errs)
	<-n.done
	if len(n.hints) > 1 {
		t.Errorf("%d hints wait, want them to be one", len(n.hints))
	}
}

func TestAFolderThatWasMadeAgainIsWatchedAgain(t *testing.T) {
	dir := t.TempDir()
	n, err := newNotifier(slog.New(slog.DiscardHandler))
	must(t, err)
	defer n.close()
	must(t, os.Mkdir(dir+"/a", 0o755))
	must(t, os.Mkdir(dir+"/b", 0o755))
	if !n.follow([]string{dir + "/a"}) || n.follow([]string{dir + "/a"}) {
		t.Error("the first watch of a folder is new, the second isn't")
	}
	must(t, os.Rename(dir+"/a", dir+"/old"))
	must(t, os.Mkdir(dir+"/a", 0o755))
	if !n.follow([]string{dir + "/a"}) {
		t.Error("another folder of the same name is new")
	}
	if !n.follow([]string{dir + "/b"}) {
		t.Error("another folder is new")
	}
	if got := n.fs.WatchList(); !cmp.Equal(got, []string{dir + "/b"}) {
		t.Errorf("watched are %v, want only b", got)
	}
	if n.follow([]string{dir + "/missing"}) {
		t.Error("a missing folder is watched")
	}
}
