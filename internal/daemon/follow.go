package daemon

import (
	"context"
	"fmt"

	"agentd/hookpoints"
	"agentd/internal/reload"
	"agentd/revision"
)

// follower reads the working files once, so that they serve when the daemon says that it is ready, and
// makes what follows them from then on.
func (d *Daemon) follower(ctx context.Context) *reload.Watcher {
	folders, layers := roots(d.o.Places)
	w := reload.New(folders, func(ctx context.Context, s reload.Snapshot) error { return d.take(ctx, s, layers) }, reload.Options{
		Log: d.log, OnScan: func(_ reload.Snapshot, err error) { d.scanned(err) },
	})
	first, err := w.Scan()
	d.scanned(err)
	if err == nil {
		err = d.take(ctx, first, layers)
	}
	if err != nil { // what is published serves until the files can
		d.log.Warn("the working files can't serve yet", "err", err)
	}
	return w
}

// take builds a whole new generation beside the one that serves, and swaps once.
func (d *Daemon) take(ctx context.Context, s reload.Snapshot, layers []hookpoints.Layer) error {
	files := map[hookpoints.Layer][]revision.File{}
	for i, which := range layers {
		files[which] = asFiles(s.Under(i))
	}
	built, err := edited(ctx, d.rt, d.o.Places, d.keys, files)
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
