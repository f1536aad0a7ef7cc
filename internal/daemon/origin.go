package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/store"
)

// A project's database may have come with the project, from anywhere. What stands in it then has been begun
// by nobody here: it is shown, and nothing of it goes on. The user's own book knows the databases that were
// written here by a random name, and up to which operation one had been written elsewhere before.

// errBrought: the session came with the folder.
var errBrought = errors.New("isn't yours: it came with the folder, so nothing of it goes on; look at it with agentd ops list, then take it over with agentd trust --state")

// knowOrigin finds out which sessions came with the folder. A database in which nothing stands is ours, and
// one that isn't known gets a new name: whoever wrote it can't know that.
func (d *Daemon) knowOrigin(ctx context.Context) error {
	if !canBeBrought(d.o.Places) {
		return nil
	}
	name, newest, err := d.store.Origin(ctx)
	if err != nil {
		return err
	}
	brought, err := d.written(ctx, name, newest)
	if errors.Is(err, store.ErrForeign) {
		return err
	}
	if err != nil { // it is taken for what a stranger wrote, as long as the book can't be read
		d.log.Warn("what you trust can't be written down, so nothing goes on that is in the database already", "err", err)
		brought = newest
	}
	var sessions map[string]bool
	if brought > 0 {
		if sessions, err = d.store.SessionsUpTo(ctx, brought); err != nil {
			return err
		}
		if d.o.owner == "" { // a verb says it where it needs one of them
			d.log.Warn("sessions came with the folder; nothing of them goes on until agentd trust --state takes them over", "sessions", len(sessions))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.brought = sessions
	return nil
}

// canBeBrought reports whether the state folder is one that may have come with a project.
func canBeBrought(p config.Places) bool { return p.Project != "" && p.StateDir != p.UserState }

// brought are the sessions that a daemon would take for brought along.
func (v *View) brought(ctx context.Context) (map[string]bool, error) {
	if v.reader == nil || !canBeBrought(v.places) {
		return nil, nil
	}
	name, newest, err := v.reader.Origin(ctx)
	if err != nil {
		return nil, err
	}
	if name != "" {
		upTo, known, err := store.KnownState(ctx, v.places.TrustBook(), project(v.places), name)
		if err == nil && known {
			newest = upTo
		}
	}
	if newest == 0 {
		return nil, nil
	}
	return v.reader.SessionsUpTo(ctx, newest)
}

// broughtNote says how many sessions came with the folder.
func broughtNote(sessions int) string {
	return fmt.Sprintf("%d of the sessions in the state folder came with it; nothing of them goes on until you take them over with agentd trust --state", sessions)
}

// written looks up to which operation the database was written elsewhere, and writes it down.
func (d *Daemon) written(ctx context.Context, name string, newest int64) (brought int64, err error) {
	if name != "" {
		if brought, known, err := store.KnownState(ctx, d.o.Places.TrustBook(), project(d.o.Places), name); known || err != nil {
			return brought, err
		}
	}
	if err := d.store.Inert(ctx); err != nil {
		return 0, err
	}
	b, err := store.OpenTrustBook(ctx, d.o.Places.TrustBook())
	if err != nil {
		return 0, err
	}
	defer b.Close()
	random := make([]byte, 16)
	rand.Read(random) // it never fails
	name = hex.EncodeToString(random)
	if err := b.Know(ctx, project(d.o.Places), name, newest); err != nil {
		return 0, err
	}
	return newest, d.store.SetOrigin(ctx, name)
}

// own says why nothing may be done in a session.
func (d *Daemon) own(session string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.brought[session] {
		return api.Errorf(api.ErrConflict, "the session %s %w", session, errBrought)
	}
	return nil
}

// TrustState takes over what stands in a project's database, whoever wrote it.
func TrustState(ctx context.Context, p config.Places, getenv func(string) string) error {
	k, _, err := lookForKeys(p, getenv)
	if err != nil {
		return err
	}
	r, err := store.OpenReader(ctx, p.Database(), k.state)
	if errors.Is(err, store.ErrNoDatabase) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	name, _, err := r.Origin(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		return errors.New("the database was never opened here; start agentd serve, then look at what is in it")
	}
	b, err := store.OpenTrustBook(ctx, p.TrustBook())
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Know(ctx, project(p), name, 0)
}
