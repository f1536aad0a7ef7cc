package starlark

import (
	"go.starlark.net/syntax"
)

func (w *file) exprs(list []syntax.Expr) []syntax.Expr {
	out := make([]syntax.Expr, len(list))
	for i, e := range list {
		out[i] = w.expr(e)
	}
	return out
}

// expr returns what an expression becomes.
func (w *file) expr(e syntax.Expr) syntax.Expr {
	defer func() { w.depth-- }()
	if !w.enter(e) {
		return e
	}
	w.slots++
	w.frame = max(w.frame, w.slots)
	switch e := e.(type) {
	case *syntax.Ident:
		if w.env.has(e.Name) && !w.top[e.Name] {
			w.used[e.Name] = true
		}
	case *syntax.ParenExpr:
		e.X = w.expr(e.X)
	case *syntax.BinaryExpr:
		return w.binary(e)
	case *syntax.UnaryExpr:
		return w.unary(e)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = w.expr(e.Cond), w.expr(e.True), w.expr(e.False)
	case *syntax.DotExpr:
		return w.dot(e)
	case *syntax.IndexExpr:
		return w.call(opIndex, e.Lbrack, w.expr(e.X), w.expr(e.Y))
	case *syntax.SliceExpr:
		return w.call(opSlice, e.Lbrack, w.expr(e.X), w.operand(e.Lo, e.Lbrack), w.operand(e.Hi, e.Lbrack), w.operand(e.Step, e.Lbrack))
	case *syntax.CallExpr:
		return w.callExpr(e)
	case *syntax.ListExpr:
		return w.display(opList, opListLong, e.Lbrack, w.exprs(e.List))
	case *syntax.TupleExpr:
		start, _ := e.Span()
		return w.display(opTuple, opTupleLong, start, w.exprs(e.List))
	case *syntax.DictExpr:
		return w.dict(e)
	case *syntax.Comprehension:
		return w.comprehension(e)
	case *syntax.LambdaExpr:
		return w.lambda(e)
	}
	return e
}

// operand is an operand of a slice, None if it isn't there.
func (w *file) operand(e syntax.Expr, at syntax.Position) syntax.Expr {
	if e == nil {
		return w.use("None", at)
	}
	return w.expr(e)
}

func (w *file) binary(e *syntax.BinaryExpr) syntax.Expr {
	switch e.Op {
	case syntax.AND, syntax.OR:
		e.X, e.Y = w.expr(e.X), w.expr(e.Y)
		return e
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		if w.cheapComparison(e) {
			e.X, e.Y = w.expr(e.X), w.expr(e.Y)
			return e
		}
	case syntax.IN, syntax.NOT_IN:
		if lit, ok := unparen(e.Y).(*syntax.Literal); ok && isCheapText(lit) {
			e.X = w.expr(e.X)
			return e
		}
		return w.call("x "+e.Op.String(), e.OpPos, w.expr(e.X), w.expr(e.Y))
	case syntax.PLUS, syntax.MINUS:
		if cheapOperand(e.Op, e.X) || cheapOperand(e.Op, e.Y) {
			e.X, e.Y = w.expr(e.X), w.expr(e.Y)
			return e
		}
	}
	return w.call(e.Op.String(), e.OpPos, w.expr(e.X), w.expr(e.Y))
}

// cheapComparison reports whether the interpreter's own comparison costs no more than a step: with
// None, True, False, a short text or a small integer, whatever the other operand is.
func (w *file) cheapComparison(e *syntax.BinaryExpr) bool {
	for _, x := range []syntax.Expr{e.X, e.Y} {
		switch x := unparen(x).(type) {
		case *syntax.Ident:
			if x.Name == "None" || x.Name == "True" || x.Name == "False" {
				return true
			}
		case *syntax.Literal:
			if isCheapText(x) || isSmallInt(x) {
				return true
			}
		}
	}
	return false
}

func isCheapText(lit *syntax.Literal) bool {
	s, ok := lit.Value.(string)
	return ok && lit.Token == syntax.STRING && len(s) <= cheapText
}

func isSmallInt(e syntax.Expr) bool {
	lit, ok := e.(*syntax.Literal)
	if !ok {
		return false
	}
	_, ok = lit.Value.(int64)
	return ok
}

// cheapOperand reports whether + or - with this operand costs no more than a step: it is a small
// integer, so the other one is a number or the operation an error.
func cheapOperand(op syntax.Token, e syntax.Expr) bool {
	return (op == syntax.PLUS || op == syntax.MINUS) && isSmallInt(unparen(e))
}

func (w *file) unary(e *syntax.UnaryExpr) syntax.Expr {
	if e.X == nil {
		return e
	}
	if e.Op == syntax.NOT || isSmallInt(unparen(e.X)) {
		e.X = w.expr(e.X)
		return e
	}
	return w.call(opUnary(e.Op), e.OpPos, w.expr(e.X))
}

// dot is x.a.b, as one call; a member of a module that nothing hides is that member.
func (w *file) dot(e *syntax.DotExpr) syntax.Expr {
	if m := w.member(e); m != nil {
		return m
	}
	names := []syntax.Expr{textLiteral(e.Name.Name, e.NamePos)}
	at := e.Dot
	x := e.X
	for len(names) < maxOperands {
		inner, ok := x.(*syntax.DotExpr)
		if !ok || w.isMember(inner) {
			break
		}
		names = append(names, textLiteral(inner.Name.Name, inner.NamePos))
		x = inner.X
	}
	args := make([]syntax.Expr, 0, len(names)+1)
	args = append(args, w.expr(x))
	for i := len(names) - 1; i >= 0; i-- {
		args = append(args, names[i])
	}
	return w.call(opAttr, at, args...)
}

func (w *file) isMember(e *syntax.DotExpr) bool {
	id, ok := e.X.(*syntax.Ident)
	return ok && !w.bound[id.Name] && w.env.has(memberName(id.Name, e.Name.Name))
}

func (w *file) member(e *syntax.DotExpr) syntax.Expr {
	if !w.isMember(e) {
		return nil
	}
	return w.use(memberName(e.X.(*syntax.Ident).Name, e.Name.Name), e.Dot)
}

func (w *file) callExpr(e *syntax.CallExpr) syntax.Expr {
	for i, a := range e.Args {
		e.Args[i] = w.arg(a)
	}
	dot, ok := unparen(e.Fn).(*syntax.DotExpr)
	if !ok || w.isMember(dot) || len(e.Args) > maxOperands {
		e.Fn = w.expr(e.Fn)
		return e
	}
	x := w.expr(dot.X)
	if name := opMethodOf(dot.Name.Name); w.env.has(name) {
		e.Args = append([]syntax.Expr{x}, e.Args...)
		e.Fn = w.use(name, dot.Dot)
		return e
	}
	e.Args = append([]syntax.Expr{x, textLiteral(dot.Name.Name, dot.NamePos)}, e.Args...)
	e.Fn = w.use(opMethod, dot.Dot)
	return e
}

// arg is one argument of a call.
func (w *file) arg(a syntax.Expr) syntax.Expr {
	switch a := a.(type) {
	case *syntax.BinaryExpr:
		if a.Op == syntax.EQ {
			a.Y = w.expr(a.Y)
			return a
		}
	case *syntax.UnaryExpr:
		switch a.Op {
		case syntax.STAR:
			a.X = w.call(opSpread, a.OpPos, w.expr(a.X))
			return a
		case syntax.STARSTAR:
			a.X = w.call(opSpreadNamed, a.OpPos, w.expr(a.X))
			return a
		}
	}
	return w.expr(a)
}

// display is a call with the items one by one, or as a tuple if there are many.
func (w *file) display(op, long string, at syntax.Position, items []syntax.Expr) syntax.Expr {
	if len(items) > maxOperands {
		return w.call(long, at, &syntax.TupleExpr{Lparen: at, List: items, Rparen: at})
	}
	return w.call(op, at, items...)
}

func (w *file) dict(e *syntax.DictExpr) syntax.Expr {
	cells := make([]syntax.Expr, 0, 2*len(e.List))
	for _, entry := range e.List {
		entry := entry.(*syntax.DictEntry)
		cells = append(cells, w.expr(entry.Key), w.expr(entry.Value))
	}
	return w.display(opDict, opDictLong, e.Lbrace, cells)
}

func (w *file) comprehension(e *syntax.Comprehension) syntax.Expr {
	for _, c := range e.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.X = w.iterated(c.Vars, c.X, c.For)
			c.Vars = w.target(c.Vars)
		case *syntax.IfClause:
			c.Cond = w.expr(c.Cond)
		}
	}
	op := opListComp
	if entry, ok := e.Body.(*syntax.DictEntry); ok {
		op = opDictComp
		e.Curly = false
		e.Body = &syntax.TupleExpr{Lparen: entry.Colon, List: []syntax.Expr{w.expr(entry.Key), w.expr(entry.Value)}, Rparen: entry.Colon}
	} else {
		e.Body = w.expr(e.Body)
	}
	return w.call(op, e.Lbrack, e)
}

func (w *file) lambda(e *syntax.LambdaExpr) syntax.Expr {
	e.Params = w.defaults(e.Params)
	slots, frame, locals := w.slots, w.frame, w.locals
	w.slots, w.frame, w.locals = 0, 0, 0
	e.Body = w.expr(e.Body)
	if n := w.frame + w.locals + paramWork(e.Params); n > largeFrame {
		e.Body = &syntax.CondExpr{If: e.Lambda, Cond: w.call(opFrame, e.Lambda, intLiteral(n, e.Lambda)), True: e.Body, ElsePos: e.Lambda, False: w.use("None", e.Lambda)}
	}
	w.slots, w.frame, w.locals = slots, frame, locals
	if kw := namedParam(e.Params); kw != nil {
		inner := &syntax.LambdaExpr{Lambda: e.Lambda, Params: []syntax.Expr{ident(kw.Name, kw.NamePos)}, Body: e.Body}
		e.Body = &syntax.CallExpr{Fn: inner, Lparen: e.Lambda, Args: []syntax.Expr{w.call(opNamed, kw.NamePos, ident(kw.Name, kw.NamePos))}, Rparen: e.Lambda}
	}
	return e
}
