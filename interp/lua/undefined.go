package lua

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"agentd/interp"
)

// declaration is where a local variable is declared.
type declaration struct {
	name string
	line int
}

// absent are the globals of Lua that hooks don't have, and what there is instead.
var absent = map[string]string{
	"_G":             "hooks have no table of their globals",
	"arg":            `hooks have no arg; {...} is what a function takes as "..."`,
	"collectgarbage": "hooks can't see their memory",
	"coroutine":      "hooks have no coroutines",
	"debug":          "hooks can't look behind functions",
	"dofile":         "hooks run no other text; require loads modules",
	"getfenv":        "hooks have one environment",
	"io":             "hooks reach no files; a fact says what one holds",
	"load":           "hooks run no other text; require loads modules",
	"loadfile":       "hooks run no other text; require loads modules",
	"loadstring":     "hooks run no other text; require loads modules",
	"module":         "a module is what its file returns",
	"newproxy":       "hooks have no proxies",
	"os":             "hooks can't reach the machine; ctx.now is the time, and facts say the rest",
	"package":        "modules are found by their names alone",
	"setfenv":        "hooks have one environment",
}

// undefined refuses a file that reads a global which nothing defines: neither the library nor an
// assignment anywhere in the file. As the globals of a file are its own, and there is no other way to
// make one, such a name is nil whenever it is read, and a misspelt one would let things through.
func (s *resolver) undefined() error {
	var first *ast.IdentExpr
	others := map[string]bool{}
	for _, e := range s.read {
		if s.assigned[e.Value] || s.r.loading.env.base.RawGetString(e.Value) != lua.LNil {
			continue
		}
		if others[e.Value] = true; first == nil || e.Line() < first.Line() {
			first = e
		}
	}
	if first == nil {
		return nil
	}
	name := first.Value
	hint, err := s.hint(name, first.Line())
	if err != nil {
		return err
	}
	message := fmt.Sprintf("undefined: %s%s", name, hint)
	if n := len(others) - 1; n > 0 {
		message += fmt.Sprintf(" (and %d more)", n)
	}
	return &lineError{first.Line(), message}
}

// hint says what may have been meant by a name that nothing defines.
func (s *resolver) hint(name string, line int) (string, error) {
	if why := absent[name]; why != "" {
		return ": " + why, nil
	}
	for _, d := range s.declared {
		if d.name == name {
			return fmt.Sprintf(" here; the local variable of line %d reaches from there to the end of its block", d.line), nil
		}
	}
	used, _ := s.r.meter.Used()
	left := (s.r.limits.Fuel - used) / 2 // the rest is for whoever catches the error
	near, err := interp.Nearest(name, s.names, func(fuel int64) error {
		if left -= fuel; left < 0 {
			return errNoHint
		}
		return s.r.charge(fuel, 0)
	})
	if err == errNoHint || near == "" {
		return "", nil
	}
	return fmt.Sprintf(" (did you mean %s?)", near), err
}

var errNoHint = errors.New("a hint would take too long")

// maxHints bounds the names that are held against one that nothing defines.
const maxHints = 500

// names are those that the file could have meant.
func (s *resolver) names(yield func(string) bool) {
	n := 0
	each := func(name string) bool { n++; return n <= maxHints && yield(name) }
	for _, d := range s.declared {
		if !each(d.name) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.assigned)) {
		if !each(name) {
			return
		}
	}
	base := s.r.loading.env.base
	for k, _ := base.Next(lua.LNil); k != lua.LNil; k, _ = base.Next(k) {
		if name, ok := k.(lua.LString); ok && name[0] != '@' && !each(string(name)) {
			return
		}
	}
}
