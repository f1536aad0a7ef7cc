package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// bookName is the file in the state folder that says what was installed.
const bookName = "installed.json"

// entry is one client's configuration that the hook was put into.
type entry struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Made    bool   `json:"made"`             // the file wasn't there before
	Program string `json:"program"`          // the SHA-256 of agentd-hook, as it was installed
	Folder  string `json:"folder,omitempty"` // the uppermost one that was made for the file, "" if none was
	Agentd  string `json:"agentd"`
	At      string `json:"at"`
	// Was is the backup of the file as it was before anything of ours stood in it, "" if there is none; Is is the
	// SHA-256 of the file as it was written.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
}

// book is what was installed from one state folder.
type book struct {
	path    string
	Entries []entry `json:"installed"`
}

// book reads the book of the request's state folder. A missing one is empty.
func (r *reader) book() *book {
	b := &book{path: filepath.Join(r.q.dir(), bookName)}
	c := r.file(b.path)
	if r.err == nil && c.before != nil {
		if err := json.Unmarshal(c.before, b); err != nil {
			r.fail(fmt.Errorf("%s: %w; remove it, and install again", b.path, err))
		}
	}
	return b
}

// Installed lists the clients that were installed from state folders, sorted, each once. A book that can't be read
// names none.
func Installed(dirs ...string) (names []string) {
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, bookName))
		var b book
		if err != nil || json.Unmarshal(text, &b) != nil {
			continue
		}
		for _, e := range b.Entries {
			names = append(names, e.Client)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// beforeUs is the file as it was before anything of ours stood in it, if nobody changed it since; nil if that can't be
// told.
func (r *reader) beforeUs(e entry, file Change) []byte {
	if e.Was == "" || e.Is != hash(file.before) {
		return nil
	}
	text, err := os.ReadFile(e.Was)
	if err != nil {
		return nil
	}
	if is, err := r.q.registered(text); err != nil || !bytes.Equal(is, file.before) { // another agentd wrote it, or somebody the backup
		return nil
	}
	return text
}

// remembers says where the file as it was before us is to be found after this install.
func (r *reader) remembers(e *entry, old entry, file Change, backup string) {
	e.Is = hash(file.after)
	switch {
	case old.Is != "" && old.Is == hash(file.before):
		e.Was = old.Was
	case file.before != nil && !bytes.Equal(file.before, file.after):
		bare, _, err := r.q.unregistered(file.before)
		if err == nil && bytes.Equal(bare, file.before) || len(bytes.TrimSpace(file.before)) == 0 {
			e.Was = backup
		}
	}
}

func (b *book) entry(client, file string) (entry, bool) {
	for _, e := range b.Entries {
		if e.Client == client && e.File == file {
			return e, true
		}
	}
	return entry{Client: client, File: file}, false
}

// others counts the entries beside one.
func (b *book) others(e entry) (n int) {
	for _, o := range b.Entries {
		if o.Client != e.Client || o.File != e.File {
			n++
		}
	}
	return n
}

// write remembers an entry, in the place of an older one of the same file.
func (b *book) write(e entry) error {
	old, known := b.entry(e.Client, e.File)
	if at := e.At; known {
		if old.At = at; old == e { // nothing but the time
			return nil
		}
	}
	b.Entries = slices.DeleteFunc(b.Entries, func(o entry) bool { return o.Client == e.Client && o.File == e.File })
	b.Entries = append(b.Entries, e)
	return b.save()
}

// drop forgets an entry.
func (b *book) drop(e entry) error {
	if _, known := b.entry(e.Client, e.File); !known {
		return nil
	}
	b.Entries = slices.DeleteFunc(b.Entries, func(o entry) bool { return o.Client == e.Client && o.File == e.File })
	return b.save()
}

func (b *book) save() error {
	if len(b.Entries) == 0 {
		return os.Remove(b.path)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(b.path, append(text, '\n'), 0o600)
}
