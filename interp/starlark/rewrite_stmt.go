package starlark

import (
	"strconv"
	"strings"

	"go.starlark.net/syntax"
)

// plainOps are the operators of augmented assignments.
var plainOps = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.MINUS_EQ: syntax.MINUS, syntax.STAR_EQ: syntax.STAR, syntax.SLASH_EQ: syntax.SLASH,
	syntax.SLASHSLASH_EQ: syntax.SLASHSLASH, syntax.PERCENT_EQ: syntax.PERCENT, syntax.AMP_EQ: syntax.AMP, syntax.PIPE_EQ: syntax.PIPE,
	syntax.CIRCUMFLEX_EQ: syntax.CIRCUMFLEX, syntax.LTLT_EQ: syntax.LTLT, syntax.GTGT_EQ: syntax.GTGT,
}

// enter goes one level down the tree and reports whether to go on; the caller comes up again.
func (w *file) enter(at syntax.Node) bool {
	if w.depth++; w.depth > maxSpine && w.err == nil {
		start, _ := at.Span()
		w.fail(start, "expressions and blocks nest deeper than %d", maxSpine)
	}
	return w.err == nil
}

func (w *file) stmts(list []syntax.Stmt) []syntax.Stmt {
	out := make([]syntax.Stmt, 0, len(list))
	for _, s := range list {
		w.slots = 0
		out = w.stmt(out, s)
	}
	return out
}

// stmt appends what a statement becomes.
func (w *file) stmt(out []syntax.Stmt, s syntax.Stmt) []syntax.Stmt {
	defer func() { w.depth-- }()
	if !w.enter(s) {
		return append(out, s)
	}
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return w.assign(out, s)
	case *syntax.DefStmt:
		s.Params = w.defaults(s.Params)
		s.Body = w.function(s.Params, s.Body, s.Def)
	case *syntax.ExprStmt:
		s.X = w.expr(s.X)
	case *syntax.ForStmt:
		s.X = w.iterated(s.Vars, s.X, s.For)
		s.Vars = w.target(s.Vars)
		s.Body = w.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = w.expr(s.Cond)
		s.Body = w.stmts(s.Body)
	case *syntax.IfStmt:
		w.branches(s)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = w.expr(s.Result)
		}
	}
	return append(out, s)
}

// branches walks if, elif and else without a level for each.
func (w *file) branches(s *syntax.IfStmt) {
	for {
		s.Cond = w.expr(s.Cond)
		s.True = w.stmts(s.True)
		if len(s.False) == 1 {
			if next, ok := s.False[0].(*syntax.IfStmt); ok {
				s = next
				continue
			}
		}
		s.False = w.falseBranch(s.False)
		return
	}
}

// falseBranch keeps nil, which stands for no else.
func (w *file) falseBranch(list []syntax.Stmt) []syntax.Stmt {
	if list == nil {
		return nil
	}
	return w.stmts(list)
}

// function rewrites a body, pays for a large frame, and takes over **kwargs.
func (w *file) function(params []syntax.Expr, body []syntax.Stmt, at syntax.Position) []syntax.Stmt {
	slots, frame, locals := w.slots, w.frame, w.locals
	w.frame, w.locals = 0, 0
	body = w.stmts(body)
	var before []syntax.Stmt
	if n := w.frame + w.locals + paramWork(params); n > largeFrame {
		before = append(before, &syntax.ExprStmt{X: w.call(opFrame, at, intLiteral(n, at))})
	}
	if kw := namedParam(params); kw != nil {
		before = append(before, &syntax.AssignStmt{
			OpPos: kw.NamePos, Op: syntax.EQ, LHS: ident(kw.Name, kw.NamePos), RHS: w.call(opNamed, kw.NamePos, ident(kw.Name, kw.NamePos)),
		})
	}
	w.slots, w.frame, w.locals = slots, frame, locals
	return append(before, body...)
}

// paramWork is what binding the parameters of a call may take, in slots: each named argument is
// looked for among all of them.
func paramWork(params []syntax.Expr) int {
	longest := 0
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			p = b.X
		}
		if id, ok := p.(*syntax.Ident); ok {
			longest = max(longest, len(id.Name))
		}
	}
	return len(params) + len(params)*len(params)*(longest/32+1)/2
}

func namedParam(params []syntax.Expr) *syntax.Ident {
	for _, p := range params {
		if u, ok := p.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR {
			return u.X.(*syntax.Ident)
		}
	}
	return nil
}

func (w *file) defaults(params []syntax.Expr) []syntax.Expr {
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			b.Y = w.expr(b.Y)
		}
	}
	return params
}

func (w *file) assign(out []syntax.Stmt, s *syntax.AssignStmt) []syntax.Stmt {
	lhs := unparen(s.LHS)
	if op, ok := plainOps[s.Op]; ok {
		return w.augmented(out, s, op, lhs)
	}
	switch lhs := lhs.(type) {
	case *syntax.IndexExpr:
		// The value is made first, as the interpreter does.
		v := w.expr(s.RHS)
		x, k := w.expr(lhs.X), w.expr(lhs.Y)
		return append(out, &syntax.ExprStmt{X: w.call(opSetIndex, lhs.Lbrack, v, x, k)})
	case *syntax.TupleExpr, *syntax.ListExpr:
		s.RHS = w.unpacked(s.RHS, shape(lhs), s.OpPos)
	default:
		s.RHS = w.expr(s.RHS)
	}
	s.LHS = w.target(s.LHS)
	return append(out, s)
}

// augmented is x op= y.
func (w *file) augmented(out []syntax.Stmt, s *syntax.AssignStmt, op syntax.Token, lhs syntax.Expr) []syntax.Stmt {
	switch lhs := lhs.(type) {
	case *syntax.Ident:
		if cheapOperand(op, s.RHS) {
			return append(out, s)
		}
		s.RHS = w.call(opInplace(op), s.OpPos, ident(lhs.Name, lhs.NamePos), w.expr(s.RHS))
		s.LHS, s.Op = lhs, syntax.EQ
		return append(out, s)
	case *syntax.IndexExpr:
		if !calls(s.RHS) {
			return append(out, &syntax.ExprStmt{X: w.call(opSetAug(op), s.OpPos, w.expr(lhs.X), w.expr(lhs.Y), w.expr(s.RHS))})
		}
		// The item is read before a call in the operand can change it.
		x, k, v := w.temp(), w.temp(), w.temp()
		at := lhs.Lbrack
		set := func(name string, e syntax.Expr) syntax.Stmt {
			return &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: ident(name, at), RHS: e}
		}
		return append(out,
			set(x, w.expr(lhs.X)), set(k, w.expr(lhs.Y)), set(v, w.call(opIndex, at, ident(x, at), ident(k, at))),
			&syntax.ExprStmt{X: w.call(opSetIndex, at, w.call(opInplace(op), s.OpPos, ident(v, at), w.expr(s.RHS)), ident(x, at), ident(k, at))})
	case *syntax.DotExpr:
		w.fail(lhs.Dot, "can't assign to .%s: fields are read-only", lhs.Name.Name)
	}
	s.RHS = w.expr(s.RHS)
	return append(out, s) // the resolver says what is wrong with it
}

// temp is a new local variable that no script can name.
func (w *file) temp() string {
	w.temps++
	return "·" + strconv.Itoa(w.temps)
}

// target rewrites what is assigned to by for, or among several.
func (w *file) target(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.Ident:
		w.locals++
	case *syntax.IndexExpr:
		e.X = w.expr(e.X)
		e.Y = w.call(opKey, e.Lbrack, w.expr(e.Y))
	case *syntax.DotExpr:
		e.X = w.expr(e.X)
	case *syntax.TupleExpr:
		for i := range e.List {
			e.List[i] = w.target(e.List[i])
		}
	case *syntax.ListExpr:
		for i := range e.List {
			e.List[i] = w.target(e.List[i])
		}
	case *syntax.ParenExpr:
		e.X = w.target(e.X)
	}
	return e
}

// shape describes how a target takes its value apart: a dot for each simple target, brackets around
// those of a nested one. It is empty for a simple target.
func shape(e syntax.Expr) string {
	var list []syntax.Expr
	switch e := unparen(e).(type) {
	case *syntax.TupleExpr:
		list = e.List
	case *syntax.ListExpr:
		list = e.List
	}
	var b strings.Builder
	for _, x := range list {
		if inner := shape(x); inner != "" {
			b.WriteString("[" + inner + "]")
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// unpacked rewrites the value of an assignment to several.
func (w *file) unpacked(e syntax.Expr, shape string, at syntax.Position) syntax.Expr {
	if t, ok := unparen(e).(*syntax.TupleExpr); ok && !strings.Contains(shape, "[") {
		return w.expr(t) // its items are its own
	}
	return w.call(opUnpack, at, w.expr(e), textLiteral(shape, at))
}

// iterated rewrites what for walks.
func (w *file) iterated(vars, x syntax.Expr, at syntax.Position) syntax.Expr {
	if shape := shape(vars); shape != "" {
		return w.call(opIterUnpack, at, w.expr(x), textLiteral(shape, at))
	}
	return w.call(opIter, at, w.expr(x))
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// calls reports whether an expression can do more than compute.
func calls(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.CallExpr); ok {
			found = true
		}
		return !found
	})
	return found
}
