package starlark

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
)

// trees changes the tree itself, as the host does.
func (g *viewer) trees(t *testing.T, v payload.Value, is *twin) {
	for range 1 + g.IntN(6) {
		switch g.IntN(4) {
		case 0:
			key := g.key(is)
			v = v.Without(key)
			is = is.with(objectTwin(true))
			is.drop(key)
		case 1: // a tree within itself
			key := g.key(is)
			v, is = v.With(payload.Field{Name: key, Value: v}), is.with(&twin{kind: payload.Object, keys: []string{key}, kids: []*twin{is}, read: true})
		default:
			fields := objectTwin(true)
			var patch []payload.Field
			for range g.IntN(12) {
				var b strings.Builder
				g.write(&b, 2, 0)
				key := g.key(is)
				value, err := payload.ParseString(b.String())
				if err != nil {
					t.Fatalf("%s: %v", b.String(), err)
				}
				patch = append(patch, payload.Field{Name: key, Value: value})
				fields.set(key, twinOf(b.String()))
			}
			v, is = v.With(patch...), is.with(fields)
		}
		alike(t, v, is)
	}
}

// alike holds a tree against its twin, all the way down.
func alike(t *testing.T, v payload.Value, is *twin) {
	text := is.json()
	if v.String() != text || v.Size() != len(text) || v.Kind() != is.kind || v.Len() != len(is.level().kids) || !json.Valid([]byte(text)) {
		t.Fatalf("the tree is %s\nencoding/json says %s", v, text)
	}
	switch is.kind {
	case payload.String:
		if v.Text() != is.text || v.TextLen() != len(is.text) {
			t.Fatalf("%s is %q with %d bytes, want %q", text, v.Text(), v.TextLen(), is.text)
		}
	case payload.Number:
		n, err := json.Number(text).Int64()
		if got, ok := v.Int64(); ok != (err == nil) || ok && got != n {
			t.Fatalf("%s is %d %v, encoding/json says %d %v", text, got, ok, n, err)
		}
		f, err := json.Number(text).Float64()
		if got, ok := v.Float64(); ok != (err == nil) || ok && got != f {
			t.Fatalf("%s is %v %v, encoding/json says %v %v", text, got, ok, f, err)
		}
	}
	deepest := 0
	for i, kid := range is.kids {
		if is.kind == payload.Object && (v.Key(i) != is.keys[i] || v.Get(is.keys[i]) != v.At(i)) {
			t.Fatalf("member %d of %s is %q, encoding/json says %q", i, v, v.Key(i), is.keys[i])
		}
		alike(t, v.At(i), kid)
		deepest = max(deepest, kid.depth())
	}
	if got := v.Depth(1000); got != is.depth() || is.container() && got != deepest+1 {
		t.Fatalf("%s nests %d deep", v, got)
	}
	if got, err := payload.ParseString(text); err != nil && !errors.Is(err, payload.ErrNotJSON) || err == nil && got.Digest() != v.Digest() {
		t.Fatalf("%s: %v", v, err)
	}
}

func (t *twin) depth() int {
	if !t.container() {
		return 0
	}
	deepest := 0
	for _, kid := range t.level().kids {
		deepest = max(deepest, kid.depth())
	}
	return deepest + 1
}
