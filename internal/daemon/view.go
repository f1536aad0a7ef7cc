package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/worker"
	"agentd/revision"
	"agentd/store"
)

// View is a look at a project without the writer's lock: what is published, or the working files.
type View struct {
	Runtime    *agentd.Runtime
	Generation *revision.Generation
	Faults     []revision.Fault
	Notes      []string
	places     config.Places
	keys       keys
	reader     *store.Reader // nil if there is no database yet
	apart      *worker.Pool
	trusts     *judge
	unsettled  error // why the settings can't be read
}

// Look opens the database for reading and builds what serves. With dev it builds the working files;
// faults leave the layers that have none.
func Look(ctx context.Context, p config.Places, getenv func(string) string, dev bool) (*View, error) {
	v, err := OpenView(ctx, p, getenv)
	if err != nil {
		return nil, err
	}
	if err := v.load(ctx, dev); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (v *View) load(ctx context.Context, dev bool) error {
	var layers []*revision.Layer
	if dev {
		files := map[hookpoints.Layer][]revision.File{}
		for _, which := range []hookpoints.Layer{hookpoints.User, hookpoints.Project} {
			if v.places.LayerDir(which) == "" {
				continue
			}
			var err error
			if files[which], err = working(v.places, which); err != nil {
				return err
			}
		}
		all, err := edited(ctx, v.Runtime, &judge{places: v.places, all: true}, v.keys, files)
		if err != nil {
			return err
		}
		v.Faults = faultsOf(all)
		for _, l := range all {
			if len(l.Faults) == 0 {
				layers = append(layers, l)
			}
		}
	} else {
		var from heads
		if v.reader != nil {
			from = v.reader
		}
		var err error
		layers, v.Notes, err = serving(ctx, v.Runtime, v.trusts, v.keys, from)
		if ctx.Err() != nil || len(layers) == 0 {
			return err
		}
		if err != nil {
			v.Faults = []revision.Fault{unservedFault(err)}
		}
		if v.unsettled != nil { // who may have signed what serves isn't known
			v.Faults = append(v.Faults, revision.Fault{Message: v.unsettled.Error(), Fix: unsettledFix})
		}
	}
	v.Generation = v.Runtime.Compose(layers)
	return nil
}

// Close lets the database go.
func (v *View) Close() error {
	v.apart.Close()
	if v.reader == nil {
		return nil
	}
	return v.reader.Close()
}

// Reader is the database, or an error that says that there is none yet.
func (v *View) Reader() (*store.Reader, error) {
	if v.reader == nil {
		return nil, fmt.Errorf("%w: nothing was run or published in %s", store.ErrNoDatabase, v.places.StateDir)
	}
	return v.reader, nil
}

// Status is what a daemon would say, were one started now.
func (v *View) Status(ctx context.Context) api.Status {
	s := api.Status{Mode: "published", Revisions: v.Generation.Triple, Hooks: len(v.Generation.Table.Bindings()), Errors: v.Faults, Ignored: []string{}, Clients: installedFor(v.places), Notes: v.Notes}
	if s.Errors == nil {
		s.Errors = []revision.Fault{}
	}
	s.Notes = append(slices.Clip(s.Notes), allLack(v.places, v.Generation)...)
	brought, err := v.brought(ctx)
	if err != nil {
		s.Notes = append(s.Notes, "it can't be told which sessions came with the state folder: "+err.Error())
	} else if len(brought) > 0 {
		s.Notes = append(s.Notes, broughtNote(len(brought)))
	}
	return s
}

// At builds a kept revision over what serves below its layer.
func (v *View) At(ctx context.Context, id string) error {
	r, err := v.Reader()
	if err != nil {
		return err
	}
	rev, err := FindRevision(ctx, r, id)
	if err != nil {
		return err
	}
	var layers []*revision.Layer
	for _, l := range v.Generation.Layers {
		if l.Layer < rev.Layer {
			layers = append(layers, l)
		}
	}
	terms, err := revision.TermsOf(rev.Manifest)
	if err != nil {
		return err
	}
	l, err := v.Runtime.BuildUnder(ctx, rev.Layer, rev.Files, layers, terms)
	if err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("revision %.12s: %w", rev.ID, err)
	}
	v.Generation, v.Faults = v.Runtime.Compose(append(layers, l)), nil
	return nil
}

// Test runs the tests of a layer's working files.
func (v *View) Test(ctx context.Context, which hookpoints.Layer, o TestOptions) (api.TestReport, []revision.Fault, error) {
	files, err := working(v.places, which)
	if err != nil {
		return api.TestReport{}, nil, err
	}
	base, err := shipped(ctx, v.Runtime)
	if err != nil {
		return api.TestReport{}, nil, err
	}
	layer, err := v.Runtime.Build(ctx, which, files, []*revision.Layer{base})
	if err != nil {
		return api.TestReport{}, nil, err
	}
	if len(layer.Faults) > 0 {
		return api.TestReport{}, layer.Faults, nil
	}
	report, err := RunTests(ctx, v.Runtime, layer, files, o)
	return report, nil, err
}

// OpenView is Look without building anything: for verbs that only read the database.
func OpenView(ctx context.Context, p config.Places, getenv func(string) string) (*View, error) {
	return openView(ctx, p, getenv, monotonic{time.Now()})
}

func openView(ctx context.Context, p config.Places, getenv func(string) string, clock hookpoints.Clock) (*View, error) {
	p, err := settle(ctx, p)
	if err != nil {
		return nil, err
	}
	trusts, open := &judge{places: p}, false
	live, unsettled := config.ReadLive(p, getenv) // a verb that only lists what is stored does without
	if unsettled == nil {
		trusts.signers, open = live.RequireSignature, live.AllowUnconfined
	}
	keys, unread, err := lookForKeys(p, getenv)
	if err != nil {
		return nil, err
	}
	r, err := store.OpenReader(ctx, p.Database(), keys.state)
	if errors.Is(err, store.ErrKey) && unread != nil {
		err = fmt.Errorf("%w (the settings can't be read: %w)", err, unread)
	}
	if err != nil && !errors.Is(err, store.ErrNoDatabase) {
		return nil, err
	}
	apart := worker.New(worker.Options{Program: p.Program, Open: open})
	o := agentd.Options{Clock: wall{}, Monotonic: clock, Isolation: isolation(p, apart), Engine: p.Engine}
	if r != nil {
		o.Source = readOnly{r}
	}
	rt, err := agentd.Open(o)
	if err != nil {
		return nil, err
	}
	return &View{Runtime: rt, apart: apart, trusts: trusts, places: p, keys: keys, unsettled: unsettled, Generation: rt.Serving(), reader: r}, nil
}

// readOnly is a database as a source of revisions that keeps none.
type readOnly struct{ *store.Reader }

var errReadOnly = errors.New("the database is open for reading only")

// Keep implements revision.Source.
func (readOnly) Keep(context.Context, *revision.Revision) error { return errReadOnly }

// SetHead implements revision.Source.
func (readOnly) SetHead(context.Context, hookpoints.Layer, string) error { return errReadOnly }
