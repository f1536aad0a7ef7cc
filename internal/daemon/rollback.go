package daemon

import (
	"context"
	"errors"
	"fmt"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/revision"
	"agentd/store"
)

// Rollback implements api.Backend: makes an earlier published revision of a layer its head again. What it
// says is as after publish. With an error nothing has changed.
func (d *Daemon) Rollback(ctx context.Context, id string, q api.Rollback) (api.Published, error) {
	return d.newHead(ctx, q.Layer, func(to *store.Store, which hookpoints.Layer) (api.Published, *revision.Layer, error) {
		res, layer, err := rollBack(ctx, d.rt, d.trusts, d.keys, to, which, id)
		if err == nil {
			d.tell("revision.rolled_back", "", map[string]any{"revision": res.Revision, "parent": res.Parent, "layer": res.Layer})
		}
		return res, layer, err
	})
}

func rollBack(ctx context.Context, rt *agentd.Runtime, j *judge, k keys, to *store.Store, which hookpoints.Layer, id string) (api.Published, *revision.Layer, error) {
	kept, err := FindRevision(ctx, to.Reader, id)
	if err != nil {
		return api.Published{}, nil, err
	}
	if !kept.Listed || kept.Layer != which {
		return api.Published{}, nil, fmt.Errorf("%w: %.12s was never published in the %s layer; see agentd revisions list", revision.ErrNotFound, kept.ID, which)
	}
	layer, below, err := sound(ctx, rt, j, k, kept)
	if err != nil {
		if ctx.Err() != nil {
			return api.Published{}, nil, ctx.Err()
		}
		if errors.Is(err, revision.ErrEngine) {
			err = fmt.Errorf("%w; publish its files again with this agentd", err)
		}
		return api.Published{}, nil, api.Errorf(api.ErrConflict, "the head stays as it is: revision %.12s: %w", kept.ID, err)
	}
	head, err := to.Head(ctx, which)
	if err != nil {
		return api.Published{}, nil, err
	}
	res := api.Published{Revision: kept.ID, Parent: head, Layer: which.String(), Bindings: bindingIDs(layer), Changed: []revision.Change{}, Grants: []string{}, SignedBy: signer(kept)}
	was, changed, err := since(ctx, to, head, kept)
	if err != nil { // a head that is damaged is a reason to roll back
		res.Notes = append(res.Notes, fmt.Sprintf("what changes can't be said, as the head %.12s can't be read: %v", head, err))
	}
	res.Changed = append(res.Changed, changed...)
	if err := grown(&res, was, layer, below); err != nil {
		return api.Published{}, nil, err
	}
	if err := to.SetHead(ctx, which, kept.ID); err != nil {
		return api.Published{}, nil, err
	}
	return res, layer, nil
}

// sound builds a published revision as it would serve, over what is published below it. It refuses one
// that may not be loaded here, and one that doesn't come to what its id says.
func sound(ctx context.Context, rt *agentd.Runtime, j *judge, k keys, kept *revision.Revision) (layer *revision.Layer, below []*revision.Layer, err error) {
	if err := j.accept(ctx, kept); err != nil {
		return nil, nil, err
	}
	if kept.Signature != "" {
		if _, err := revision.Signer(kept.Manifest, kept.Signature); err != nil {
			return nil, nil, err
		}
	}
	base, err := shipped(ctx, rt)
	if err != nil {
		return nil, nil, err
	}
	below = []*revision.Layer{base}
	if kept.Layer > hookpoints.User {
		if below, err = withPublishedUser(ctx, rt, j, k, below); err != nil {
			return nil, nil, err
		}
	}
	if err := rt.Builder().Verify(ctx, kept, below); err != nil {
		return nil, nil, err
	}
	if layer, err = rt.Build(ctx, kept.Layer, kept.Files, below); err != nil {
		return nil, nil, err
	}
	if err := layer.Err(); err != nil {
		return nil, nil, err
	}
	if layer.ID != kept.ID {
		return nil, nil, layer.Drift(kept)
	}
	return layer, below, nil
}

// since compares a revision with the head: its manifest, and what would change.
func since(ctx context.Context, from *store.Store, head string, kept *revision.Revision) (manifest []byte, changed []revision.Change, err error) {
	if head == "" {
		return nil, nil, nil
	}
	was, err := from.Revision(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	if changed, err = revision.Diff(was.Manifest, kept.Manifest); err != nil {
		return nil, nil, err
	}
	return was.Manifest, changed, nil
}
