package agentd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
)

// stepSpec is one process: one of the verbs, faults, and what must hold afterwards.
type stepSpec struct {
	// Serve builds a version of the files and serves it; "" is the plain files, which serve from the start.
	Serve *string `yaml:"serve"`
	// Builds builds a version and gives its faults or its manifest.
	Builds *string `yaml:"builds"`
	// Revisions says which versions come to the same project revision: a letter each.
	Revisions map[string]string `yaml:"revisions"`
	// Verify checks the kept revisions of what serves.
	Verify bool           `yaml:"verify"`
	Decide *decideSpec    `yaml:"decide"`
	Do     names          `yaml:"do"` // operations, one batch
	Run    *runSpec       `yaml:"run"`
	Settle *settleSpec    `yaml:"settle"`
	Allow  string         `yaml:"allow"` // this unknown operation may run again
	Points []pointSpec    `yaml:"points"`
	Vector map[int]string `yaml:"vector"`

	Die        string            `yaml:"die"`         // PLACE, or PLACE N
	FailCommit int               `yaml:"fail_commit"` // the n-th of this process
	Cancel     string            `yaml:"cancel"`      // PLACE, or PLACE N: whoever waits goes away there
	Withdraw   bool              `yaml:"withdraw"`    // from now on nothing is authorised
	Tamper     *tampering        `yaml:"tamper"`      // from now on
	Upgrade    map[string]string `yaml:"upgrade"`     // versions of the host's hooks in this process
	Repin      bool              `yaml:"repin"`       // the host forgot what operations began under
	Later      string            `yaml:"later"`       // the wall clock, before it begins

	Want     any               `yaml:"want"`
	Error    string            `yaml:"error"` // a word of errorWords, or a regular expression
	Witness  []string          `yaml:"witness"`
	Called   map[string]int    `yaml:"called"`
	Rows     map[string]string `yaml:"rows"`
	Saved    map[string]any    `yaml:"saved"`
	Records  map[string]any    `yaml:"records"`
	Cells    map[string]any    `yaml:"cells"`
	Absent   []string          `yaml:"absent"` // nowhere in the journal, nor in what came back
	Present  []string          `yaml:"present"`
	Requests *int              `yaml:"requests"`
	Request  []string          `yaml:"request"` // the last one, a regular expression a line
	Told     []string          `yaml:"told"`    // events, in this order among others
	Untold   []string          `yaml:"untold"`
}

// names is one name or several.
type names []string

func (n *names) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*n = names{one}
		return nil
	}
	return unmarshal((*[]string)(n))
}

type decideSpec struct {
	Point   string         `yaml:"point"`
	Payload map[string]any `yaml:"payload"` // over the point's example
	Text    string         `yaml:"text"`    // or the payload as it stands
	Scope   map[string]any `yaml:"scope"`
	Kind    string         `yaml:"kind"`
	Binding string         `yaml:"binding"`
}

type settleSpec struct {
	Op     string `yaml:"op"`
	Verb   string `yaml:"verb"`
	Value  any    `yaml:"value"`
	Reason string `yaml:"reason"`
}

// pointSpec is what a contract takes, and what it doesn't: the sample as it is, and changed.
type pointSpec struct {
	Point    string           `yaml:"point"`
	Sample   map[string]any   `yaml:"sample"`
	Required []string         `yaml:"required"`
	Optional []string         `yaml:"optional"`
	Valid    []map[string]any `yaml:"valid"`   // whole payloads
	Invalid  []map[string]any `yaml:"invalid"` // whole payloads
	Wrong    []map[string]any `yaml:"wrong"`   // fields over the sample
}

var errorWords = map[string]error{
	"recovery": operation.ErrRecovery, "hook": operation.ErrHook, "persistence": operation.ErrPersistence, "cancelled": context.Canceled,
	"unknown_model": operation.ErrUnknownModel, "contract": hookpoints.ErrContract, "drift": revision.ErrDrift, "waiting": operation.ErrWaiting,
}

func (w *world) play() {
	if len(w.files[""]) > 0 || len(w.spec.Host) > 0 || w.spec.Model != nil {
		serves := ""
		w.playStep(&stepSpec{Serve: &serves}, "begin")
	}
	for i := range w.spec.Steps {
		w.playStep(&w.spec.Steps[i], fmt.Sprintf("step %d", i+1))
		if w.t.Failed() {
			return
		}
	}
}

func (w *world) playStep(s *stepSpec, name string) {
	w.t.Helper()
	w.passes(0, w.duration(s.Later))
	w.withdrawn = w.withdrawn || s.Withdraw
	if s.Tamper != nil {
		w.tamper = s.Tamper
	}
	var got payload.Value
	died, err := w.live(s, func(p *process) (err error) {
		got, err = p.verb()
		return err
	})
	if died != (s.Die != "") {
		w.t.Errorf("%s: died: %v at %q", name, died, s.Die)
	}
	w.check(s, name, got, err)
}

// verb does what a step is for. What it gives is held against want.
func (p *process) verb() (payload.Value, error) {
	s := p.step
	switch {
	case s.Serve != nil:
		return payload.Value{}, p.serve(*s.Serve)
	case s.Builds != nil:
		return p.builds(*s.Builds)
	case s.Revisions != nil:
		return payload.Value{}, p.revisions(s.Revisions)
	case s.Verify:
		return payload.Value{}, p.verify()
	case s.Decide != nil:
		return p.decide(s.Decide)
	case s.Do != nil:
		return p.do(s.Do)
	case s.Run != nil:
		return p.run(s.Run)
	case s.Settle != nil:
		return payload.Value{}, p.rt.Runner().Reconcile(p.ctx, s.Settle.Op, operation.Settlement{Verb: s.Settle.Verb, Value: p.value(s.Settle.Value), Reason: s.Settle.Reason})
	case s.Allow != "":
		return payload.Value{}, p.rt.Runner().AllowRetry(p.ctx, s.Allow, "a person says so")
	case s.Points != nil:
		return payload.Value{}, p.points(s.Points)
	case s.Vector != nil:
		return payload.Value{}, p.vector(s.Vector)
	}
	return payload.Value{}, nil
}

func (p *process) build(version string) (layers []*revision.Layer, err error) {
	for _, which := range hookpoints.Layers() {
		files := p.files[version][which]
		if which == hookpoints.Project && p.spec.Model != nil && !slices.ContainsFunc(files, func(f revision.File) bool { return f.Path == revision.ConfigFile }) {
			files = append(slices.Clone(files), revision.File{Path: revision.ConfigFile, Text: []byte(defaultAgent)})
		}
		if len(files) == 0 && which != hookpoints.Shipped {
			continue
		}
		l, err := p.rt.Build(p.ctx, which, files, layers)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// defaultAgent is the agent of scenarios with a model, where they don't configure one.
const defaultAgent = "agents:\n  default:\n    model: {provider: scripted, name: m}\n    tools: [read_file, write_file]\n    confirm: allow\n"

func (p *process) serve(version string) error {
	layers, err := p.build(version)
	if err != nil {
		return err
	}
	g, err := p.rt.Serve(p.ctx, layers)
	if err == nil {
		p.serves = g.Triple
	}
	return err
}

// builds gives the faults of a version, and the manifest of its highest layer.
func (p *process) builds(version string) (payload.Value, error) {
	layers, err := p.build(version)
	if err != nil {
		return payload.Value{}, err
	}
	faults := []revision.Fault{}
	for _, l := range layers {
		faults = append(faults, l.Faults...)
	}
	said, err := payload.From(faults)
	if err != nil {
		return said, err
	}
	out := payload.NewObject(payload.Field{Name: "faults", Value: said})
	if top := layers[len(layers)-1]; len(top.Manifest) > 0 {
		manifest, err := payload.Parse(top.Manifest)
		if err != nil {
			return out, err
		}
		out = out.With(payload.Field{Name: "manifest", Value: manifest})
	}
	return out, nil
}

func (p *process) revisions(want map[string]string) error {
	ids := map[string]string{}
	for version, letter := range want {
		layers, err := p.build(version)
		if err != nil {
			return err
		}
		var triple strings.Builder
		for _, l := range layers {
			if err := l.Err(); err != nil {
				return err
			}
			triple.WriteString(l.ID + " ")
		}
		for other, id := range ids {
			if same := id == triple.String(); same != (other == letter) {
				return fmt.Errorf("version %s is %s, beside %s %s", version, triple.String(), other, id)
			}
		}
		ids[letter] = triple.String()
	}
	return nil
}

// verify checks what is kept of the generation that serves, layer by layer, then loads it.
func (p *process) verify() error {
	var below []*revision.Layer
	for _, which := range hookpoints.Layers() {
		id := p.serves.Of(which)
		if id == "" {
			continue
		}
		kept, err := source{p.store, p}.Revision(p.ctx, id)
		if err != nil {
			return err
		}
		if err := p.rt.Builder().Verify(p.ctx, kept, below); err != nil {
			return err
		}
		l, err := p.rt.Builder().Build(p.ctx, which, kept.Files, below)
		if err != nil {
			return err
		}
		below = append(below, l)
	}
	_, err := p.rt.Generation(p.ctx, p.serves)
	return err
}

func (p *process) decide(q *decideSpec) (payload.Value, error) {
	point := p.rt.Points().Point(q.Point)
	if point == nil {
		return payload.Value{}, fmt.Errorf("there is no point %q", q.Point)
	}
	in := point.Example.With(p.fields(q.Payload)...)
	if q.Text != "" {
		var err error
		if in, err = payload.ParseString(q.Text); err != nil {
			return in, err
		}
	}
	g, err := p.rt.Generation(p.ctx, p.serves)
	if err != nil {
		return payload.Value{}, err
	}
	res, err := p.rt.Decide(p.ctx, g, agentd.DecideRequest{Point: q.Point, Payload: in, Scope: payload.NewObject(p.fields(q.Scope)...), Kind: q.Kind, Binding: q.Binding})
	if err != nil {
		return payload.Value{}, err
	}
	for _, line := range res.Trace {
		p.Trace(line.BindingID, line.Kind, line.Text)
	}
	res.Trace = nil // only its author sees that
	out, err := payload.From(res)
	return out.With(payload.Field{Name: "ran", Value: ids(res.Records)}), err
}

// points holds contracts to what they take.
func (p *process) points(list []pointSpec) error {
	var all error
	for _, q := range list {
		point := p.rt.Points().Point(q.Point)
		if point == nil {
			return fmt.Errorf("there is no point %q", q.Point)
		}
		try := func(valid bool, v payload.Value) {
			if err := point.Check(v); (err == nil) != valid || err != nil && !errors.Is(err, hookpoints.ErrContract) {
				all = errors.Join(all, fmt.Errorf("%s takes %s: %v, want %v", q.Point, v, err, valid))
			}
		}
		sample := payload.NewObject(p.fields(q.Sample)...)
		if q.Sample != nil {
			try(true, sample)
			try(false, sample.With(payload.Field{Name: "extra", Value: payload.NewNull()}))
		}
		try(false, payload.NewObject())
		var required, optional []string
		for _, f := range point.Contract.Fields() {
			if f.Required {
				required = append(required, f.Name)
			} else {
				optional = append(optional, f.Name)
			}
		}
		if q.Required != nil && (!slices.Equal(required, q.Required) || !slices.Equal(optional, q.Optional)) {
			all = errors.Join(all, fmt.Errorf("%s requires %v and takes %v, want %v and %v", q.Point, required, optional, q.Required, q.Optional))
		}
		for _, name := range q.Required {
			try(false, sample.Without(name))
		}
		for _, name := range q.Optional {
			if sample.Get(name).Exists() {
				try(true, sample.Without(name))
			}
		}
		for _, v := range q.Valid {
			try(true, payload.NewObject(p.fields(v)...))
		}
		for _, v := range q.Invalid {
			try(false, payload.NewObject(p.fields(v)...))
		}
		for _, v := range q.Wrong {
			try(false, sample.With(p.fields(v)...))
		}
	}
	return all
}

func (p *process) vector(want map[int]string) error {
	var all error
	for version, hash := range want {
		got, err := hookpoints.BaseVector(version)
		if hash == "" != (err != nil) || got != hash {
			all = errors.Join(all, fmt.Errorf("the contract %d hashes to %q (%v), want %q", version, got, err, hash))
		}
	}
	return all
}
