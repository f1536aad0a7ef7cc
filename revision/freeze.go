package revision

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"agentd/hookpoints/payload"
)

// Freeze is the revision of a built layer.
func (l *Layer) Freeze(parent, note string, created time.Time, listed bool) *Revision {
	return &Revision{ID: l.ID, Layer: l.Layer, Parent: parent, Note: note, Created: created.UTC(), Listed: listed, Manifest: l.Manifest, Files: l.Files}
}

// Verify checks that a kept revision is what its id says: the manifest has that hash, the texts have
// the hashes that it names, and they still come to that manifest. below is what it was built over.
func (b *Builder) Verify(ctx context.Context, r *Revision, below []*Layer) error {
	if err := intact(r); err != nil {
		return err
	}
	terms, err := TermsOf(r.Manifest)
	if err != nil {
		return err
	}
	l, err := b.BuildUnder(ctx, r.Layer, r.Files, below, terms)
	if err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("revision %.12s: %w: %w", r.ID, ErrDrift, err)
	}
	if bytes.Equal(l.Manifest, r.Manifest) {
		return nil
	}
	return fmt.Errorf("revision %.12s: %w", r.ID, l.Drift(r))
}

// intact checks that a revision is what its id says, as far as that can be told without loading it.
func intact(r *Revision) error {
	if got := ID(r.Manifest); got != r.ID {
		return fmt.Errorf("the manifest of revision %.12s was changed: it hashes to %.12s; publish the layer again", r.ID, got)
	}
	return checkTexts(r)
}

// checkTexts holds the texts of the scripts to the hashes in the manifest. agentd.yaml has none: what
// counts of it is in the manifest itself.
func checkTexts(r *Revision) error {
	manifest, err := payload.Parse(r.Manifest)
	if err != nil {
		return fmt.Errorf("the manifest of revision %.12s: %w", r.ID, err)
	}
	texts := map[string]string{}
	for _, f := range r.Files {
		texts[f.Path] = hash(f.Text)
	}
	for script := range manifest.Get("scripts").Items() {
		path := script.Get("path").Text()
		switch got, kept := texts[path]; {
		case !kept:
			return fmt.Errorf("the text of %s is missing in revision %.12s; publish the layer again", path, r.ID)
		case got != script.Get("sha256").Text():
			return fmt.Errorf("the text of %s in revision %.12s was changed; publish the layer again", path, r.ID)
		}
	}
	return nil
}

// Change is one difference between two manifests. Before or After is absent where there is none.
type Change struct {
	Path   string        `json:"path"`
	Before payload.Value `json:"before,omitzero"`
	After  payload.Value `json:"after,omitzero"`
}

// Diff lists the differences between two manifests, by path. Bindings and scripts are compared by
// their ids and paths, not by their places.
func Diff(a, b []byte) ([]Change, error) {
	x, err := payload.Parse(a)
	if err != nil {
		return nil, err
	}
	y, err := payload.Parse(b)
	if err != nil {
		return nil, err
	}
	var out []Change
	diff("", keyed(x), keyed(y), &out)
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// keyed turns the manifest's lists of named things into objects.
func keyed(v payload.Value) payload.Value {
	out := v
	for list, name := range map[string]func(payload.Value) string{
		"bindings": func(b payload.Value) string { return b.Get("binding_id").Text() + "@" + b.Get("point").Text() },
		"scripts":  func(s payload.Value) string { return s.Get("path").Text() },
		"engines":  func(e payload.Value) string { return e.Get("language").Text() },
	} {
		var fields []payload.Field
		for item := range v.Get(list).Items() {
			fields = append(fields, payload.Field{Name: name(item), Value: item.Without("order")})
		}
		out = out.With(payload.Field{Name: list, Value: payload.NewObject(fields...)})
	}
	return out
}

func diff(path string, a, b payload.Value, out *[]Change) {
	if a.Kind() == payload.Object && b.Kind() == payload.Object {
		names := map[string]bool{}
		for k := range a.Members() {
			names[k] = true
		}
		for k := range b.Members() {
			names[k] = true
		}
		for k := range names {
			sub := k
			if path != "" {
				sub = path + "." + k
			}
			diff(sub, a.Get(k), b.Get(k), out)
		}
		return
	}
	if a.Exists() != b.Exists() || !bytes.Equal(a.JSON(), b.JSON()) {
		*out = append(*out, Change{path, a, b})
	}
}

// Describe is a manifest for people: indented JSON.
func Describe(manifest []byte) ([]byte, error) {
	var buf bytes.Buffer
	err := json.Indent(&buf, manifest, "", "  ")
	return buf.Bytes(), err
}
