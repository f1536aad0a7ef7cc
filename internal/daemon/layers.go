package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/config"
	"agentd/revision"
	"agentd/scripts"
	"agentd/store"
)

// heads finds what was published.
type heads interface {
	Head(ctx context.Context, layer hookpoints.Layer) (string, error)
	Revision(ctx context.Context, id string) (*revision.Revision, error)
}

// shipped builds the layer that ships.
func shipped(ctx context.Context, rt *agentd.Runtime) (*revision.Layer, error) {
	files, err := scripts.Files()
	if err != nil {
		return nil, err
	}
	l, err := rt.Build(ctx, hookpoints.Shipped, files, nil)
	if err != nil {
		return nil, err
	}
	return l, l.Err()
}

// published builds the head of a layer, nil if nothing was published.
func published(ctx context.Context, rt *agentd.Runtime, j *judge, from heads, which hookpoints.Layer, below []*revision.Layer) (*revision.Layer, error) {
	id, err := from.Head(ctx, which)
	if err != nil || id == "" {
		return nil, err
	}
	kept, err := from.Revision(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the head %.12s of the %s layer: %w", id, which, err)
	}
	if err := j.accept(ctx, kept); err != nil {
		return nil, fmt.Errorf("the head %.12s of the %s layer: %w", id, which, err)
	}
	if terms, err := revision.TermsOf(kept.Manifest); err != nil || terms.Untrusted { // runs may be pinned to such a one, but nobody publishes it
		return nil, fmt.Errorf("the head %.12s of the %s layer: %w", id, which, cmp.Or(err, ErrUntrusted))
	}
	l, err := rt.Build(ctx, which, kept.Files, below)
	if err != nil {
		return nil, err
	}
	if err := l.Err(); err != nil {
		return nil, fmt.Errorf("the head %.12s of the %s layer: %w", id, which, err)
	}
	if l.ID != id {
		return nil, fmt.Errorf("the head %.12s of the %s layer: %w; publish it again", id, which, l.Drift(kept))
	}
	return l, nil
}

// openUser opens the user's own database for reading, nil if there is none yet.
func openUser(ctx context.Context, p config.Places, k keys) (*store.Reader, error) {
	r, err := store.OpenReader(ctx, p.UserDatabase(), k.user)
	if errors.Is(err, store.ErrNoDatabase) {
		return nil, nil
	}
	return r, err
}

// serving is the layers that serve when nobody edits: the heads. Notes say what is missing. With an
// error come the layers below the one that can't be built.
func serving(ctx context.Context, rt *agentd.Runtime, j *judge, k keys, own heads) (layers []*revision.Layer, notes []string, err error) {
	p := j.places
	base, err := shipped(ctx, rt)
	if err != nil {
		return nil, nil, err
	}
	layers = []*revision.Layer{base}
	add := func(from heads, which hookpoints.Layer) (bool, error) {
		l, err := published(ctx, rt, j, from, which, layers)
		if l == nil || err != nil {
			return false, err
		}
		layers = append(layers, l)
		return true, nil
	}
	if p.StateDir != p.UserState {
		user, err := openUser(ctx, p, k)
		if err != nil {
			return layers, nil, fmt.Errorf("the user's own database: %w", err)
		}
		if user != nil {
			defer user.Close()
			if _, err := add(user, hookpoints.User); err != nil {
				return layers, nil, err
			}
		}
	} else if own != nil {
		if _, err := add(own, hookpoints.User); err != nil {
			return layers, nil, err
		}
	}
	if p.Project == "" {
		return layers, nil, nil
	}
	there := false
	if own != nil {
		there, err = add(own, hookpoints.Project)
		if errors.Is(err, ErrUntrusted) {
			head, herr := own.Head(ctx, hookpoints.Project)
			if herr == nil && j.strange(ctx, head) { // it came with the folder
				return layers, append(notes, err.Error()+"; until then none of its hooks runs"), nil
			}
		}
		if err != nil { // hooks that were trusted here are missing, perhaps those that would say no
			return layers, nil, err
		}
	}
	if !there {
		if err := j.lost(ctx, own); err != nil {
			return layers, nil, err
		}
		notes = append(notes, "nothing is published in this project, so its hooks don't run; use agentd publish, or serve --dev")
	}
	return layers, notes, nil
}

// edited is the layers as their working files are now. A layer with faults is in the list; the caller
// looks at its Err. Guards that a user published don't go because a project is served with --dev: a
// user's layer without working files is the published one.
func edited(ctx context.Context, rt *agentd.Runtime, j *judge, k keys, files map[hookpoints.Layer][]revision.File) ([]*revision.Layer, error) {
	base, err := shipped(ctx, rt)
	if err != nil {
		return nil, err
	}
	layers := []*revision.Layer{base}
	for _, which := range []hookpoints.Layer{hookpoints.User, hookpoints.Project} {
		text := files[which]
		if len(text) == 0 {
			if which == hookpoints.User {
				if layers, err = withPublishedUser(ctx, rt, j, k, layers); err != nil {
					return nil, err
				}
			}
			continue
		}
		var terms revision.Terms
		if which == hookpoints.Project {
			if terms, err = j.terms(ctx, text); err != nil {
				return nil, err
			}
		}
		l, err := rt.BuildUnder(ctx, which, text, layers, terms)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// withPublishedUser puts the head of the user's layer over layers, where there is one.
func withPublishedUser(ctx context.Context, rt *agentd.Runtime, j *judge, k keys, layers []*revision.Layer) ([]*revision.Layer, error) {
	user, err := openUser(ctx, j.places, k)
	if err != nil || user == nil {
		return layers, err
	}
	defer user.Close()
	l, err := published(ctx, rt, j, user, hookpoints.User, layers)
	if err != nil || l == nil {
		return layers, err
	}
	return append(layers, l), nil
}

// faultsOf gathers the faults of layers.
func faultsOf(layers []*revision.Layer) []revision.Fault {
	out := []revision.Fault{}
	for _, l := range layers {
		out = append(out, l.Faults...)
	}
	return out
}
