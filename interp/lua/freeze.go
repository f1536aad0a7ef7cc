package lua

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// frozen are the tables that outlive loading: those that a hook can reach. The calls of all hooks of a
// file share them, so none may be written: every write is a call of a builtin that asks.
type frozen map[*lua.LTable]struct{}

// libraryMeta is the metatable of the library's own tables, and says so.
var libraryMeta = lockedMeta()

// libraryMark is in the metatable of such a table that needs another one.
const libraryMark = "__library"

func isLibrary(t *lua.LTable) bool {
	if t.Metatable == libraryMeta {
		return true
	}
	mt, ok := t.Metatable.(*lua.LTable)
	return ok && mt.RawGetString(libraryMark) == lua.LTrue
}

// lockedMeta is a metatable that a script can neither see nor replace.
func lockedMeta() *lua.LTable {
	t := &lua.LTable{Metatable: lua.LNil}
	t.RawSetString("__metatable", lua.LFalse)
	return t
}

var (
	errLibrary = errors.New("the library can't be changed")
	errFrozen  = errors.New("this table was made while the file was loaded, and can't be changed by a call; state is kept with remember")
)

// writable says why a table may not be changed.
func (r *run) writable(t *lua.LTable) error {
	if isLibrary(t) {
		return errLibrary
	}
	if r.frozen == nil {
		return nil
	}
	if _, ok := r.frozen[t]; ok {
		return errFrozen
	}
	return nil
}

// freezer walks everything that a value reaches and freezes it.
type freezer struct {
	r    *run
	seen map[*lua.LFunction]bool
	todo []lua.LValue
}

func newFreezer(r *run) *freezer {
	if r.frozen == nil {
		r.frozen = frozen{}
	}
	return &freezer{r: r, seen: map[*lua.LFunction]bool{}}
}

// freeze makes a value and all that it reaches immutable.
func (w *freezer) freeze(v lua.LValue) error {
	w.todo = append(w.todo, v)
	for len(w.todo) > 0 {
		v := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		var err error
		switch v := v.(type) {
		case *lua.LTable:
			err = w.table(v)
		case *lua.LFunction:
			err = w.function(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *freezer) table(t *lua.LTable) error {
	if isLibrary(t) {
		return nil
	}
	if _, ok := w.r.frozen[t]; ok {
		return nil
	}
	if err := w.r.charge(1, handleBytes); err != nil {
		return err
	}
	if err := w.r.compact(t); err != nil {
		return err
	}
	w.r.frozen[t] = struct{}{}
	if mt, ok := t.Metatable.(*lua.LTable); ok {
		w.todo = append(w.todo, mt)
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if err := w.r.charge(1, 2*slotBytes); err != nil {
			return err
		}
		w.push(k)
		w.push(v)
	}
	return nil
}

// push remembers a value that may hold others.
func (w *freezer) push(v lua.LValue) {
	switch v.(type) {
	case *lua.LTable, *lua.LFunction:
		w.todo = append(w.todo, v)
	}
}

func (w *freezer) function(f *lua.LFunction) error {
	if w.seen[f] {
		return nil
	}
	if err := w.r.charge(1+int64(len(f.Upvalues)), handleBytes); err != nil {
		return err
	}
	w.seen[f] = true
	if f.IsG {
		return nil
	}
	w.push(f.Env)
	for _, u := range f.Upvalues {
		if u != nil {
			w.push(u.Value())
		}
	}
	return nil
}
