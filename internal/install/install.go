// Package install registers agentd's hook in the configuration of other agents, and takes it out again. Where
// each client keeps its configuration, and how that looks, is data: the table in clients.go.
//
// A file of a client is changed by cutting and pasting, so the comments, the order and the blanks of its owner
// stay. What can't be read is refused with its line, and then nothing is changed at all.
package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"agentd/internal/config"
)

// Request says what to install, or to take out.
type Request struct {
	Client Client
	User   bool // for all projects of this user, else for this one
	DryRun bool // only say what would change
	Places config.Places
	Policy config.Clients // which events fail closed
	Getenv func(string) string
	Now    time.Time // names the backup
}

// Result is what was changed, or would be.
type Result struct {
	Client  string   `json:"client"`
	Scope   string   `json:"scope"` // project or user
	DryRun  bool     `json:"dry_run"`
	Changes []Change `json:"changes"`
	Program string   `json:"program"` // what the client starts
}

// Change is a file that changes.
type Change struct {
	Path   string `json:"path"`
	What   string `json:"change"` // created, changed or removed
	Backup string `json:"backup,omitempty"`
	Diff   string `json:"diff,omitempty"` // unified; "" for programs

	before, after []byte // nil is no file
	mode          fs.FileMode
	remode        bool   // it isn't there with that mode
	folder        string // the uppermost one that goes too where nothing is left in it; "" if none
}

// dir is where the program stands: the state folder.
func (q Request) dir() string {
	if q.User {
		return q.Places.UserState
	}
	return q.Places.StateDir
}

func (q Request) scope() string {
	if q.User {
		return "user"
	}
	return "project"
}

// file is the configuration that is written.
func (q Request) file() string {
	if q.User {
		return q.resolve(q.Client.User)
	}
	return q.resolve(q.Client.Project)
}

// manifest is the plugin's.
func (q Request) manifest() string { return filepath.Join(filepath.Dir(q.file()), "..", "plugin.json") }

// resolve makes a path of the table one of this machine.
func (q Request) resolve(path string) string {
	for _, folder := range slices.Backward(sortedKeys(q.Client.Homes)) { // what is inside another one first
		moved := q.Getenv(q.Client.Homes[folder])
		if rest, ok := strings.CutPrefix(path+"/", folder+"/"); ok && moved != "" {
			return filepath.Join(moved, filepath.FromSlash(rest))
		}
	}
	switch {
	case strings.HasPrefix(path, "./"):
		return filepath.Join(q.Places.Project, filepath.FromSlash(path))
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(q.Getenv("HOME"), filepath.FromSlash(path[2:]))
	}
	return filepath.FromSlash(path)
}

// Install registers the hook at each event of the client. Doing it again changes nothing, or what a newer agentd
// has otherwise.
func Install(q Request) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, err
	}
	program, err := Program(q.Places.Program)
	if err != nil {
		return Result{}, err
	}
	r := reader{q: q}
	file := r.file(q.file())
	if r.err == nil && file.before != nil && q.Client.Plugin == "" {
		if err := q.Client.reads(file.before); err != nil {
			return Result{}, fmt.Errorf("%s: %w; nothing was changed", file.Path, err)
		}
	}
	if r.err == nil {
		if file.after, err = q.registered(file.before); err != nil {
			return Result{}, fmt.Errorf("%s: %w; nothing was changed", file.Path, err)
		}
	}
	book := r.book()
	changes := []Change{r.exactly(q.program(), program, 0o700), r.exactly(filepath.Join(q.dir(), argvName), q.argv(), 0o600)}
	if q.Client.Manifest != "" {
		changes = append(changes, r.exactly(q.manifest(), []byte(q.Client.Manifest+"\n"), 0o644))
	}
	changes = append(changes, file)
	if r.err != nil {
		return Result{}, r.err
	}
	old, known := book.entry(q.Client.Name, file.Path)
	e := entry{Client: q.Client.Name, File: file.Path, Made: file.before == nil || known && old.Made, Program: hash(program), Agentd: q.Places.Program, At: q.Now.UTC().Format(time.RFC3339)}
	if e.Folder = old.Folder; file.before == nil {
		if made := missing(filepath.Dir(file.Path)); made != "" {
			e.Folder = made
		}
	}
	r.remembers(&e, old, file, q.backup(file.Path))
	return q.apply(changes, func() error { return book.write(e) })
}

// registered is a configuration with the hook in it.
func (q Request) registered(text []byte) ([]byte, error) {
	if q.Client.Plugin != "" {
		return q.plugin(text)
	}
	var want []wanted
	for _, reg := range q.Client.Registrations(q.Policy) {
		want = append(want, wanted{reg.Event, q.Client.handler(reg, q.program(), q.User)})
	}
	return q.Client.merge(text, want)
}

// unregistered is a configuration without the hook. Empty reports that nothing of anybody is left.
func (q Request) unregistered(text []byte) (out []byte, empty bool, err error) {
	if q.Client.Plugin == "" {
		return q.Client.without(text)
	}
	if !ourPlugin(text) {
		return text, false, nil
	}
	return nil, true, nil
}

// Uninstall takes out what Install put in, and nothing else.
func Uninstall(q Request) (Result, error) {
	if err := q.check(); err != nil {
		return Result{}, err
	}
	r := reader{q: q}
	file := r.file(q.file())
	book := r.book()
	if r.err != nil {
		return Result{}, r.err
	}
	e, known := book.entry(q.Client.Name, file.Path)
	if file.before != nil {
		after, empty, err := q.unregistered(file.before)
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w; nothing was changed", file.Path, err)
		}
		if was := r.beforeUs(e, file); was != nil {
			after, empty = was, false
		}
		if file.after = after; empty && (known && e.Made || q.Client.Plugin != "") {
			file.after = nil
		}
	}
	file.folder = e.Folder
	changes := []Change{file}
	if q.Client.Manifest != "" {
		if c := r.file(q.manifest()); string(c.before) == q.Client.Manifest+"\n" {
			c.after, c.folder = nil, e.Folder
			changes = append(changes, c)
		}
	}
	if book.others(e) == 0 && !q.startedByOthers() {
		changes = append(changes, r.exactly(q.program(), nil, 0), r.exactly(filepath.Join(q.dir(), argvName), nil, 0))
	}
	if r.err != nil {
		return Result{}, r.err
	}
	return q.apply(changes, func() error { return book.drop(e) })
}

func (q Request) check() error {
	if !q.User && q.Places.Project == "" {
		return fmt.Errorf("%w, or install it for all of your projects with --user", config.ErrNoProject)
	}
	if q.User && q.Getenv("HOME") == "" {
		return errors.New("HOME isn't set, so there is no place for your own configuration; set it")
	}
	for _, path := range []string{q.dir(), q.Places.Program, q.Places.Project} {
		if err := checkPath(path); err != nil {
			return err
		}
	}
	return nil
}

// program is what the client starts.
func (q Request) program() string { return filepath.Join(q.dir(), programName) }

// argv is what the program becomes where no daemon answers, an argument a line.
func (q Request) argv() []byte {
	argv := []string{q.Places.Program}
	if !q.User {
		argv = append(argv, "--project", q.Places.Project, "--state-dir", q.Places.StateDir)
	}
	return []byte(strings.Join(argv, "\n") + "\n")
}

// apply does the changes that are some, and then what has to be remembered of them.
func (q Request) apply(all []Change, remember func() error) (Result, error) {
	res := Result{Client: q.Client.Name, Scope: q.scope(), DryRun: q.DryRun, Changes: []Change{}, Program: q.program()}
	for _, c := range all {
		if c.what(); c.What == "" {
			continue
		}
		if c.before != nil && c.Diff != "" && filepath.Base(c.Path) != argvName {
			c.Backup = q.backup(c.Path)
		}
		res.Changes = append(res.Changes, c)
	}
	if q.DryRun {
		return res, nil
	}
	for _, c := range res.Changes {
		if c.Backup != "" && c.mode&0o200 == 0 { // a rename would get around that
			return Result{}, fmt.Errorf("%s is read-only; make it writable, or ask who protected it; nothing was changed", c.Path)
		}
	}
	for _, c := range res.Changes {
		if err := c.do(); err != nil {
			return res, err
		}
	}
	return res, remember()
}

// backup is where a file is kept as it is now: a name that none has yet.
func (q Request) backup(path string) string {
	stem := filepath.Join(q.dir(), "backup", q.Client.Name+"-"+q.Now.UTC().Format("20060102T150405Z"))
	for n := 1; ; n++ {
		name := stem + "-" + filepath.Base(path)
		if n > 1 {
			name = stem + "-" + strconv.Itoa(n) + "-" + filepath.Base(path)
		}
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || n > maxBackups {
			return name
		}
	}
}

// maxBackups bounds how many are made in one second.
const maxBackups = 1000

// what says what sort of change it is, and shows it.
func (c *Change) what() {
	switch {
	case c.before == nil && c.after == nil:
		return
	case c.before == nil:
		c.What = "created"
	case c.after == nil:
		c.What = "removed"
	case bytes.Equal(c.before, c.after) && !c.remode:
		return
	default:
		c.What = "changed"
	}
	if bytes.IndexByte(c.before, 0) >= 0 || bytes.IndexByte(c.after, 0) >= 0 {
		return // a program
	}
	was, is := c.Path, c.Path
	if c.before == nil {
		was = "/dev/null"
	}
	if c.after == nil {
		is = "/dev/null"
	}
	_, text, _ := bytes.Cut(diff.Diff(was, c.before, is, c.after), []byte("\n")) // its own headline
	c.Diff = string(text)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
