package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/internal/config"
	"agentd/internal/install"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/store"
)

// canaryWait is how long the canary may take.
const canaryWait = 30 * time.Second

// lookedAt is how many of a client's last operations the doctor looks at.
const lookedAt = 2000

// DoctorClient looks whether a client's events reach agentd, and whether a refusal gets through. It changes
// nothing.
func DoctorClient(ctx context.Context, o Options, c install.Client, now time.Time) []Finding {
	k := &checkup{places: o.Places}
	live, err := config.ReadLive(o.Places, o.Getenv)
	if err != nil {
		k.fail("correct the file", "the settings can't be read: %v", err)
	}
	looked := install.Look(install.Request{Client: c, Places: o.Places, Policy: live.Clients, Getenv: o.Getenv, Now: now})
	for _, f := range looked.Findings {
		k.findings = append(k.findings, Finding(f))
	}
	k.version(ctx, c)
	k.canaries(ctx, c, looked.Canary, now)
	k.serving(ctx, o)
	k.seen(ctx, o, c, now)
	k.downgrades(c)
	return k.findings
}

// number is a version in what a client says about itself.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// version asks a client that is there whether it is one that runs what is registered.
func (k *checkup) version(ctx context.Context, c install.Client) {
	if len(c.Needs.Argv) == 0 {
		return
	}
	if !tool.Installed(c.Needs.Argv[0]) {
		return
	}
	exit, err := tool.Runner{}.Run(ctx, tool.Command{Argv: c.Needs.Argv, Dir: os.TempDir(), Env: os.Environ(), Timeout: canaryWait})
	said := number.FindString(exit.Stdout.String())
	switch {
	case err != nil || said == "":
		k.warn("try "+strings.Join(c.Needs.Argv, " "), "%s doesn't say its version, and it needs one %s: %s", c.Title, c.Needs.Versions, c.Needs.Why)
	case !c.Needs.Versions.Has(said):
		k.fail("update "+c.Title, "%s is %s, and it needs one %s: %s", c.Title, said, c.Needs.Versions, c.Needs.Why)
	default:
		k.ok("%s %s runs what is registered", c.Title, said)
	}
}

// canaries starts what is registered, as the client would, with an event that has to be refused.
func (k *checkup) canaries(ctx context.Context, c install.Client, starts []install.Start, now time.Time) {
	cwd := k.places.Project
	if cwd == "" {
		cwd = os.TempDir()
	}
	input := c.CanaryInput(client.CanaryTool, cwd, now.UTC().Format("2006-01-02T15:04:05.000Z"))
	codec, e, err := client.Understand(c.Name, c.CanaryEvent, input)
	v, ok := client.Canary(e)
	if err != nil || !ok || e.Client != c.Name {
		k.fail("report it", "the canary of %s isn't one: %v", c.Title, err)
		return
	}
	want, _, _ := client.Say(codec, e, v)
	for _, s := range starts {
		exit, err := tool.Runner{}.Run(ctx, tool.Command{Argv: s.Argv, Dir: cwd, Env: os.Environ(), Stdin: input, Timeout: canaryWait})
		switch {
		case err != nil:
			k.fail("see the finding before, or agentd serve's log", "a call that has to be refused wasn't: what the %s's configuration registers didn't answer: %v", s.Scope, err)
		case exit.Code == want.Exit && exit.Stdout.String() == string(want.Stdout):
			k.ok("a call that has to be refused is refused, as the %s's configuration registers it", s.Scope)
		case strings.HasSuffix(exit.Stdout.String(), string(want.Stdout)):
			noise := strings.TrimSuffix(exit.Stdout.String(), string(want.Stdout))
			k.fail("let the shell's profile print nothing where nobody sits at it", "a call that has to be refused wasn't: %q stands before the answer, and %s takes only the answer", noise, c.Title)
		default:
			k.fail("agentd install "+c.Name, "a call that has to be refused wasn't: what the %s's configuration registers answered %s", s.Scope, answered(exit))
		}
	}
}

func answered(exit tool.Exit) string {
	said := strings.TrimSpace(exit.Stdout.String())
	if said == "" {
		said = strings.TrimSpace(exit.Stderr.String())
	}
	if len(said) > 200 {
		said = said[:200] + " ..."
	}
	return fmt.Sprintf("with exit code %d: %q", exit.Code, said)
}

// serving tells how many hooks a client's events meet.
func (k *checkup) serving(ctx context.Context, o Options) {
	s, err := status(ctx, o)
	if err != nil {
		k.fail("see agentd status", "what serves can't be told: %v", err)
		return
	}
	told := 0
	for _, f := range s.Errors {
		if refusesAll(f) {
			k.fail(f.Fix, "nothing is decided, and clients are told no: %s", f.Message)
			told++
		}
	}
	for _, note := range s.Notes {
		if note == onlyContext || strings.Contains(note, ErrUntrusted.Error()) {
			k.fail("agentd trust, or agentd publish", "%s", note)
			told++
		}
	}
	switch {
	case s.Hooks > 0:
		k.ok("hooks that serve: %d", s.Hooks)
	case told == 0:
		k.warn("agentd publish, or agentd serve --dev for the working files", "no hook serves, so nothing is decided about any event")
	}
	if len(s.Errors) > 0 && !refusesAll(s.Errors[0]) {
		k.warn("see agentd status", "not everything serves that should: %v", s.Errors[0])
	}
}

// status is that of the daemon, or of one that would serve what is published.
func status(ctx context.Context, o Options) (api.Status, error) {
	path, err := o.Places.Socket()
	if err != nil {
		return api.Status{}, err
	}
	if c, err := api.Dial(ctx, path); err == nil {
		defer c.Close()
		return c.Status(ctx)
	}
	v, err := Look(ctx, o.Places, o.Getenv, false)
	if err != nil {
		return api.Status{}, err
	}
	s := v.Status(ctx)
	return s, v.Close()
}

// sighting is what is known of a point from a client's operations.
type sighting struct {
	last time.Time
	took []time.Duration
}

// seen tells when each event arrived last, and how long the answers took.
func (k *checkup) seen(ctx context.Context, o Options, c install.Client, now time.Time) {
	points, events, undecided, err := k.sightings(ctx, o, c.Name)
	if err != nil {
		k.warn(fixOf(err), "when events arrived can't be read: %v", err)
		return
	}
	if n := len(undecided); n > 0 {
		k.warn("look at agentd ops show "+undecided[n-1].Head.ID, "%s of %s couldn't be decided; the last one %s ago: %s", eventsOf(n), c.Title, now.Sub(undecided[n-1].Head.Began).Round(time.Second), undecided[n-1].Reason)
	}
	var never []string
	for _, e := range arrivals(c.Registrations(config.Clients{}), points, events) {
		s := points[e.point]
		if e.last.IsZero() {
			never = append(never, e.name)
			continue
		}
		what := fmt.Sprintf("%s (%s): last %s ago", e.name, e.point, now.Sub(e.last).Round(time.Second))
		if len(s.took) > 0 && e.latest {
			slices.Sort(s.took)
			what += fmt.Sprintf("; %s decided, p50 %s, p99 %s", countOf(len(s.took)), brief(s.took[(len(s.took)-1)/2]), brief(s.took[(len(s.took)-1)*99/100]))
		}
		k.ok("%s", what)
	}
	switch {
	case len(never) > 0 && len(points) == 0:
		k.warn("start "+c.Title+" once, and look again", "no event of %s has arrived yet", c.Title)
	case len(never) > 0:
		k.ok("never arrived, which may be normal: %s", strings.Join(never, ", "))
	}
}

// arrival is when an event that is registered came last; latest says that no other at its point came later.
type arrival struct {
	name, point string
	last        time.Time
	latest      bool
}

// arrivals tells events apart that share a point by what the sessions know of them, which is no older than some seconds.
// The latest is as old as the last operation there; so is the first where no session says anything.
func arrivals(regs []install.Registration, points map[string]*sighting, events map[string]time.Time) (list []arrival) {
	latest := map[string]int{}
	for i, reg := range regs {
		list = append(list, arrival{name: reg.Event, point: reg.Point, last: events[reg.Event]})
		if was, ok := latest[reg.Point]; !ok || list[was].last.Before(list[i].last) {
			latest[reg.Point] = i
		}
	}
	for point, i := range latest {
		if s := points[point]; s != nil && (len(events) == 0 || !list[i].last.IsZero()) {
			list[i].last, list[i].latest = s.last, true
		}
	}
	return list
}

func eventsOf(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

func countOf(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// brief is a time between two entries of the journal, which counts milliseconds.
func brief(d time.Duration) string {
	if d < time.Millisecond {
		return "below 1ms"
	}
	return d.Round(time.Millisecond).String()
}

// sightings are the points at which a client's events were answered, when each event came last as far as sessions
// know, and those events that couldn't be decided.
func (k *checkup) sightings(ctx context.Context, o Options, name string) (points map[string]*sighting, events map[string]time.Time, undecided []operation.Decided, err error) {
	points = map[string]*sighting{}
	if _, err := os.Stat(o.Places.Database()); errors.Is(err, fs.ErrNotExist) {
		return points, nil, nil, nil
	}
	keys, _ := (&checkup{places: o.Places}).settings(o.Getenv)
	r, err := store.OpenReader(ctx, o.Places.Database(), keys.state)
	if err != nil {
		return nil, nil, nil, err
	}
	defer r.Close()
	ops, err := r.Operations(ctx, store.Filter{Client: name, Limit: lookedAt})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := k.heeded(ctx, r, name); err != nil {
		return nil, nil, nil, err
	}
	for _, op := range ops {
		rows, err := r.Rows(ctx, op.Head.ID)
		if err != nil {
			return nil, nil, nil, err
		}
		steps, err := r.Steps(ctx, op.Head.ID)
		if err != nil {
			return nil, nil, nil, err
		}
		for i, row := range rows {
			if i >= len(steps) {
				break
			}
			if d, ok := row.(operation.PointRow); ok && d.Code == operation.Undecided {
				undecided = append(undecided, d.Decided)
			}
			point := pointOf(row)
			if point == "" {
				continue
			}
			s := points[point]
			if s == nil {
				s = &sighting{}
				points[point] = s
			}
			if s.last.Before(steps[i].At) {
				s.last = steps[i].At
			}
			if i == 0 && !op.Head.Began.IsZero() {
				s.took = append(s.took, max(steps[i].At.Sub(op.Head.Began), 0))
			}
		}
	}
	events, err = came(ctx, r, name)
	return points, events, undecided, err
}

// came is when each of a client's events came last in any session.
func came(ctx context.Context, r *store.Reader, name string) (map[string]time.Time, error) {
	cells, err := r.AllCells(ctx)
	events := map[string]time.Time{}
	for _, c := range cells {
		if c.Name != memoCell || !strings.HasPrefix(c.Session, name+":") {
			continue
		}
		for event, at := range readSeen(c.Value) {
			if t := time.UnixMilli(at); events[event].Before(t) {
				events[event] = t
			}
		}
	}
	return events, err
}

// pointOf is where an event arrived that a client's row answers.
func pointOf(row operation.Row) string {
	switch r := row.(type) {
	case operation.PointRow:
		return r.Point
	case operation.IntentRow, operation.WaitingRow:
		return "tool.before"
	case operation.OutcomeRow:
		return "tool.after"
	}
	return ""
}

// downgrades tells what the client can't be told.
func (k *checkup) downgrades(c install.Client) {
	for _, row := range client.Table() {
		if row.Client != c.Name {
			continue
		}
		what := row.Verb.String()
		if row.Field != "" {
			what += " of " + row.Field
		}
		if row.Dialect != "" {
			what += " (" + row.Dialect + ")"
		}
		k.ok("%s at %s is sent as %s (versions: %s): %s", what, row.Event, row.Instead, row.Versions, row.Why)
	}
}
