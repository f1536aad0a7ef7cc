package lua

import lua "github.com/yuin/gopher-lua"

// protectFuel is for a call that catches errors, whether there is one or not.
const protectFuel = 24

// basePcall is pcall(f, ...).
func basePcall(r *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "pcall"); err != nil {
		return 0, err
	}
	n := L.GetTop()
	ok, failure, err := r.protect(L, n-1)
	if err != nil {
		return 0, err
	}
	if !ok {
		L.Push(failure)
	}
	L.Insert(lua.LBool(ok), 1)
	return L.GetTop(), nil
}

// baseXpcall calls its second operand with the error, once what failed has left the stack.
func baseXpcall(r *run, L *lua.LState) (int, error) {
	handler, err := functionOperand(L, 2, "xpcall")
	if err != nil {
		return 0, err
	}
	f := L.Get(1)
	L.SetTop(0)
	L.Push(f)
	ok, failure, err := r.protect(L, 0)
	if err != nil {
		return 0, err
	}
	if !ok {
		L.Push(handler)
		L.Push(failure)
		handled, _, err := r.protect(L, 1)
		if err != nil {
			return 0, err
		}
		if !handled {
			L.Push(lua.LString("error in error handling"))
		}
	}
	L.Insert(lua.LBool(ok), 1)
	return L.GetTop(), nil
}
