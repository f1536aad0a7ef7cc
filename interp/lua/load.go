package lua

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"agentd/builtins/meter"
	"agentd/interp"
)

// loading is the state of one Load.
type loading struct {
	interp.Loading[lua.LValue]
	engine    *Engine
	env       *environment
	functions int                    // of all files
	texts     map[string]*translated // by file
	fault     *interp.Error          // of the text of a module
}

// translated is what a file's text came to, and what that cost. Where a script catches the error of a module,
// it can ask for it again and again, and what the parser takes is charged by length alone.
type translated struct {
	proto *lua.FunctionProto
	err   error
	cost  meter.Cost
}

func newLoading(e *Engine, env *environment, src interp.Source, module interp.Module, limits meter.Limits) *loading {
	return &loading{Loading: interp.NewLoading[lua.LValue](src, module, limits), engine: e, env: env, texts: map[string]*translated{}}
}

// loadMain runs the main file and returns its globals. All that a hook reaches is frozen.
func (r *run) loadMain(src interp.Source) (*lua.LTable, error) {
	l := r.loading
	fn, err := r.compile(src)
	if err != nil {
		return nil, err
	}
	if _, err := r.invoke(l.engine.states, fn); err != nil {
		return nil, err
	}
	r.state = l.engine.states.take()
	r.begin(r.state)
	defer func() { l.engine.states.give(r.state); r.state = nil }()
	w := newFreezer(r)
	if err := w.freeze(fn.Env); err != nil {
		return nil, r.fault(err, frame{file: src.Name})
	}
	for i := range l.Defs {
		d := &l.Defs[i]
		d.Modules = l.Modules
		if err := d.Hook.(freezable).freeze(w); err != nil {
			return nil, r.fault(err, frame{file: d.File, line: d.Line})
		}
	}
	return fn.Env, nil
}

// freezable is a hook while it is being loaded.
type freezable interface{ freeze(*freezer) error }

// compile makes the function of a file, in an environment of its own.
func (r *run) compile(src interp.Source) (*lua.LFunction, error) {
	proto, err := r.translateOnce(src)
	if err != nil {
		return nil, r.sourceError(src, err)
	}
	globals := &lua.LTable{Metatable: r.loading.env.meta}
	return &lua.LFunction{Env: globals, Proto: proto, Upvalues: []*lua.Upvalue{}}, nil
}

// translateOnce translates a text the first time, and charges the same each time.
func (r *run) translateOnce(src interp.Source) (*lua.FunctionProto, error) {
	l := r.loading
	if t := l.texts[src.Name]; t != nil {
		if err := r.meter.Charge(t.cost); err != nil {
			return nil, err
		}
		return t.proto, t.err
	}
	fuel, size := r.meter.Used()
	proto, err := r.translate(src)
	if !r.over() {
		nowFuel, nowSize := r.meter.Used()
		l.texts[src.Name] = &translated{proto, err, meter.Cost{Fuel: nowFuel - fuel, Bytes: nowSize - size}}
	}
	return proto, err
}

// translate parses a file, rewrites it and compiles it. All of that is paid for by the length of the
// text, which is bounded, and by what the compiler searches one by one.
func (r *run) translate(src interp.Source) (proto *lua.FunctionProto, err error) {
	defer func() {
		if p := recover(); p != nil {
			proto, err = nil, fmt.Errorf("the compiler failed: %v", p)
		}
	}()
	if err := scan(src); err != nil {
		return nil, err
	}
	n := int64(len(src.Text))
	if err := r.charge(1+n/2, 16*n); err != nil {
		return nil, err
	}
	tree, err := parse.Parse(bytes.NewReader(src.Text), src.Name)
	if err != nil {
		return nil, err
	}
	tree, err = rewrite(r, src.Name, tree)
	if err != nil {
		return nil, err
	}
	proto, err = lua.Compile(tree, src.Name)
	if err != nil {
		return nil, err
	}
	smallTables(proto)
	return proto, nil
}

// smallTables makes table constructors ask for room for one named field: without it the interpreter
// makes room for 32 when the first one comes.
func smallTables(p *lua.FunctionProto) {
	const opcode, fields = 26, 9 // where they lie in an instruction
	for i, inst := range p.Code {
		if int(inst>>opcode) == lua.OP_NEWTABLE && inst>>fields&0x1ff == 0 {
			p.Code[i] |= 1 << fields
		}
	}
	for _, inner := range p.FunctionPrototypes {
		smallTables(inner)
	}
}

// suffix ends the names of Lua files.
const suffix = ".lua"

// moduleFile is the file that require's operand names: "lib.paths" is lib/paths.lua.
func moduleFile(name string) (string, error) {
	for _, part := range strings.Split(name, ".") {
		if part == "" || strings.ContainsAny(part, "/\\\x00") {
			return "", errors.New(`require takes names like "lib.paths", for lib/paths.lua of the same layer or package`)
		}
	}
	return strings.ReplaceAll(name, ".", "/") + suffix, nil
}

// requireModule is require("lib.paths"). Each module runs once, in the same run as the main file, and
// is what it returns, or true.
func requireModule(r *run, L *lua.LState) (int, error) {
	name, err := textOperand(L, 1, "require")
	if err != nil {
		return 0, err
	}
	l := r.loading
	if l == nil {
		return 0, errors.New("require is only for files that are being loaded")
	}
	value, err := r.loadModule(L, name)
	if err != nil {
		var fault *interp.Error
		if errors.As(err, &fault) {
			l.fault = fault // raising keeps the text only
			return 0, err
		}
		return 0, fmt.Errorf("require %q: %w", shortened(name), err)
	}
	L.Push(value)
	return 1, nil
}

func (r *run) loadModule(L *lua.LState, name string) (lua.LValue, error) {
	l := r.loading
	if err := r.charge(int64(len(name))/scanPerFuel, 0); err != nil {
		return nil, err
	}
	file, err := moduleFile(name)
	if err != nil {
		return nil, err
	}
	return l.Module(file, func(src interp.Source) (lua.LValue, error) { return r.runModule(L, src) })
}

// runModule runs a module, and freezes what it returns and all that it can reach.
func (r *run) runModule(L *lua.LState, src interp.Source) (lua.LValue, error) {
	fn, err := r.compile(src)
	if err != nil {
		return nil, err
	}
	L.Push(fn)
	L.Call(0, 1)
	value := L.Get(-1)
	L.Pop(1)
	if value == lua.LNil {
		value = lua.LTrue
	}
	w := newFreezer(r)
	if err := w.freeze(fn.Env); err != nil {
		return nil, err
	}
	return value, w.freeze(value)
}
