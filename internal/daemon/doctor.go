package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/worker"
	"agentd/operation"
	"agentd/store"
)

// Finding is something that was looked at.
type Finding struct {
	Level string `json:"level"` // ok, warning, error
	What  string `json:"what"`
	Fix   string `json:"fix"` // what to do; "" for ok
}

// The levels of findings.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelError   = "error"
)

// Bytes of free space below which the doctor warns, and below which it calls it an error.
const (
	spaceLow  = 256 << 20
	spaceNone = 16 << 20
)

// checkup gathers findings.
type checkup struct {
	places   config.Places
	findings []Finding
}

func (c *checkup) ok(format string, args ...any) {
	c.findings = append(c.findings, Finding{Level: LevelOK, What: fmt.Sprintf(format, args...)})
}

func (c *checkup) warn(fix, format string, args ...any) {
	c.findings = append(c.findings, Finding{LevelWarning, fmt.Sprintf(format, args...), fix})
}

func (c *checkup) fail(fix, format string, args ...any) {
	c.findings = append(c.findings, Finding{LevelError, fmt.Sprintf(format, args...), fix})
}

// Doctor looks at the state folder and the databases: what keeps agentd from working, what will, and
// what to do. It changes nothing.
func Doctor(ctx context.Context, o Options) []Finding {
	c := &checkup{places: o.Places}
	k, keyed := c.settings(o.Getenv)
	c.socket(ctx)
	if c.folder(o.Places.StateDir) {
		c.space(o.Places.StateDir)
		c.database(ctx, "the database", o.Places.Database(), k.state, keyed)
	}
	if o.Places.UserState != o.Places.StateDir {
		if _, err := os.Stat(o.Places.UserDatabase()); err == nil {
			c.database(ctx, "your own database", o.Places.UserDatabase(), k.user, keyed)
		}
	}
	c.walls(o.Getenv)
	return c.findings
}

// walls says whether hooks that nobody trusts can be confined.
func (c *checkup) walls(getenv func(string) string) {
	live, _ := config.ReadLive(c.places, getenv) // what is wrong with it was said
	c.missing(worker.Missing(), live.AllowUnconfined)
}

func (c *checkup) missing(walls []worker.Wall, open bool) {
	const kernel = "use a kernel that has them"
	switch {
	case len(walls) == 0:
		c.ok("the worker has all its walls")
	case open:
		c.warn(kernel+", or take allow_unconfined out of your own agentd.yaml", "the worker lacks %v, and hooks that aren't trusted, or say isolate, run without", walls)
	default:
		c.warn(kernel+"; or allow_unconfined in your own agentd.yaml, which runs such hooks with the walls that there are", "the worker lacks %v, so hooks that aren't trusted, or say isolate, are refused", walls)
	}
}

// settings reports whether the keys are known.
func (c *checkup) settings(getenv func(string) string) (keys, bool) {
	live, err := config.ReadLive(c.places, getenv)
	if err != nil {
		c.fail("correct the file", "the settings can't be read: %v", err)
		return keys{}, false
	}
	k, err := readKeys(live)
	if err != nil {
		c.fail("put the key file back as it was; without it what is encrypted can't be read", "%v", err)
		return keys{}, false
	}
	if k.state != nil {
		c.ok("the key file %s holds a key that only you can read", live.KeyFile)
	}
	return k, true
}

// socket looks who has the lock and whether they answer.
func (c *checkup) socket(ctx context.Context) {
	path, err := c.places.Socket()
	if err != nil {
		c.fail("choose a shorter folder with --state-dir or AGENTD_STATE", "%v", err)
		return
	}
	held, process, err := store.Held(c.places.StateDir)
	if err != nil {
		c.fail("make the folder writable for this user", "the lock file can't be opened: %v", err)
		return
	}
	if process == "" {
		process = "a process"
	}
	client, err := api.Dial(ctx, path)
	switch {
	case err == nil:
		client.Close()
		c.ok("a daemon answers on %s", path)
	case held:
		c.warn("wait for it, or end it", "%s holds the writer's lock of %s, and its socket doesn't answer", process, c.places.StateDir)
	case errors.Is(err, api.ErrNoDaemon):
		c.ok("no daemon runs; a verb that needs one becomes it")
	default:
		c.fail("see the daemon's log", "the daemon on %s doesn't answer as it should: %v", path, err)
	}
}

// folder reports whether there is a state folder that can be looked into.
func (c *checkup) folder(dir string) bool {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok("there is no state yet; %s appears with the first run", dir)
		return false
	case err != nil:
		c.fail("make the folder readable for this user", "the state folder can't be looked at: %v", err)
		return false
	case !st.IsDir():
		c.fail("move it away, or choose another state folder", "%s is no folder", dir)
		return false
	}
	if st.Mode().Perm()&0o077 != 0 {
		c.warn("chmod 700 "+dir, "the state folder %s is open to others (%v)", dir, st.Mode().Perm())
	}
	if err := writable(dir); err != nil {
		c.fail(fixOf(err), "nothing can be written to the state folder: %v", err)
	} else {
		c.ok("the state folder %s can be written to", dir)
	}
	return true
}

// writable writes a page and makes it durable, as a commit would.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}

func (c *checkup) space(dir string) {
	free, ok := freeSpace(dir)
	if !ok {
		return
	}
	said := fmt.Sprintf("%d MiB are free on the disk of %s", free>>20, dir)
	switch fix := "free some space; agentd store gc removes old sessions"; {
	case free < spaceNone:
		c.fail(fix, "only %s", said)
	case free < spaceLow:
		c.warn(fix, "only %s", said)
	default:
		c.ok("%s", said)
	}
}

func (c *checkup) database(ctx context.Context, what, path string, key *store.Key, keyed bool) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		c.ok("there is no database yet; it appears with the first run")
		return
	}
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err != nil {
		c.fail("make "+path+" writable for this user, and its folder", "%s can't be written: %v", what, err)
	} else if st, err := f.Stat(); errors.Join(err, f.Close()) == nil && st.Mode().Perm()&0o077 != 0 {
		c.warn("chmod 600 "+path, "%s is open to others (%v)", what, st.Mode().Perm())
	}
	r, err := store.OpenReader(ctx, path, key)
	if errors.Is(err, store.ErrKey) && !keyed { // said already
		return
	}
	if err != nil {
		c.fail(fixOf(err), "%s can't be opened: %v", what, err)
		return
	}
	defer r.Close()
	faults, err := r.CheckFile(ctx)
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, f := range faults {
		c.fail(fixOf(store.ErrDamaged), "%s is damaged: %s", what, f)
	}
	if len(faults) > 0 {
		return
	}
	c.ok("%s %s is in order; agentd store check looks at what is in it", what, path)
	c.left(ctx, what, r)
}

// left tells what waits for a person in a database.
func (c *checkup) left(ctx context.Context, what string, r *store.Reader) {
	if left, err := r.Unswept(ctx); err == nil && left {
		c.warn("agentd store rekey, with nobody reading", "what stood in %s before its key was changed may still be in the file", what)
	}
	for _, state := range []operation.State{operation.Unknown, operation.Waiting} {
		ops, err := r.Operations(ctx, store.Filter{State: state})
		if err != nil {
			c.fail(fixOf(err), "the operations of %s can't be read: %v", what, err)
			return
		}
		if len(ops) == 0 {
			continue
		}
		said := map[operation.State]string{operation.Unknown: "of which nobody knows whether they ran", operation.Waiting: "that wait for a person"}[state]
		c.warn(fmt.Sprintf("see agentd ops list --state %s", state), "%s holds operations %s: %d", what, said, len(ops))
	}
}

// fixOf says what to do about an error of a store or of the system.
func fixOf(err error) string {
	switch {
	case errors.Is(err, store.ErrDamaged):
		return "end agentd, move the file away with its -wal and put a copy back; agentd store export RUN saves what can still be read"
	case errors.Is(err, store.ErrKey):
		return "put the key file back that store.key_file named, or see agentd store rekey --help"
	case errors.Is(err, store.ErrNewer):
		return "install the newer agentd again"
	case errors.Is(err, store.ErrOlder):
		return "start agentd serve once"
	case errors.Is(err, store.ErrForeign):
		return "move it away, or choose another state folder"
	case errors.Is(err, store.ErrFull), noSpace(err):
		return "free some space on its disk; agentd store gc removes old sessions"
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, fs.ErrPermission), refused(err):
		return "make it writable for this user"
	}
	return "look at the disk: the system refused it"
}

// Check reads everything in a database.
func Check(ctx context.Context, r *store.Reader) (*store.Report, []Finding, error) {
	rep, err := r.Check(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	findings := []Finding{}
	if err != nil { // so damaged that not even that is possible
		return &store.Report{}, append(findings, Finding{LevelError, err.Error(), fixOf(store.ErrDamaged)}), nil
	}
	for _, f := range rep.Faults {
		findings = append(findings, Finding{LevelError, f, fixOf(store.ErrDamaged)})
	}
	left, err := r.Unswept(ctx)
	if err == nil && left {
		findings = append(findings, Finding{LevelWarning, "what stood here before the key was changed may still be in the file", "agentd store rekey, with nobody reading"})
	}
	return rep, findings, err
}
