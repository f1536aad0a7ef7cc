package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agentd/internal/config"
	"agentd/store"
)

// Rekey says how the key of a database is changed to the one that store.key_file names, or to none if
// it names none.
type Rekey struct {
	From     string // the file with the key that it has now; "" if it has none
	Make     bool   // the file that store.key_file names, where it isn't there yet
	Progress func(done, total int)
}

// Rekeyed is what became of it.
type Rekeyed struct {
	Encrypted bool `json:"encrypted"`         // now
	Missing   bool `json:"missing,omitempty"` // there is no database yet; the first that writes takes the key
	Texts     int  `json:"texts"`             // that were written anew
	Swept     bool `json:"swept"`             // nothing is left of what they replaced
}

// ChangeKey brings the database of the state to the key that the settings name. It holds the writer's
// lock, so no daemon may have it.
func ChangeKey(ctx context.Context, o Options, q Rekey) (r Rekeyed, err error) {
	live, err := config.ReadLive(o.Places, o.Getenv)
	if err != nil {
		return r, err
	}
	to := store.RekeyOptions{Progress: q.Progress, Clock: wall{}, At: o.At}
	if to.To, err = wanted(live.KeyFile, q.Make); err != nil {
		return r, err
	}
	if q.From != "" {
		if to.From, err = store.ReadKey(q.From); err != nil {
			return r, err
		}
	}
	r.Encrypted = to.To != nil
	if _, err := os.Stat(o.Places.Database()); errors.Is(err, fs.ErrNotExist) {
		r.Swept, r.Missing = true, true
		return r, nil
	}
	done, err := store.Rekey(ctx, o.Places.Database(), to)
	r.Texts, r.Swept = done.Texts, done.Swept
	return r, err
}

func wanted(path string, create bool) (*store.Key, error) {
	if !create {
		return readKey(path)
	}
	if path == "" {
		return nil, errors.New("store.key_file names no file to make; set it first")
	}
	k, err := store.MakeKey(path)
	if errors.Is(err, fs.ErrExist) { // made by one that was interrupted
		return readKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("store.key_file: %w", err)
	}
	return k, nil
}
