package lua

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// maxOperands is how many operands of .. a call gets at once.
const maxOperands = 50

// rewriter makes everything that may cost more than a step a call of a metered builtin. What it needs
// becomes a local variable of the file, whose name can't be written in a script: that is an index away,
// a global is a search.
type rewriter struct {
	*resolver
	main *function
	used map[string]bool
}

// rewrite returns the statements of a file, resolved and rewritten.
func rewrite(r *run, name string, tree []ast.Stmt) ([]ast.Stmt, error) {
	s := newResolver(r)
	tree = s.function(name, nil, tree, 1)
	if s.err == nil {
		s.err = s.undefined()
	}
	if s.err != nil {
		return nil, s.err
	}
	w := &rewriter{resolver: s, main: &function{}, used: map[string]bool{}}
	s.fn = w.main
	tree = w.block(tree)
	if s.err != nil {
		return nil, s.err
	}
	if len(w.used) == 0 {
		return tree, nil
	}
	prologue := &ast.LocalAssignStmt{Names: slices.Sorted(maps.Keys(w.used))}
	for _, name := range prologue.Names {
		prologue.Exprs = append(prologue.Exprs, ident(name, 1))
	}
	place(prologue, 1)
	return append([]ast.Stmt{prologue}, tree...), nil
}

func ident(name string, line int) *ast.IdentExpr {
	e := &ast.IdentExpr{Value: name}
	place(e, line)
	return e
}

// call is a call of an operator. It gives one value.
func (w *rewriter) call(name string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	w.used[name] = true
	for i := range args[:max(len(args)-1, 0)] {
		args[i] = single(args[i])
	}
	e := &ast.FuncCallExpr{Func: ident(name, line), Args: args, AdjustRet: true}
	place(e, line)
	return e
}

func (w *rewriter) callStmt(name string, line int, args ...ast.Expr) ast.Stmt {
	s := &ast.FuncCallStmt{Expr: w.call(name, line, args...)}
	place(s, line)
	return s
}

// single makes an expression that may give several values give one.
func single(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
	return e
}

// manyValued reports whether an expression gives all values that it has, at the end of a list.
func manyValued(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		return !x.AdjustRet
	case *ast.Comma3Expr:
		return !x.AdjustRet
	}
	return false
}

func (w *rewriter) block(stmts []ast.Stmt) []ast.Stmt {
	out := make([]ast.Stmt, 0, len(stmts))
	for _, s := range stmts {
		out = w.stmt(out, s)
	}
	return padLabels(out)
}

// tokenName is the variable that remembers when another one was born.
func tokenName(v *variable) string { return "@born:" + v.name }

// tokens declares that of each variable which a function inside of its own changes: such a change must
// not outlive a call.
func (w *rewriter) tokens(out []ast.Stmt, vars []*variable, line int) []ast.Stmt {
	for _, v := range vars {
		if !v.crossed {
			continue
		}
		s := &ast.LocalAssignStmt{Names: []string{tokenName(v)}, Exprs: []ast.Expr{w.call("@born", line)}}
		place(s, line)
		out = append(out, s)
	}
	return out
}

// stmt appends what a statement becomes.
func (w *rewriter) stmt(out []ast.Stmt, stmt ast.Stmt) []ast.Stmt {
	line := stmt.Line()
	switch x := stmt.(type) {
	case *ast.AssignStmt:
		return w.assign(out, x)
	case *ast.LocalAssignStmt:
		if isLocalFunction(x) {
			w.body(x.Exprs[0].(*ast.FunctionExpr))
			out = append(out, x)
			out = w.tokens(out, w.made[x], line)
			return append(out, w.callStmt("@function", line, ident(x.Names[0], line)))
		}
		w.list(x.Exprs)
		return w.tokens(append(out, x), w.made[x], line)
	case *ast.FuncCallStmt:
		x.Expr = w.expr(x.Expr)
	case *ast.DoBlockStmt:
		x.Stmts = w.block(x.Stmts)
	case *ast.WhileStmt:
		x.Condition = w.expr(x.Condition)
		x.Stmts = padded(w.block(x.Stmts), line)
	case *ast.RepeatStmt:
		x.Stmts = padded(w.block(x.Stmts), line)
		x.Condition = w.expr(x.Condition)
	case *ast.IfStmt:
		x.Condition = w.expr(x.Condition)
		x.Then = w.block(x.Then)
		x.Else = w.block(x.Else)
	case *ast.NumberForStmt:
		x.Init, x.Limit = w.expr(x.Init), w.expr(x.Limit)
		if x.Step != nil {
			x.Step = w.expr(x.Step)
		}
		x.Stmts = append(w.tokens(nil, w.made[x], line), w.block(x.Stmts)...)
	case *ast.GenericForStmt:
		w.list(x.Exprs)
		x.Stmts = padded(append(w.tokens(nil, w.made[x], line), w.block(x.Stmts)...), line)
	case *ast.ReturnStmt:
		w.list(x.Exprs)
	}
	return append(out, stmt)
}

// assign appends an assignment. A table is written by a builtin; what is assigned at once to several
// places is computed before any of them is written.
func (w *rewriter) assign(out []ast.Stmt, x *ast.AssignStmt) []ast.Stmt {
	line := x.Line()
	plain := true
	for _, e := range x.Lhs {
		plain = plain && w.isPlain(e)
	}
	if plain {
		w.list(x.Rhs)
		for _, e := range x.Lhs {
			out = w.checked(out, e)
		}
		return append(out, x)
	}
	if len(x.Lhs) == 1 && len(x.Rhs) == 1 {
		rhs := single(w.expr(x.Rhs[0]))
		if get, ok := x.Lhs[0].(*ast.AttrGetExpr); ok {
			return append(out, w.callStmt("@set", line, w.expr(get.Object), w.expr(get.Key), rhs))
		}
		return append(out, w.write(x.Lhs[0], nil, rhs))
	}
	return append(out, w.assignMany(x))
}

// isPlain reports whether an assignment to a place needs no builtin.
func (w *rewriter) isPlain(e ast.Expr) bool {
	id, ok := e.(*ast.IdentExpr)
	return ok && (w.uses[id] != nil || w.fn == w.main)
}

// checked appends the check of a variable that a function around this one holds.
func (w *rewriter) checked(out []ast.Stmt, e ast.Expr) []ast.Stmt {
	id, ok := e.(*ast.IdentExpr)
	if !ok {
		return out
	}
	if v := w.uses[id]; v != nil && v.crossed {
		out = append(out, w.callStmt("@mutate", id.Line(), ident(tokenName(v), id.Line()), textLiteral(v.name, id.Line())))
	}
	return out
}

// write is an assignment to one place, whose table and key are in variables of these names.
func (w *rewriter) write(e ast.Expr, names []string, value ast.Expr) ast.Stmt {
	line := e.Line()
	switch x := e.(type) {
	case *ast.AttrGetExpr:
		return w.callStmt("@set", line, ident(names[0], line), ident(names[1], line), value)
	case *ast.IdentExpr:
		if !w.isPlain(x) {
			return w.callStmt("@global", line, textLiteral(x.Value, line), value)
		}
	}
	s := &ast.AssignStmt{Lhs: []ast.Expr{e}, Rhs: []ast.Expr{value}}
	place(s, line)
	return s
}

// assignMany is a.b, c = x, y.
func (w *rewriter) assignMany(x *ast.AssignStmt) ast.Stmt {
	line := x.Line()
	before := &ast.LocalAssignStmt{}
	place(before, line)
	bind := func(name string, e ast.Expr) string {
		before.Names, before.Exprs = append(before.Names, name), append(before.Exprs, e)
		return name
	}
	targets := make([][]string, len(x.Lhs))
	for i, e := range x.Lhs {
		if get, ok := e.(*ast.AttrGetExpr); ok {
			suffix := string(rune('a' + i%26))
			targets[i] = []string{bind(counted("@table", i)+suffix, single(w.expr(get.Object))), bind(counted("@key", i)+suffix, single(w.expr(get.Key)))}
		}
	}
	w.list(x.Rhs)
	before.Exprs = append(before.Exprs, x.Rhs...)
	block := []ast.Stmt{before}
	for i := range max(len(x.Lhs), len(x.Rhs)) {
		before.Names = append(before.Names, counted("@value", i))
	}
	for i, e := range x.Lhs {
		block = w.checked(block, e)
		block = append(block, w.write(e, targets[i], ident(counted("@value", i), line)))
	}
	do := &ast.DoBlockStmt{Stmts: block}
	place(do, line)
	return do
}
