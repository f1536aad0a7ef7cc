// Package config finds where things are and reads the settings that are live. What a revision freezes
// is decoded by package revision from the YAML nodes themselves.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"agentd/hookpoints"
	"agentd/revision"
)

// Dir is the folder that makes a project.
const Dir = ".agentd"

// ErrNoProject: no folder upwards has a .agentd.
var ErrNoProject = errors.New("there is no .agentd folder here or above; make one with agentd init")

// Places are where things are. All paths are absolute.
type Places struct {
	Project    string          // the folder that has .agentd, "" outside of any
	StateDir   string          // database and socket: the project's, else the user's
	UserConfig string          // the user's layer
	UserState  string          // the user's own database
	Foreign    bool            // the project's files aren't trusted, so its live settings don't count
	Program    string          // agentd itself, as workers are started from it; "" where there are none
	Engine     revision.Engine // of a build for tests
}

// Ask says where to look. Empty fields are looked for.
type Ask struct {
	Cwd      string
	Project  string // --project
	StateDir string // --state-dir
	Getenv   func(string) string
}

// Find finds the places. It makes nothing.
func Find(a Ask) (Places, error) {
	var p Places
	home := a.Getenv("HOME")
	var err error
	if p.UserConfig, err = under(a.Getenv("XDG_CONFIG_HOME"), home, ".config"); err != nil {
		return p, err
	}
	if p.UserState, err = under(a.Getenv("XDG_STATE_HOME"), home, ".local/state"); err != nil {
		return p, err
	}
	project := first(a.Project, a.Getenv("AGENTD_PROJECT"))
	if project == "" {
		p.Project = upwards(a.Cwd)
	} else if p.Project, err = named(a.Cwd, project); err != nil {
		return p, err
	}
	switch state := first(a.StateDir, a.Getenv("AGENTD_STATE")); {
	case state != "":
		p.StateDir = absolute(a.Cwd, state)
	case p.Project != "":
		p.StateDir = filepath.Join(p.Project, Dir, "state")
	default:
		p.StateDir = p.UserState
	}
	return p, nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

func under(xdg, home, fallback string) (string, error) {
	if filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "agentd"), nil
	}
	if home == "" {
		return "", errors.New("neither HOME nor an XDG folder is set, so there is no place for the user's files; set HOME")
	}
	return filepath.Join(home, fallback, "agentd"), nil
}

// upwards finds the nearest folder that has a .agentd.
func upwards(dir string) string {
	for {
		if st, err := os.Stat(filepath.Join(dir, Dir)); err == nil && st.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func named(cwd, dir string) (string, error) {
	dir = absolute(cwd, dir)
	if st, err := os.Stat(filepath.Join(dir, Dir)); err != nil || !st.IsDir() {
		return "", fmt.Errorf("%s has no %s folder; make one with agentd init", dir, Dir)
	}
	return dir, nil
}

// Database is the file of the state.
func (p Places) Database() string { return filepath.Join(p.StateDir, "agentd.db") }

// UserDatabase is the file of the user's own state.
func (p Places) UserDatabase() string { return filepath.Join(p.UserState, "agentd.db") }

// TrustBook is the file of what the user trusts.
func (p Places) TrustBook() string { return filepath.Join(p.UserState, "trust.db") }

// LayerDir is the folder of a layer's files; "" if it has none.
func (p Places) LayerDir(l hookpoints.Layer) string {
	switch l {
	case hookpoints.User:
		return p.UserConfig
	case hookpoints.Project:
		if p.Project != "" {
			return filepath.Join(p.Project, Dir)
		}
	}
	return ""
}

// Socket is the daemon's address. A path that the system can't hold is an error.
func (p Places) Socket() (string, error) {
	path := filepath.Join(p.StateDir, "agentd.sock")
	limit := 107 // sun_path less the closing zero
	if runtime.GOOS == "darwin" {
		limit = 103
	}
	if len(path) > limit {
		return "", fmt.Errorf("the socket path %s has %d bytes, the system takes %d; choose a shorter folder with --state-dir or AGENTD_STATE", path, len(path), limit)
	}
	return path, nil
}
