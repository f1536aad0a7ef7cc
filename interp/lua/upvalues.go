package lua

import (
	"reflect"
	"strings"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Where an error is raised, the interpreter takes the variables that closures hold away from all
// functions that are running, also from those that catch the error and go on: from then on these see
// one value, and the closures another. It doesn't do so where an error function is set. So states
// always look as if one were, and a protected call that failed closes what it left, no more.

// keepUpvalues must be called for a new state, and after each protected call, which forgets it.
func keepUpvalues(L *lua.LState) { *(*bool)(unsafe.Add(unsafe.Pointer(L), errorFunction)) = true }

// errorFunction is where a state says that there is an error function.
var errorFunction = func() uintptr {
	f, ok := reflect.TypeFor[lua.LState]().FieldByName("hasErrorFunc")
	if !ok || f.Type.Kind() != reflect.Bool {
		panic("lua: this version of gopher-lua says elsewhere that there is an error function")
	}
	return f.Offset
}()

// trimOpen forgets variables at the end of the list that live no longer.
func (r *run) trimOpen() {
	for len(r.open) > 0 && r.open[len(r.open)-1].IsClosed() {
		r.open = r.open[:len(r.open)-1]
	}
}

// closeFrom closes the variables from n on, which belong to functions that failed. It must be called
// while their values are still on the stack.
func (r *run) closeFrom(n int) {
	for _, u := range r.open[min(n, len(r.open)):] {
		u.Close()
	}
	r.trimOpen()
}

// forgetClosed makes a state forget variables that lay above what is on its stack now: an empty
// function does that when it returns. Without it, a variable that comes to lie in the same place would
// be taken for one of them.
func forgetClosed(L *lua.LState) {
	L.Push(emptyFunction)
	L.Call(0, 0)
}

var emptyFunction = func() *lua.LFunction {
	tree, err := parse.Parse(strings.NewReader("return"), "<empty>")
	if err != nil {
		panic(err)
	}
	proto, err := lua.Compile(tree, "<empty>")
	if err != nil {
		panic(err)
	}
	return &lua.LFunction{Env: nowhere, Proto: proto, Upvalues: []*lua.Upvalue{}}
}()
