package daemon

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/revision"
	"agentd/store"
)

// Publish implements api.Backend: tests, then freezes. With a fault it changes nothing.
func (d *Daemon) Publish(ctx context.Context, q api.Publish) (api.Published, error) {
	return d.newHead(ctx, q.Layer, func(to *store.Store, which hookpoints.Layer) (api.Published, *revision.Layer, error) {
		res, layer, err := freeze(ctx, d.rt, d.trusts, to, which, q)
		if err == nil && len(res.Errors) == 0 {
			d.tell("revision.published", "", map[string]any{"revision": res.Revision, "layer": res.Layer})
		}
		return res, layer, err
	})
}

// newHead makes another revision the head of a layer, one at a time, and serves it. With an error or a
// fault it serves what it served.
func (d *Daemon) newHead(ctx context.Context, name string, set func(to *store.Store, which hookpoints.Layer) (api.Published, *revision.Layer, error)) (api.Published, error) {
	which, err := publishable(d.o.Places, name)
	if err != nil {
		return api.Published{}, err
	}
	d.publishing.Lock()
	defer d.publishing.Unlock()
	to, done, err := d.shelf(ctx, which)
	if err != nil {
		return api.Published{}, err
	}
	defer done()
	res, layer, err := set(to, which)
	if err != nil || len(res.Errors) > 0 {
		return res, err
	}
	d.serveHead(ctx, layer, &res)
	return res, nil
}

// shelf is the database that holds the revisions of a layer, until done.
func (d *Daemon) shelf(ctx context.Context, which hookpoints.Layer) (to *store.Store, done func(), err error) {
	if which != hookpoints.User || d.o.Places.StateDir == d.o.Places.UserState {
		return d.store, func() {}, nil
	}
	to, err = store.Open(ctx, d.o.Places.UserDatabase(), store.Options{Key: d.keys.user, Clock: wall{}, At: d.o.At})
	if err != nil {
		return nil, nil, fmt.Errorf("the user's own database: %w", err)
	}
	return to, func() { to.Close() }, nil
}

// serveHead serves a layer that has become the head, and notes in res why it doesn't.
func (d *Daemon) serveHead(ctx context.Context, layer *revision.Layer, res *api.Published) {
	res.Notes = append(res.Notes, lacks(layer, hearers(d.o.Places))...)
	if d.o.Dev {
		res.Notes = append(res.Notes, "this daemon serves the working files; without --dev it will serve the revision")
		return
	}
	d.rt.Planner().Adopt(layer)
	layers, notes, err := serving(ctx, d.rt, d.trusts, d.keys, d.store)
	if err == nil {
		err = d.serve(ctx, layers, notes, nil)
	}
	if err != nil { // it is the head all the same; what served goes on serving
		res.Notes = append(res.Notes, "it is the head, but it can't serve yet: "+err.Error())
	}
}

func publishable(p config.Places, name string) (hookpoints.Layer, error) {
	if name == "" {
		name = "project"
	}
	which, ok := hookpoints.ParseLayer(name)
	switch {
	case !ok || which == hookpoints.Shipped:
		return 0, api.Errorf(api.ErrInvalid, "the layer %q can't be published, only project and user", name)
	case which == hookpoints.Project && p.Project == "":
		return 0, api.Errorf(api.ErrInvalid, "%w", config.ErrNoProject)
	}
	return which, nil
}

// freeze builds a layer from its working files, runs its tests, and keeps it as the new head.
func freeze(ctx context.Context, rt *agentd.Runtime, j *judge, to *store.Store, which hookpoints.Layer, q api.Publish) (api.Published, *revision.Layer, error) {
	p := j.places
	key, err := signingKey(q.KeyFile)
	if err != nil {
		return api.Published{}, nil, err
	}
	files, err := working(p, which)
	if err != nil {
		return api.Published{}, nil, err
	}
	var below []*revision.Layer
	for _, l := range rt.Serving().Layers {
		if l.Layer < which {
			below = append(below, l)
		}
	}
	layer, err := rt.Build(ctx, which, files, below)
	if err != nil {
		return api.Published{}, nil, err
	}
	if len(layer.Faults) > 0 {
		return api.Published{Errors: layer.Faults}, nil, nil
	}
	tests, err := RunTests(ctx, rt, layer, files, TestOptions{})
	if err != nil {
		return api.Published{}, nil, err
	}
	if tests.Failed > 0 {
		return api.Published{Tests: &tests, Errors: testFaults(tests)}, nil, nil
	}
	parent, err := to.Head(ctx, which)
	if err != nil {
		return api.Published{}, nil, err
	}
	res := api.Published{Revision: layer.ID, Parent: parent, Layer: which.String(), Bindings: bindingIDs(layer), Changed: []revision.Change{}, Grants: []string{}, Tests: &tests}
	was := &revision.Revision{}
	if parent != "" {
		if was, err = to.Revision(ctx, parent); err != nil {
			return res, nil, err
		}
	}
	if err := grown(&res, was.Manifest, layer, below); err != nil {
		return res, nil, err
	}
	if parent != "" && parent != layer.ID {
		changed, err := revision.Diff(was.Manifest, layer.Manifest)
		if err != nil {
			return res, nil, err
		}
		res.Changed = append(res.Changed, changed...)
	}
	kept := parent
	if parent == layer.ID { // nothing changed; it keeps the parent it had
		kept = ""
	}
	rev := layer.Freeze(kept, q.Note, rt.Now(), true)
	if key != nil {
		rev.Signature, res.SignedBy = revision.Sign(rev.Manifest, key), revision.PublicKey(key)
	}
	if which == hookpoints.Project { // or it would be kept and never serve
		if err := revision.CheckSignature(rev.Manifest, rev.Signature, j.signers); err != nil {
			return api.Published{}, nil, api.Errorf(api.ErrConflict, "nothing was published: %w", err)
		}
	}
	if err := to.Keep(ctx, rev); err != nil {
		return res, nil, err
	}
	if err := trustRevision(ctx, p, layer, files, rt.Now()); err != nil {
		return res, nil, err
	}
	return res, layer, to.SetHead(ctx, which, layer.ID)
}

// signingKey reads a private key; nil without a file.
func signingKey(file string) (ed25519.PrivateKey, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, api.Errorf(api.ErrInvalid, "the key can't be read: %w", err)
	}
	key, err := revision.ReadKey(text)
	if err != nil {
		return nil, api.Errorf(api.ErrInvalid, "%s: %w", file, err)
	}
	return key, nil
}

func testFaults(t api.TestReport) []revision.Fault {
	var out []revision.Fault
	for _, r := range t.Tests {
		if !r.OK {
			out = append(out, revision.Fault{File: r.File, Line: r.Line, Message: fmt.Sprintf("the test %s failed: %s", r.Name, r.Message), Fix: "see agentd test"})
		}
	}
	return out
}

func bindingIDs(l *revision.Layer) []string {
	ids := []string{}
	for _, b := range l.Bindings {
		ids = append(ids, b.BindingID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// grown says what hooks may do since the last revision, and what they ask for and may not do.
func grown(res *api.Published, was []byte, layer *revision.Layer, below []*revision.Layer) error {
	had, _, err := revision.Grants(was, layer.Layer, below)
	if err != nil {
		return err
	}
	has, missing, err := revision.Grants(layer.Manifest, layer.Layer, below)
	if err != nil {
		return err
	}
	for _, g := range has {
		if !slices.Contains(had, g) {
			res.Grants = append(res.Grants, g)
		}
	}
	for _, m := range missing {
		id, effect, _ := strings.Cut(m, ": ")
		res.Notes = append(res.Notes, fmt.Sprintf("%s declares the effect %s and isn't granted it: asking for it fails; see grants in %s", id, effect, revision.ConfigFile))
	}
	return nil
}

// Verify checks a kept revision against its id, its texts and what they come to now.
func (v *View) Verify(ctx context.Context, r *store.Reader, id string) error {
	rt := v.Runtime
	rev, err := r.Revision(ctx, id)
	if err != nil {
		return err
	}
	if rev.Signature != "" {
		if _, err := revision.Signer(rev.Manifest, rev.Signature); err != nil {
			return err
		}
	}
	if rev.Layer == hookpoints.Project && rev.Listed {
		if err := revision.CheckSignature(rev.Manifest, rev.Signature, v.trusts.signers); err != nil {
			return err
		}
	}
	var below []*revision.Layer
	if rev.Layer > hookpoints.Shipped {
		base, err := shipped(ctx, rt)
		if err != nil {
			return err
		}
		below = append(below, base)
	}
	return rt.Builder().Verify(ctx, rev, below)
}

// FindRevision finds a revision by its id or by an unambiguous beginning of it.
func FindRevision(ctx context.Context, r *store.Reader, prefix string) (*revision.Revision, error) {
	rev, err := r.Revision(ctx, prefix)
	if err == nil || !errors.Is(err, revision.ErrNotFound) {
		return rev, err
	}
	rows, err := Revisions(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, row := range rows {
		if len(prefix) >= 6 && len(row.Revision) > len(prefix) && row.Revision[:len(prefix)] == prefix {
			found = append(found, row.Revision)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: %s; see agentd revisions list", revision.ErrNotFound, prefix)
	case 1:
		return r.Revision(ctx, found[0])
	}
	return nil, fmt.Errorf("%d revisions begin with %s; write more of it", len(found), prefix)
}
