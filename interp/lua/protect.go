package lua

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// protect calls the function that lies below n operands on the stack, and catches what it raises. If
// it did well its results are on the stack where it was; if not, failure is the error's value and the
// stack is as it was below the function. An error is what no script may catch: a spent budget, the
// wall clock, a failure of the interpreter.
func (r *run) protect(L *lua.LState, n int) (ok bool, failure lua.LValue, err error) {
	L.Insert(trampoline, L.GetTop()-n)
	r.guarded++
	perr := L.PCall(n+1, lua.MultRet, nil)
	r.guarded--
	keepUpvalues(L)
	if perr == nil {
		return true, lua.LNil, r.ended()
	}
	var api *lua.ApiError
	if !errors.As(perr, &api) || api.Type != lua.ApiErrorRun {
		r.broken = fmt.Errorf("the interpreter failed: %w", perr)
	}
	if r.over() {
		return false, nil, r.ended()
	}
	fuel, bytes := int64(errorFuel), int64(256)
	if api.StackTrace != noTrace { // the calls are so many that not even the trampoline had room
		fuel, bytes = traceFuel, traceBytes
	}
	if err := r.charge(fuel, bytes); err != nil {
		return false, nil, err
	}
	if r.loading != nil {
		r.loading.Refused = "" // what comes next is no fault of that hook
	}
	forgetClosed(L)
	return false, api.Object, nil
}

// What a backtrace costs that the interpreter writes.
const (
	traceFuel  = 4000
	traceBytes = 24 << 10
)

// trampoline calls its first operand with the others. It runs within the interpreter's own protected
// call, which writes a backtrace of every error unless the state raises errors in our way.
var trampoline = &lua.LFunction{IsG: true, Env: nowhere, GFunction: func(L *lua.LState) int {
	r := running(L)
	r.trimOpen()
	open, failed := len(r.open), true
	defer func() {
		if failed {
			r.closeFrom(open)
		}
	}()
	L.Panic = raise
	L.Call(L.GetTop()-1, lua.MultRet)
	failed = false
	return L.GetTop()
}}
