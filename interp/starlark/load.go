package starlark

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/interp"
)

// dialect is fixed: every program ends, and loading declares.
var dialect = syntax.FileOptions{Set: true}

// loading is the state of one Load.
type loading struct {
	interp.Loading[starlark.StringDict]
	env       *environment
	functions int // of all files
	options   syntax.FileOptions
	source    meter.Meter // of compiling
}

func newLoading(env *environment, src interp.Source, module interp.Module, limits meter.Limits) *loading {
	return &loading{Loading: interp.NewLoading[starlark.StringDict](src, module, limits), env: env, options: dialect, source: *meter.New(new(uint64), sourceLimits)}
}

// loadMain runs the main file and returns its globals, frozen like everything that a hook reaches.
func (r *run) loadMain(src interp.Source) (starlark.StringDict, error) {
	l := r.loading
	r.thread.Name = src.Name
	r.thread.Load = func(t *starlark.Thread, name string) (starlark.StringDict, error) { return running(t).loadModule(name) }
	names, err := r.loadFile(src)
	if err != nil {
		return nil, err
	}
	w := newFreezer(r)
	for i := range l.Defs {
		d := &l.Defs[i]
		d.Modules = l.Modules
		if err := d.Hook.(freezable).freeze(w); err != nil {
			return nil, r.fault(err, syntax.MakePosition(&d.File, int32(d.Line), 1))
		}
	}
	return names, nil
}

// freezable is a hook while it is being loaded.
type freezable interface{ freeze(*freezer) error }

// loadFile compiles a file and runs it, and returns what it bound at the top, frozen.
func (r *run) loadFile(src interp.Source) (starlark.StringDict, error) {
	if err := scan(src); err != nil {
		return nil, r.sourceError(src.Name, err)
	}
	if err := r.loading.paySource(src.Text); err != nil {
		return nil, r.sourceError(src.Name, err)
	}
	options := r.loading.options
	f, err := options.Parse(src.Name, src.Text, 0)
	if err != nil {
		return nil, r.sourceError(src.Name, err)
	}
	own, err := rewrite(r.loading, f)
	if err != nil {
		return nil, r.sourceError(src.Name, err)
	}
	prog, err := starlark.FileProgram(f, r.loading.env.declares)
	if err != nil {
		return nil, r.sourceError(src.Name, err)
	}
	return r.initFile(src, prog, own)
}

func (r *run) initFile(src interp.Source, prog *starlark.Program, own map[string]bool) (names starlark.StringDict, err error) {
	l := r.loading
	at := syntax.MakePosition(&src.Name, 0, 0)
	defer func() {
		if p := recover(); p != nil {
			names, err = nil, r.fault(fmt.Errorf("the interpreter failed: %v", p), at)
		}
	}()
	globals, err := prog.Init(&r.thread, l.env.values)
	if err == nil && r.meter.Spent() {
		err = meter.ErrSpent
	}
	if err != nil {
		return nil, r.fault(err, at)
	}
	names = starlark.StringDict{}
	w := newFreezer(r)
	for _, name := range globals.Keys() {
		if !own[name] {
			continue
		}
		if err := w.freeze(globals[name]); err != nil {
			return nil, r.fault(fmt.Errorf("global %s: %w", name, err), at)
		}
		names[name] = globals[name]
	}
	return names, nil
}

// loadModule is load("//name", ...). Each module runs once, in the same run as the main file.
func (r *run) loadModule(name string) (starlark.StringDict, error) {
	l := r.loading
	if l == nil {
		return nil, errors.New("load is only for files that are being loaded")
	}
	file, ok := strings.CutPrefix(name, "//")
	if !ok {
		return nil, errors.New(`only modules of the same layer can be loaded, by names like "//lib/paths.star"`)
	}
	if path.Clean("/"+file) != "/"+file || strings.Contains(file, "\\") || !strings.HasSuffix(file, ".star") {
		return nil, errors.New(`the name is no clean path that ends in .star`)
	}
	return l.Module(file, r.loadFile)
}
