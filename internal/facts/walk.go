package facts

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxLinks     = 40  // that one path may take, as in Linux
	maxComponent = 255 // bytes of a name, where no file system is there to ask
)

// disk is what a walk reads. Names are absolute.
type disk interface {
	lstat(name string) (fs.FileInfo, error)
	readlink(name string) (string, error)
	names(dir string) ([]string, error) // of the entries of a folder
	procfs(dir string) bool             // the folder belongs to /proc, wherever that is mounted
}

// step is one name on the way.
type step struct {
	end     int // of the name in its trail
	id      identity
	folder  bool
	proc    bool // in /proc
	missing bool
}

// trail is a way from / without links and dots. Its first step is / itself.
type trail struct {
	path  string // "" is /
	steps []step
}

func (t trail) name() string {
	if t.path == "" {
		return "/"
	}
	return t.path
}

func (t trail) last() step { return t.steps[len(t.steps)-1] }

func (t trail) plus(name string, s step) trail {
	t.path += "/" + name
	s.end = len(t.path)
	t.steps = append(t.steps[:len(t.steps):len(t.steps)], s)
	return t
}

// up goes to the folder above; that of / is /.
func (t trail) up() trail {
	if n := len(t.steps); n > 1 {
		t.steps = t.steps[:n-1]
		t.path = t.path[:t.last().end]
	}
	return t
}

// inProc is the name of what lies at the end of the trail as /proc's own root has it.
func (t trail) inProc(name string) string {
	for _, s := range t.steps {
		if s.proc {
			return strings.TrimPrefix(t.path[s.end:]+"/"+name, "/")
		}
	}
	return ""
}

// ending is what came of following a path.
type ending struct {
	at      trail
	entry   string // the last name of the path, if it is a link
	kernel  string
	reason  string
	nowhere bool     // at means nothing
	folder  bool     // the path can name a folder only
	left    []string // folders that aren't there and that the way stepped up out of
}

// detour tells whether opening the path needs more folders than those of its own place.
func (e *ending) detour() bool {
	dir := path.Dir(e.at.name())
	return slices.ContainsFunc(e.left, func(left string) bool { return !within(left, dir) })
}

func (e *ending) say(kernel, reason string) {
	if e.kernel == "" || e.kernel == OK {
		e.kernel = kernel
	}
	e.reason = join(e.reason, reason)
}

func (e *ending) fail(kernel, reason string) { e.say(kernel, reason); e.nowhere = true }

type walker struct {
	disk  disk
	cwd   trail  // no steps if there is none
	lost  string // what is wrong with the working directory, for the kernel
	why   string // the same in words
	taken int    // links
}

func (w *walker) root() trail {
	s := step{folder: true}
	if info, err := w.disk.lstat("/"); err == nil {
		s.id = identify(info)
	}
	return trail{steps: []step{s}}
}

// setCwd resolves the working directory as a process's change into it would.
func (w *walker) setCwd(dir string) {
	if !strings.HasPrefix(dir, "/") {
		w.lost, w.why = Unknown, fmt.Sprintf("the working directory %q isn't absolute", dir)
		return
	}
	end := w.follow(dir)
	w.taken = 0
	switch {
	case end.kernel != OK:
		w.lost, w.why = end.kernel, fmt.Sprintf("the working directory %q can't be used", dir)
	case !end.at.last().folder:
		w.lost, w.why = "ENOTDIR", fmt.Sprintf("the working directory %q is no folder", dir)
	default:
		w.cwd = end.at
	}
}

func (w *walker) follow(given string) ending {
	e := ending{kernel: OK}
	switch {
	case given == "":
		e.fail("ENOENT", "the path is empty")
	case strings.ContainsRune(given, 0):
		e.fail(NUL, "")
	case !slashed:
		e.fail(Unknown, "paths of this system aren't followed")
	case len(given) >= maxPath:
		e.fail("ENAMETOOLONG", "")
	case strings.HasPrefix(given, "/"):
		e.at = w.root()
	case len(w.cwd.steps) == 0:
		e.fail(w.lost, w.why)
	default:
		e.at = w.cwd
	}
	for rest := strings.TrimLeft(given, "/"); rest != "" && !e.nowhere; {
		rest = strings.TrimLeft(w.next(&e, rest), "/")
	}
	return e
}

// next takes the first name of rest and returns what is still to follow.
func (w *walker) next(e *ending, rest string) string {
	name, rest, more := strings.Cut(rest, "/")
	e.folder = more
	here := e.at.last()
	switch name {
	case ".":
		e.folder = true
		return rest
	case "..":
		e.folder = true
		if here.missing {
			e.left = append(e.left, e.at.path)
		}
		if here.proc && path.Base(e.at.path) == threadSelf {
			e.fail(Unknown, "what lies above /proc/thread-self depends on the process that opens it")
		}
		e.at = e.at.up()
		return rest
	}
	if here.missing {
		if len(name) > maxComponent {
			e.fail("ENAMETOOLONG", fmt.Sprintf("a name of %d bytes can't be made", len(name)))
		}
		e.at = e.at.plus(name, step{missing: true})
		return rest
	}
	full := e.at.path + "/" + name
	if here.proc {
		switch meaning := procLink(e.at.inProc(name)); meaning {
		case procPlain:
		case procProcess:
			e.at = e.at.plus(name, step{id: here.id, folder: true, proc: true})
			return rest
		case procCwd, procRoot:
			return w.jump(e, meaning, full, rest, more)
		case procOpaque:
			e.fail(Unknown, full+" depends on the process that opens it")
			return ""
		}
	}
	info, err := w.disk.lstat(full)
	switch errno := errnoOf(err); {
	case err == nil:
	case errno == syscall.ENOENT:
		e.say("ENOENT", "")
		e.at = e.at.plus(name, step{missing: true})
		return rest
	case errno == syscall.ENAMETOOLONG && len(name) <= maxComponent && len(full) >= maxPath:
		// a process gets here step by step, as no single name does
		e.fail(Unknown, "the real name is longer than the system takes")
		return ""
	default:
		e.fail(errnoName(err), fmt.Sprintf("%s can't be looked at", full))
		return ""
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return w.link(e, full, rest, more)
	}
	at := step{id: identify(info), folder: info.IsDir()}
	if at.folder {
		at.proc = here.proc && at.id.dev == here.id.dev || at.id.dev != here.id.dev && w.disk.procfs(full)
	} else if more {
		e.fail("ENOTDIR", full+" is no folder")
		return ""
	}
	e.at = e.at.plus(w.stored(e.at.path, name, info), at)
	return rest
}

// count takes one more link, if there may be one.
func (w *walker) count(e *ending, full string, more bool) bool {
	if w.taken++; w.taken > maxLinks {
		e.fail("ELOOP", "")
		return false
	}
	if !more && e.entry == "" { // nothing of the path is left, nor of another link
		e.entry = full
	}
	return true
}

// link puts a link's target in front of what is still to follow.
func (w *walker) link(e *ending, full, rest string, more bool) string {
	if !w.count(e, full, more) {
		return ""
	}
	target, err := w.disk.readlink(full)
	if err != nil || target == "" {
		e.fail(Unknown, full+" changed while it was looked at")
		return ""
	}
	if strings.HasPrefix(target, "/") {
		e.at = w.root()
	}
	if more {
		return target + "/" + rest
	}
	return target
}

// jump takes a link of /proc/self, which leads to a folder and not to a name.
func (w *walker) jump(e *ending, to int, full, rest string, more bool) string {
	if !w.count(e, full, more) {
		return ""
	}
	switch {
	case to == procRoot:
		e.at = w.root()
	case len(w.cwd.steps) == 0:
		e.fail(Unknown, join(full+" isn't known", w.why))
	default:
		e.at = w.cwd
	}
	e.folder = true
	return rest
}

// stored is an entry's name as its folder has it: file systems that don't tell case or Unicode forms
// apart find it under others too, and a rule about names must see one of them only.
func (w *walker) stored(dir, name string, info fs.FileInfo) string {
	other := otherForm(name)
	if other == name {
		return name
	}
	if twin, err := w.disk.lstat(dir + "/" + other); err != nil || !sameFile(info, twin) {
		return name
	}
	names, err := w.disk.names(dir + "/")
	if err != nil {
		return name
	}
	found := name
	for _, n := range names {
		if n == name { // two links of one file
			return name
		}
		if strings.EqualFold(norm.NFC.String(n), norm.NFC.String(name)) {
			found = n
		}
	}
	return found
}

// otherForm is another spelling that only a file system which folds names takes for the same.
func otherForm(name string) string {
	swapped := strings.Map(func(r rune) rune {
		if u := unicode.ToUpper(r); u != r {
			return u
		}
		return unicode.ToLower(r)
	}, name)
	if swapped != name {
		return swapped
	}
	if apart := norm.NFD.String(name); apart != name {
		return apart
	}
	return norm.NFC.String(name)
}
