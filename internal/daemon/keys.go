package daemon

import (
	"fmt"

	"agentd/internal/config"
	"agentd/store"
)

// keys are what the databases are encrypted under; nil is a plain one.
type keys struct{ state, user *store.Key }

// readKeys reads the key files that the settings name.
func readKeys(live config.Live) (k keys, err error) {
	if k.state, err = readKey(live.KeyFile); err != nil || live.UserKeyFile == live.KeyFile {
		k.user = k.state
		return k, err
	}
	k.user, err = readKey(live.UserKeyFile)
	return k, err
}

func readKey(path string) (*store.Key, error) {
	if path == "" {
		return nil, nil
	}
	k, err := store.ReadKey(path)
	if err != nil {
		return nil, fmt.Errorf("store.key_file: %w", err)
	}
	return k, nil
}

// lookForKeys is readKeys for who only looks. Settings that can't be read (unread) don't keep them from
// a plain database, where they would see what is wrong.
func lookForKeys(p config.Places, getenv func(string) string) (k keys, unread, err error) {
	live, unread := config.ReadLive(p, getenv)
	if unread != nil {
		return k, unread, nil
	}
	k, err = readKeys(live)
	return k, nil, err
}
