package lua

import (
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// pool keeps states between calls. A state holds nothing of a script but values on its stack, which a
// call that ended well has taken off again; one in which something failed isn't kept.
type pool struct {
	states sync.Pool
	none   bool               // it keeps none
	text   func() *lua.LTable // the metatable of text
}

func (p *pool) take() *lua.LState {
	if L, ok := p.states.Get().(*lua.LState); ok {
		return L
	}
	return newState(p.text())
}

func (p *pool) give(L *lua.LState) {
	if p.none || L.GetTop() != 0 {
		return
	}
	L.RemoveContext()
	p.states.Put(L)
}

func newState(text *lua.LTable) *lua.LState {
	L := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: maxCalls,
		RegistrySize: minRegisters, RegistryMaxSize: maxRegisters, RegistryGrowStep: registerSteps,
	})
	keepUpvalues(L)
	L.SetMetatable(lua.LString(""), text)
	return L
}
