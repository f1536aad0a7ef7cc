package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agentd/internal/model/modeltest"
)

// world is one folder in which a scenario happens, with the witnesses.
type world struct {
	*scenario
	dir    string // home/, project/, witness
	server *modeltest.Server
}

func (s *scenario) newWorld(dir string) (*world, error) {
	w := &world{scenario: s, dir: dir, server: modeltest.New(nil, s.turns...)}
	w.server.ByReplies()
	return w, nil
}

func (w *world) project() string  { return filepath.Join(w.dir, "project") }
func (w *world) database() string { return filepath.Join(w.project(), ".agentd", "state", "agentd.db") }

// fresh makes everything new.
func (w *world) fresh() error {
	if err := os.RemoveAll(w.dir); err != nil {
		return err
	}
	w.server.Forget()
	for _, f := range w.files {
		name := filepath.Join(w.dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, bytes.ReplaceAll(f.Data, []byte("URL"), []byte(w.server.URL)), 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(w.dir, "home"), 0o755)
}

// lines are what tools and effects appended, sorted.
func (w *world) lines() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(w.dir, "witness"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.Sorted(slices.Values(strings.Fields(string(text)))), err
}

// tree is the files of the project but for agentd's own and git's.
func (w *world) tree() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(w.project(), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".agentd" || d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(name)
		out[strings.TrimPrefix(name, w.project()+"/")] = string(text)
		return err
	})
	return out, err
}

// conversation is what the model was asked last, without what differs from life to life.
func (w *world) conversation() ([]string, error) {
	all := w.server.Requests()
	if len(all) == 0 {
		return nil, nil
	}
	var last struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(all[len(all)-1], &last); err != nil {
		return nil, err
	}
	out := make([]string, len(last.Messages))
	for i, m := range last.Messages {
		out[i] = ids.ReplaceAllString(string(m), "ID")
	}
	return out, nil
}

// asked counts requests by how many replies they already had.
func (w *world) asked() (map[int]int, error) {
	out := map[int]int{}
	for _, r := range w.server.Requests() {
		n, err := modeltest.Replies(r)
		if err != nil {
			return nil, err
		}
		out[n]++
	}
	return out, nil
}

// ids are what agentd makes at random, and commits, which have times in them.
var ids = regexp.MustCompile(`(run|session)-\d{8}T\d{6}-[0-9a-f]{12}|\b[0-9a-f]{40}\b`)

func sameTree(a, b map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if b[name] != a[name] {
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}
