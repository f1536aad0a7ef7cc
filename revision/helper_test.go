package revision_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
	"agentd/interp/starlark"
	"agentd/operation"
	"agentd/revision"
)

type clock struct{}

func (clock) Nanos() int64 { return 0 }

func builder() *revision.Builder {
	engines := revision.Engines{".star": starlark.New()}
	return &revision.Builder{Engines: engines, Isolated: engines, Strange: engines, Points: hookpoints.Standard(), Limits: meter.Default}
}

// files makes the files of a layer, in the order of their names.
func files(texts map[string]string) (out []revision.File) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, revision.File{Path: name, Text: []byte(texts[name])})
	}
	return out
}

func build(t *testing.T, b *revision.Builder, which hookpoints.Layer, texts map[string]string, below ...*revision.Layer) *revision.Layer {
	t.Helper()
	l, err := b.Build(t.Context(), which, files(texts), below)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// shelf is a source in memory.
type shelf map[string]*revision.Revision

func (s shelf) Revision(_ context.Context, id string) (*revision.Revision, error) {
	if r := s[id]; r != nil {
		return r, nil
	}
	return nil, revision.ErrNotFound
}
func (s shelf) Keep(_ context.Context, r *revision.Revision) error { s[r.ID] = r; return nil }
func (s shelf) Listed(context.Context, hookpoints.Layer) ([]*revision.Revision, error) {
	return nil, nil
}
func (s shelf) Head(context.Context, hookpoints.Layer) (string, error)  { return "", nil }
func (s shelf) SetHead(context.Context, hookpoints.Layer, string) error { return nil }

func freeze(l *revision.Layer) *revision.Revision {
	return l.Freeze("", "", time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), true)
}

// other is an engine of another version.
type other struct{ interp.Engine }

func (o other) Identity() interp.Identity {
	id := o.Engine.Identity()
	id.Interpreter += "-next"
	return id
}

func ids(t *testing.T, p *revision.Planner, of operation.Triple, point string) (out []string) {
	t.Helper()
	c, err := p.Chain(t.Context(), of, point, hookpoints.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		for _, b := range c.Bindings(part) {
			out = append(out, b.BindingID+" "+b.Version)
		}
	}
	return out
}
