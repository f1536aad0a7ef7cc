package interp

import (
	"errors"
	"fmt"
	"slices"

	"agentd/builtins/meter"
)

// ErrDefinesLate is what hook is refused for that nothing loads.
var ErrDefinesLate = errors.New("hook can only be called while a file loads, at its top")

// definitionCost is the memory of a hook beside its arguments, and what it takes to grow a list of them.
const definitionCost = 2 << 10

// Loading is the state of one Load that is the same in every language. M is what a module comes to.
type Loading[M any] struct {
	Limits  meter.Limits // of the loading, and of each call of the hooks
	Main    string       // the name of the main file
	Tests   bool         // it is a test file, which defines no hooks
	Defs    []Definition
	Refused string   // the id in the call of hook that was refused
	Modules []string // names of the modules, in the order in which they were first asked for

	find    Module
	loading []string // modules that are being loaded, the innermost last
	loaded  map[string]*loadedModule[M]
	found   map[string]Source // of modules
	missing map[string]error  // of modules that weren't found
}

// loadedModule is a module, without its value while it is being loaded.
type loadedModule[M any] struct {
	value M
	done  bool
}

// NewLoading begins the Load of a main file.
func NewLoading[M any](main Source, find Module, limits meter.Limits) Loading[M] {
	return Loading[M]{Limits: limits, Main: main.Name, find: find, loaded: map[string]*loadedModule[M]{}, found: map[string]Source{}, missing: map[string]error{}}
}

// Define checks that hook may be called here, and begins the definition of a line. Its cost, the memory
// of the hook beside its arguments and the time to hold it against all before it, is to be charged first.
func (l *Loading[M]) Define() (meter.Cost, error) {
	if n := len(l.loading); n > 0 {
		return meter.Cost{}, fmt.Errorf("hook can only be called by the main file, and %s is loaded as a module", l.loading[n-1])
	}
	if l.Tests {
		return meter.Cost{}, errors.New("hook can't be called by a test file")
	}
	return meter.Cost{Fuel: int64(len(l.Defs)) / 32, Bytes: definitionCost}, nil
}

// Module is what the module of a file comes to. Each runs once: the first time its source is found and
// run. A run may panic, as interpreters do where a script catches errors.
func (l *Loading[M]) Module(file string, run func(Source) (M, error)) (M, error) {
	var none M
	if file == l.Main {
		return none, errors.New("the module loads itself")
	}
	if m := l.loaded[file]; m != nil {
		if !m.done {
			return none, errors.New("the module loads itself, by way of others")
		}
		return m.value, nil
	}
	if l.find == nil {
		return none, errors.New("there are no modules here")
	}
	src, err := l.source(file)
	if err != nil {
		return none, err
	}
	m := &loadedModule[M]{}
	l.loaded[file] = m
	if !slices.Contains(l.Modules, file) { // also if it fails, and the file goes on without it
		l.Modules = append(l.Modules, file)
	}
	depth := len(l.loading)
	l.loading = append(l.loading, file)
	defer func() {
		l.loading = l.loading[:depth]
		if !m.done {
			delete(l.loaded, file)
		}
	}()
	if m.value, err = run(src); err != nil {
		return none, err
	}
	m.done = true
	return m.value, nil
}

// maxMissing bounds the modules that aren't found: looking for one among many files, or asking another process for
// it, takes longer than what a script pays for the call.
const maxMissing = 100

// source finds the text of a module, once: a script that catches its errors can ask for it as often as it likes.
func (l *Loading[M]) source(file string) (Source, error) {
	if src, ok := l.found[file]; ok {
		return src, nil
	}
	if err := l.missing[file]; err != nil {
		return Source{}, err
	}
	if len(l.missing) == maxMissing {
		return Source{}, fmt.Errorf("it asked for %d modules that weren't found, and may ask for no more", maxMissing)
	}
	src, err := l.find(file)
	if err != nil {
		l.missing[file] = err
		return src, err
	}
	l.found[file] = src
	return src, nil
}
