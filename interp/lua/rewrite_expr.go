package lua

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

func counted(name string, i int) string { return fmt.Sprintf("%s%d", name, i) }

func (w *rewriter) list(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = w.expr(e)
	}
}

// body rewrites a function. One that takes "..." looks at how many values that are.
func (w *rewriter) body(f *ast.FunctionExpr) {
	outer := w.fn
	w.fn = &function{parent: outer}
	line := f.Line()
	stmts := w.tokens(nil, w.made[f], line)
	if f.ParList.HasVargs {
		all := &ast.Comma3Expr{}
		place(all, line)
		stmts = append(stmts, w.callStmt("@values", line, all))
	}
	f.Stmts = append(stmts, w.block(f.Stmts)...)
	w.fn = outer
}

// expr returns what an expression becomes.
func (w *rewriter) expr(e ast.Expr) ast.Expr {
	line := e.Line()
	switch x := e.(type) {
	case *ast.AttrGetExpr:
		cheap := w.cheapKey(x.Key)
		x.Object, x.Key = w.expr(x.Object), w.expr(x.Key)
		if !cheap {
			return w.call("@index", line, x.Object, single(x.Key))
		}
	case *ast.TableExpr:
		return w.table(x)
	case *ast.FuncCallExpr:
		return w.funcCall(x)
	case *ast.LogicalOpExpr:
		x.Lhs, x.Rhs = w.expr(x.Lhs), w.expr(x.Rhs)
	case *ast.RelationalOpExpr:
		return w.relation(x)
	case *ast.StringConcatOpExpr:
		return w.concat(x)
	case *ast.ArithmeticOpExpr:
		return w.arithmetic(x)
	case *ast.UnaryMinusOpExpr:
		x.Expr = w.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		x.Expr = w.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		return w.call("@len", line, single(w.expr(x.Expr)))
	case *ast.FunctionExpr:
		w.body(x)
		return w.call("@function", line, x)
	}
	return e
}

// cheapKey reports whether a key is hashed in no time.
func (w *rewriter) cheapKey(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.StringExpr:
		return len(x.Value) <= cheapText
	case *ast.TrueExpr, *ast.FalseExpr:
		return true
	}
	return w.isNumber(e)
}

// isNumber reports whether an expression can be nothing but a number, or fails.
func (w *rewriter) isNumber(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.NumberExpr:
		return true
	case *ast.UnaryLenOpExpr:
		return true
	case *ast.IdentExpr:
		v := w.uses[x]
		return v != nil && v.number && !v.assigned
	case *ast.UnaryMinusOpExpr:
		return w.isNumber(x.Expr)
	case *ast.ArithmeticOpExpr:
		return w.isNumber(x.Lhs) && w.isNumber(x.Rhs)
	}
	return false
}

// table pays for a table once it is made. Its keys are paid for before: a far one makes it large.
func (w *rewriter) table(x *ast.TableExpr) ast.Expr {
	line := x.Line()
	items, fields := 0, 0
	many := false
	for i, f := range x.Fields {
		if f.Key == nil {
			items++
			many = i == len(x.Fields)-1 && manyValued(f.Value)
		} else {
			fields++
			text, ok := f.Key.(*ast.StringExpr)
			f.Key = w.expr(f.Key)
			if !ok || len(text.Value) > cheapText {
				f.Key = w.call("@key", line, single(f.Key))
			}
		}
		f.Value = w.expr(f.Value)
	}
	if items > maxItems {
		w.fail(line, "a table has %d items, at most %d can be written out", items, maxItems)
	}
	if many {
		items = -items
	}
	return w.call("@table", line, x, intLiteral(items, line), intLiteral(fields, line))
}

// isLibrary reports whether an expression names the builtin of the library that is called so, as in
// reject or text.truncate, and no variable.
func (w *rewriter) isLibrary(e ast.Expr, is func(name string) bool) bool {
	member := ""
	if get, ok := e.(*ast.AttrGetExpr); ok {
		key, ok := get.Key.(*ast.StringExpr)
		if !ok {
			return false
		}
		e, member = get.Object, "."+key.Value
	}
	id, ok := e.(*ast.IdentExpr)
	return ok && w.uses[id] == nil && !w.assigned[id.Value] && is(id.Value+member)
}

// withoutCount takes the count off a gsub that is the last operand of a decision or another builtin that
// takes JSON values. It gives that beside the text, and nobody means it: context(s:gsub("a", "b")) would be
// a context with a pin of 3, and text.truncate(s:gsub("a", "b")) a text of three bytes.
func (w *rewriter) withoutCount(x *ast.FuncCallExpr) {
	if len(x.Args) == 0 || x.Func == nil || !w.isLibrary(x.Func, func(name string) bool { return w.r.loading.env.jsonNames[name] }) {
		return
	}
	last, ok := x.Args[len(x.Args)-1].(*ast.FuncCallExpr)
	if ok && (last.Method == "gsub" || last.Func != nil && w.isLibrary(last.Func, func(name string) bool { return name == "string.gsub" })) {
		single(last)
	}
}

func (w *rewriter) funcCall(x *ast.FuncCallExpr) ast.Expr {
	w.withoutCount(x)
	if x.Func != nil {
		x.Func = w.expr(x.Func)
	}
	if x.Receiver != nil {
		x.Receiver = w.expr(x.Receiver)
	}
	w.list(x.Args)
	if x.Receiver == nil || viewMethods[x.Method] == nil {
		return x
	}
	line := x.Line()
	call := w.call("@call", line, append([]ast.Expr{textLiteral(x.Method, line), single(x.Receiver)}, x.Args...)...)
	call.AdjustRet = x.AdjustRet
	return call
}

var comparisons = map[string]string{"<": "@lt", "<=": "@le", ">": "@gt", ">=": "@ge"}

func (w *rewriter) relation(x *ast.RelationalOpExpr) ast.Expr {
	line := x.Line()
	name, byOrder := comparisons[x.Operator]
	cheap := w.isNumber(x.Lhs) || w.isNumber(x.Rhs)
	if !byOrder {
		cheap = cheap || cheapOperand(x.Lhs) || cheapOperand(x.Rhs)
	}
	x.Lhs, x.Rhs = w.expr(x.Lhs), w.expr(x.Rhs)
	switch {
	case cheap:
		return x
	case byOrder:
		return w.call(name, line, x.Lhs, single(x.Rhs))
	}
	eq := w.call("@eq", line, x.Lhs, single(x.Rhs))
	if x.Operator == "==" {
		return eq
	}
	not := &ast.UnaryNotOpExpr{Expr: eq}
	place(not, line)
	return not
}

// cheapOperand reports whether comparing with an expression for equality takes no time.
func cheapOperand(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr:
		return true
	case *ast.StringExpr:
		return len(x.Value) <= cheapText
	}
	return false
}

// concat flattens a .. b .. c, which nests to the right.
func (w *rewriter) concat(x *ast.StringConcatOpExpr) ast.Expr {
	line := x.Line()
	var operands []ast.Expr
	var e ast.Expr = x
	for {
		c, ok := e.(*ast.StringConcatOpExpr)
		if !ok {
			operands = append(operands, single(w.expr(e)))
			break
		}
		operands = append(operands, single(w.expr(c.Lhs)))
		e = c.Rhs
	}
	for len(operands) > maxOperands {
		from := len(operands) - maxOperands
		last := w.call("@concat", line, operands[from:]...)
		operands = append(operands[:from:from], last)
	}
	return w.call("@concat", line, operands...)
}

func (w *rewriter) arithmetic(x *ast.ArithmeticOpExpr) ast.Expr {
	line := x.Line()
	x.Lhs, x.Rhs = w.expr(x.Lhs), w.expr(x.Rhs)
	switch x.Operator {
	case "%":
		return w.call("@mod", line, x.Lhs, single(x.Rhs))
	case "^":
		return w.call("@pow", line, x.Lhs, single(x.Rhs))
	}
	return x
}
