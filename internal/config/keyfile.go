package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/viper"

	"agentd/hookpoints"
)

// keyFiles finds store.key_file. A project's file says it for the project's database, the user's for
// both. What isn't understood is an error: nobody should believe that something is encrypted that isn't.
type keyFiles struct {
	places        Places
	home          string
	project, user string
	set           bool // the project's says something, perhaps that there is none
}

// read takes one agentd.yaml, which is known to be YAML.
func (k *keyFiles) read(l hookpoints.Layer, text []byte) error {
	v := viper.New() // of this file alone, since a path is relative to where it is written
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return err
	}
	if !v.InConfig("store") {
		return nil
	}
	store, ok := v.Get("store").(map[string]any)
	if !ok {
		return fmt.Errorf("store is %v, want {key_file: PATH}", v.Get("store"))
	}
	for name, value := range store {
		path, ok := value.(string)
		if name != "key_file" || !ok {
			return fmt.Errorf("store.%s is %v, want key_file: PATH", name, value)
		}
		if l == hookpoints.User {
			k.user = k.absolute(k.places.UserConfig, path)
		} else {
			k.project, k.set = k.absolute(k.places.Project, path), true
		}
	}
	return nil
}

// found is the key files of the state's database and of the user's own.
func (k *keyFiles) found(getenv func(string) string) (state, user string, err error) {
	if path := getenv("AGENTD_STORE_KEY_FILE"); path != "" {
		path, err := filepath.Abs(k.absolute("", path))
		return path, path, err
	}
	state, user = k.user, k.user
	if k.set && k.places.StateDir != k.places.UserState {
		state = k.project
	}
	return state, user, nil
}

func (k *keyFiles) absolute(dir, path string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && k.home != "" {
		return filepath.Join(k.home, rest)
	}
	return absolute(dir, path)
}
