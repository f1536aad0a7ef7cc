package lua

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"agentd/interp"
)

// maxUpvalues is how many variables of functions around it one function may use.
const maxUpvalues = 60

// function is what resolving knows of one function of a file.
type function struct {
	parent    *function
	constants map[string]bool
	labels    int // and gotos
	outer     map[*variable]bool
}

// variable is one local variable.
type variable struct {
	fn       *function
	name     string
	number   bool // a for loop counts with it
	assigned bool // beside where it is declared
	crossed  bool // by a function inside of its own
}

// resolver finds out which variable each name stands for. It refuses what the compiler would take too
// long for.
type resolver struct {
	r      *run
	uses   map[*ast.IdentExpr]*variable // nil: a global
	made   map[any][]*variable          // by statement or function
	fn     *function
	scopes []map[string]*variable
	depth  int
	err    error

	read     []*ast.IdentExpr // globals, in the order of the tree
	assigned map[string]bool  // globals
	declared []declaration    // local variables
}

func newResolver(r *run) *resolver {
	return &resolver{r: r, uses: map[*ast.IdentExpr]*variable{}, made: map[any][]*variable{}, assigned: map[string]bool{}}
}

func (s *resolver) fail(line int, format string, args ...any) {
	if s.err == nil {
		s.err = &lineError{line, fmt.Sprintf(format, args...)}
	}
}

// enter counts levels of the tree. What is below the last one isn't looked at: the file is refused.
func (s *resolver) enter(line int) bool {
	if s.depth++; s.depth > maxSpine+interp.MaxNesting {
		s.fail(line, "more than %d operators, fields or branches follow one another", maxSpine)
	}
	return s.err == nil
}

func (s *resolver) leave() { s.depth-- }

func (s *resolver) push() { s.scopes = append(s.scopes, map[string]*variable{}) }
func (s *resolver) pop()  { s.scopes = s.scopes[:len(s.scopes)-1] }

func (s *resolver) declare(at any, names ...string) {
	for _, name := range names {
		v := &variable{fn: s.fn, name: name}
		s.scopes[len(s.scopes)-1][name] = v
		s.made[at] = append(s.made[at], v)
		if h, ok := at.(ast.PositionHolder); ok {
			s.declared = append(s.declared, declaration{name, h.Line()})
		}
	}
}

func (s *resolver) find(name string) *variable {
	for i := len(s.scopes) - 1; i >= 0; i-- {
		if v := s.scopes[i][name]; v != nil {
			return v
		}
	}
	return nil
}

// use is a reference to a variable.
func (s *resolver) use(e *ast.IdentExpr, assigned bool) {
	s.named(e.Value, e.Line())
	v := s.find(e.Value)
	s.uses[e] = v
	if v == nil {
		s.constant("s"+e.Value, e.Line())
		if assigned {
			s.assigned[e.Value] = true
		} else {
			s.read = append(s.read, e)
		}
		return
	}
	v.assigned = v.assigned || assigned
	v.crossed = v.crossed || assigned && v.fn != s.fn
	for f := s.fn; f != nil && f != v.fn; f = f.parent {
		if f.outer[v] = true; len(f.outer) > maxUpvalues {
			s.fail(e.Line(), "a function uses more than %d variables of the functions around it", maxUpvalues)
		}
	}
}

func (s *resolver) named(name string, line int) {
	if len(name) > maxNameText {
		s.fail(line, "a name has %d bytes, at most %d are allowed", len(name), maxNameText)
	}
}

// constant counts the distinct constants of a function: the compiler looks through them for each use.
func (s *resolver) constant(key string, line int) {
	set := s.fn.constants
	if set[key] = true; len(set) > maxConstants {
		s.fail(line, "a function has more than %d names, texts and numbers", maxConstants)
	}
	if err := s.r.charge(1+int64(len(set))/16, int64(len(key))); err != nil && s.err == nil {
		s.err = err
	}
}

// function resolves the body of a function; at is what its parameters are remembered by.
func (s *resolver) function(at any, params []string, body []ast.Stmt, line int) []ast.Stmt {
	if s.r.loading.functions++; s.r.loading.functions > maxFunctions {
		s.fail(line, "the file and its modules have more than %d functions", maxFunctions)
	}
	s.fn = &function{parent: s.fn, constants: map[string]bool{}, outer: map[*variable]bool{}}
	s.push()
	for _, p := range params {
		s.named(p, line)
	}
	s.declare(at, params...)
	body = s.block(body)
	s.pop()
	s.fn = s.fn.parent
	return body
}

func (s *resolver) block(stmts []ast.Stmt) []ast.Stmt {
	s.push()
	defer s.pop()
	return s.stmts(stmts)
}

// stmts resolves statements in the scope that is open. A function that is defined by a statement
// becomes an assignment.
func (s *resolver) stmts(stmts []ast.Stmt) []ast.Stmt {
	for i, stmt := range stmts {
		if def, ok := stmt.(*ast.FuncDefStmt); ok {
			stmts[i] = assignmentOf(def)
		}
		if !s.enter(stmt.Line()) {
			return stmts
		}
		s.stmt(stmts[i])
		s.leave()
	}
	return stmts
}

// assignmentOf is function a.b:c() ... end as a.b.c = function(self) ... end.
func assignmentOf(def *ast.FuncDefStmt) *ast.AssignStmt {
	target := def.Name.Func
	if target == nil {
		key := &ast.StringExpr{Value: def.Name.Method}
		place(key, def.Line())
		get := &ast.AttrGetExpr{Object: def.Name.Receiver, Key: key}
		place(get, def.Line())
		target = get
		def.Func.ParList.Names = append([]string{"self"}, def.Func.ParList.Names...)
	}
	out := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{def.Func}}
	place(out, def.Line())
	return out
}

func (s *resolver) stmt(stmt ast.Stmt) {
	switch x := stmt.(type) {
	case *ast.AssignStmt:
		s.exprs(x.Rhs)
		for _, e := range x.Lhs {
			if id, ok := e.(*ast.IdentExpr); ok {
				s.use(id, true)
				continue
			}
			s.expr(e)
		}
	case *ast.LocalAssignStmt:
		for _, name := range x.Names {
			s.named(name, x.Line())
		}
		if isLocalFunction(x) {
			s.declare(x, x.Names...)
			s.exprs(x.Exprs)
			return
		}
		s.exprs(x.Exprs)
		s.declare(x, x.Names...)
	case *ast.FuncCallStmt:
		s.expr(x.Expr)
	case *ast.DoBlockStmt:
		x.Stmts = s.block(x.Stmts)
	case *ast.WhileStmt:
		s.expr(x.Condition)
		x.Stmts = s.block(x.Stmts)
	case *ast.RepeatStmt:
		s.push()
		x.Stmts = s.stmts(x.Stmts)
		s.expr(x.Condition)
		s.pop()
	case *ast.IfStmt:
		s.expr(x.Condition)
		x.Then = s.block(x.Then)
		x.Else = s.block(x.Else)
	case *ast.NumberForStmt:
		s.exprs([]ast.Expr{x.Init, x.Limit, x.Step})
		s.push()
		s.named(x.Name, x.Line())
		s.declare(x, x.Name)
		s.made[x][0].number = true
		x.Stmts = s.block(x.Stmts)
		s.pop()
	case *ast.GenericForStmt:
		s.exprs(x.Exprs)
		s.push()
		s.declare(x, x.Names...)
		x.Stmts = s.block(x.Stmts)
		s.pop()
	case *ast.ReturnStmt:
		s.exprs(x.Exprs)
	case *ast.LabelStmt, *ast.GotoStmt:
		if s.fn.labels++; s.fn.labels > maxLabels {
			s.fail(stmt.Line(), "a function has more than %d labels and gotos", maxLabels)
		}
	}
}

// isLocalFunction reports whether a statement declares a function that can call itself.
func isLocalFunction(x *ast.LocalAssignStmt) bool {
	if len(x.Names) != 1 || len(x.Exprs) != 1 {
		return false
	}
	_, ok := x.Exprs[0].(*ast.FunctionExpr)
	return ok
}

func (s *resolver) exprs(list []ast.Expr) {
	for _, e := range list {
		if e != nil {
			s.expr(e)
		}
	}
}

func (s *resolver) expr(e ast.Expr) {
	if !s.enter(e.Line()) {
		return
	}
	defer s.leave()
	switch x := e.(type) {
	case *ast.NumberExpr:
		if _, ok, err := s.r.spelled(x.Value); err != nil || !ok {
			s.fail(x.Line(), "malformed number near '%s'", shortened(x.Value))
		} else if !exact(x.Value) {
			s.fail(x.Line(), "the number %s would be rounded, as a float doesn't hold it: compare texts, as in tostring(n) == \"...\"", shortened(x.Value))
		}
		s.constant("n"+x.Value, x.Line())
	case *ast.StringExpr:
		s.constant("s"+x.Value, x.Line())
	case *ast.IdentExpr:
		s.use(x, false)
	case *ast.AttrGetExpr:
		s.exprs([]ast.Expr{x.Object, x.Key})
	case *ast.TableExpr:
		for _, f := range x.Fields {
			s.exprs([]ast.Expr{f.Key, f.Value})
		}
	case *ast.FuncCallExpr:
		if x.Receiver != nil {
			s.named(x.Method, x.Line())
			s.constant("s"+x.Method, x.Line())
		}
		s.exprs([]ast.Expr{x.Func, x.Receiver})
		s.exprs(x.Args)
	case *ast.LogicalOpExpr:
		s.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.RelationalOpExpr:
		s.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.StringConcatOpExpr:
		s.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.ArithmeticOpExpr:
		s.exprs([]ast.Expr{x.Lhs, x.Rhs})
	case *ast.UnaryMinusOpExpr:
		s.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		s.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		s.expr(x.Expr)
	case *ast.FunctionExpr:
		x.Stmts = s.function(x, x.ParList.Names, x.Stmts, x.Line())
	}
}

// place gives a node that rewriting made a line.
func place(n ast.PositionHolder, line int) {
	n.SetLine(line)
	n.SetLastLine(line)
}

func intLiteral(n, line int) *ast.NumberExpr {
	e := &ast.NumberExpr{Value: strconv.Itoa(n)}
	place(e, line)
	return e
}

func textLiteral(s string, line int) *ast.StringExpr {
	e := &ast.StringExpr{Value: s}
	place(e, line)
	return e
}

// exact reports whether a float holds a literal, if that is a whole number without a point or an exponent:
// only there is a script that compares with it wrong without a word.
func exact(literal string) bool {
	digits, base := strings.ToLower(literal), 10
	if rest, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = rest, 16
	}
	if len(digits) <= 13 || base == 10 && strings.Trim(digits, "0123456789") != "" {
		return true
	}
	if len(digits) > longestWhole {
		return false
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return true
	}
	_, accuracy := new(big.Float).SetInt(n).Float64()
	return accuracy == big.Exact
}

// longestWhole is how many digits of a whole number are looked at: no float has more than 309.
const longestWhole = 309
