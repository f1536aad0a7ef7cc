package daemon

import (
	"context"
	"time"

	"agentd/internal/config"
	"agentd/store"
)

// Collect removes from the database of the state what is over and older than keep. It holds the
// writer's lock, so no daemon may have it.
func Collect(ctx context.Context, o Options, keep time.Duration, dry bool) (store.Collected, error) {
	live, err := config.ReadLive(o.Places, o.Getenv)
	if err != nil {
		return store.Collected{}, err
	}
	key, err := readKey(live.KeyFile)
	if err != nil {
		return store.Collected{}, err
	}
	if r, err := store.OpenReader(ctx, o.Places.Database(), key); err != nil { // a database that isn't there isn't made
		return store.Collected{}, err
	} else if err := r.Close(); err != nil {
		return store.Collected{}, err
	}
	return store.GC(ctx, o.Places.Database(), store.GCOptions{Before: wall{}.Now().Add(-keep), DryRun: dry, Key: key, Clock: wall{}, At: o.At})
}
