package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentd/hookpoints"
	"agentd/internal/reload"
	"agentd/revision"
)

// follower reads the working files once, so that they serve when the daemon says that it is ready, and
// makes what follows them from then on.
func (d *Daemon) follower(ctx context.Context) *reload.Watcher {
	folders, layers := roots(d.o.Places)
	take := func(ctx context.Context, s reload.Snapshot) error {
		d.taking.Lock()
		defer d.taking.Unlock()
		d.again = func(ctx context.Context) error { return d.take(ctx, s, layers) }
		return d.again(ctx)
	}
	w := reload.New(folders, take, reload.Options{
		Log: d.log, OnScan: func(_ reload.Snapshot, err error) { d.scanned(err) },
	})
	first, err := w.Scan()
	d.scanned(err)
	if err == nil {
		err = d.begins(ctx, first, layers, take)
	}
	if err != nil { // what is published serves until the files can
		d.log.Warn("the working files can't serve yet", "err", err)
	}
	return w
}

// begins puts the working files to use for the first time. Files that are trusted as they lie there are
// followed from then on, with what was approved of them.
func (d *Daemon) begins(ctx context.Context, first reload.Snapshot, layers []hookpoints.Layer, take reload.Target) error {
	if i := slices.Index(layers, hookpoints.Project); i >= 0 && d.trusts.said == nil {
		t, err := d.trusts.look(ctx, asFiles(first.Under(i)))
		if err != nil {
			return err
		}
		if t.Trusted {
			d.trusts.said = &approval{t.Powers}
		}
	}
	return take(ctx, first)
}

// Reload implements api.Backend: the working files are judged again, as what is trusted has changed, and what
// stands in the database.
func (d *Daemon) Reload(ctx context.Context) error {
	d.taking.Lock()
	defer d.taking.Unlock()
	again := d.again
	if again == nil { // what is published serves
		again = d.serveHeads
	}
	return errors.Join(again(ctx), d.knowOrigin(ctx), d.tendAll(ctx))
}

// take builds a whole new generation beside the one that serves, and swaps once.
func (d *Daemon) take(ctx context.Context, s reload.Snapshot, layers []hookpoints.Layer) error {
	files := map[hookpoints.Layer][]revision.File{}
	for i, which := range layers {
		files[which] = asFiles(s.Under(i))
	}
	built, err := edited(ctx, d.rt, d.trusts, d.keys, files)
	if err != nil {
		return err
	}
	faults := faultsOf(built)
	if len(faults) > 0 {
		d.setFaults(faults)
		d.tell("generation.refused", "", map[string]any{"errors": faults})
		return fmt.Errorf("%w; the last good files go on serving", faults[0])
	}
	if g := d.rt.Compose(built); g.Triple == d.rt.Serving().Triple && d.serves() == nil {
		d.setFaults(nil)
		d.tell("generation.unchanged", "", map[string]any{"revisions": g.Triple})
		return nil
	}
	for _, l := range built { // or a run that is pinned to them could never be resumed
		if err := trustRevision(ctx, d.o.Places, l, nil, d.rt.Now()); err != nil {
			return err
		}
	}
	if err := d.serve(ctx, built, nil, nil); err != nil {
		d.setFaults([]revision.Fault{{File: d.o.Places.StateDir, Message: err.Error(), Fix: "see agentd doctor"}})
		return err
	}
	d.setFaults(nil)
	return nil
}

// scanned notes what keeps the files from being read; it is gone with the next good read.
func (d *Daemon) scanned(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unread = err
}

func (d *Daemon) setFaults(f []revision.Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}
