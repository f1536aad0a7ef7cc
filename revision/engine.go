package revision

import (
	"context"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/operation"
)

// Engine is what a manifest says about the program that runs the scripts. The zero value is this
// program's own; anything else stands for another build of it, in tests.
type Engine struct {
	Schedule, Builtins   int
	Interpreter, Dialect string
}

func (e Engine) identity(id interp.Identity) interp.Identity {
	if e.Interpreter != "" {
		id.Interpreter = e.Interpreter
	}
	if e.Dialect != "" {
		id.Dialect = e.Dialect
	}
	return id
}

// ErrEngine is an ErrDrift that a person may accept: the files are the same, and what runs them is
// another agentd.
var ErrEngine = fmt.Errorf("%w, and nothing else differs", ErrDrift)

// Difference is how this agentd differs from the one that a layer was made for.
type Difference struct {
	Layer  string        `json:"layer"`
	Path   string        `json:"path"`
	Before payload.Value `json:"before,omitzero"`
	After  payload.Value `json:"after,omitzero"`
}

// String says the difference in words.
func (d Difference) String() string {
	words := func(v payload.Value) string {
		if !v.Exists() {
			return "not there"
		}
		return v.String()
	}
	return fmt.Sprintf("%s of the %s layer was %s and is %s", d.Path, d.Layer, words(d.Before), words(d.After))
}

// Words says differences in one line.
func Words(list []Difference) string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.String()
	}
	return strings.Join(out, "; ")
}

// ofEngine reports whether a part of a manifest is the program's and not the layer's.
func ofEngine(path string) bool {
	top, rest, _ := strings.Cut(path, ".")
	switch top {
	case "format", "point_contract_version", "total_timeout", "limits", "schedule", "builtins", "engines":
		return true
	case "bindings":
		return strings.Contains(rest, ".point_contract.")
	}
	return false
}

// differences lists how two manifests of the same files differ because of the program. The error is
// ErrDrift, where they differ otherwise too.
func differences(layer string, kept, now []byte) (out []Difference, err error) {
	changes, err := Diff(kept, now)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if !ofEngine(c.Path) {
			return nil, fmt.Errorf("%w: its files come to another manifest, first at %s", ErrDrift, c.Path)
		}
		out = append(out, Difference{layer, c.Path, c.Before, c.After})
	}
	return out, nil
}

// Drift says why a kept revision doesn't come to this layer, which was built of its files: ErrEngine, if
// only the program is another one, else ErrDrift.
func (l *Layer) Drift(kept *Revision) error {
	list, err := differences(l.Layer.String(), kept.Manifest, l.Manifest)
	if err != nil {
		return err
	}
	return drifted(list)
}

// drifted is the error about a layer that another program made.
func drifted(list []Difference) error {
	return fmt.Errorf("%w: %s", ErrEngine, Words(list))
}

// Differences loads the layers of a triple and lists how the agentd that they were made for differs
// from this one; nothing where it doesn't.
func (p *Planner) Differences(ctx context.Context, t operation.Triple) ([]Difference, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, list, err := p.load(ctx, t)
	return list, err
}

// Recorded is Generation for what only shows what was done, and runs nothing: whatever agentd the
// layers were made for.
func (p *Planner) Recorded(ctx context.Context, t operation.Triple) (*Generation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, _, err := p.load(ctx, t)
	return g, err
}

// AcceptEngine lets the layers of a triple run here from now on, whatever agentd they were made for.
func (p *Planner) AcceptEngine(ctx context.Context, t operation.Triple) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, _, err := p.load(ctx, t)
	if err != nil {
		return err
	}
	if p.accepted == nil {
		p.accepted = map[operation.Triple]*Generation{}
	}
	p.accepted[t] = g
	return nil
}

// load composes a triple whatever agentd it was made for.
func (p *Planner) load(ctx context.Context, t operation.Triple) (*Generation, []Difference, error) {
	layers, list, err := p.layersOf(ctx, t, true)
	if err != nil {
		return nil, nil, err
	}
	return Compose(p.Builder.Points, p.Clock, layers), list, nil
}
