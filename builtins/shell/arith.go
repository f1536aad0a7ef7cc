package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// arithmetic walks an expression. Bash evaluates the values of the variables in it as expressions again,
// and runs substitutions in their subscripts, so that a variable has to be known to be a number. Dash
// evaluates numbers only. spliced says that the shell expands the text before it reads it, as it does
// in $((...)).
func (w *walker) arithmetic(x syntax.ArithmExpr, spliced bool, st *state, cx context) {
	if !w.deeper(&cx) {
		return
	}
	var right []*syntax.BinaryArithm // chains lean to the left, and can be long
	for x != nil && w.spend(1) {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			if assigns(e.Op) {
				w.arithmetic(e.Y, spliced, st, cx)
				w.arithAssign(e.X, e.Op != syntax.Assgn, st, cx)
				break
			}
			right = append(right, e)
			x = e.X
			continue
		case *syntax.UnaryArithm:
			if e.Op == syntax.Inc || e.Op == syntax.Dec {
				w.arithAssign(e.X, true, st, cx)
				break
			}
			x = e.X
			continue
		case *syntax.ParenArithm:
			w.arithmetic(e.X, spliced, st, cx)
		case *syntax.Word:
			w.arithWord(e, spliced, st, cx)
		default:
			w.unknown("an expression isn't understood")
		}
		break
	}
	for _, e := range slices.Backward(right) {
		switch e.Op {
		case syntax.AndArit, syntax.OrArit:
			w.perhaps(st, func(st *state) { w.arithmetic(e.Y, spliced, st, cx) })
		case syntax.TernQuest:
			branches, ok := e.Y.(*syntax.BinaryArithm)
			if !ok {
				w.unknown("an expression isn't understood")
				return
			}
			w.perhaps(st, func(st *state) { w.arithmetic(branches.X, spliced, st, cx) })
			w.perhaps(st, func(st *state) { w.arithmetic(branches.Y, spliced, st, cx) })
		default:
			w.arithmetic(e.Y, spliced, st, cx)
		}
	}
}

func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn,
		syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		return true
	}
	return false
}

// perhaps walks what may be left out.
func (w *walker) perhaps(st *state, walk func(*state)) {
	other := st.fork()
	walk(other)
	*st = *w.join(st.fork(), other)
}

// arithAssign handles the left side of an assignment, which some operators read first.
func (w *walker) arithAssign(x syntax.ArithmExpr, reads bool, st *state, cx context) {
	word, ok := x.(*syntax.Word)
	if !ok || len(word.Parts) != 1 {
		w.unknown("an expression assigns to what is only known at run time")
		return
	}
	if _, plain := word.Parts[0].(*syntax.Lit); reads || !plain {
		w.arithWord(word, false, st, cx)
	}
	if lit, ok := word.Parts[0].(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
		v := st.lookup(lit.Value)
		v.value = value{kind: number}
		w.setVar(st, lit.Value, v)
		w.sensitive(st, lit.Value, field{number: true}, v.export)
	}
}

func (w *walker) arithWord(word *syntax.Word, spliced bool, st *state, cx context) {
	for _, part := range word.Parts {
		if !w.spend(1) {
			return
		}
		switch p := part.(type) {
		case *syntax.Lit:
			w.arithName(w.src.plain(p.Value), len(word.Parts) == 1, st)
		case *syntax.ParamExp:
			if p.Short && p.Index != nil && !p.Dollar.IsValid() { // a[i]
				w.index(p.Index, st.lookup(p.Param.Value), st, cx)
				w.risky("an element of an array")
				continue
			}
			b := w.builder(st, true)
			w.param(b, p, true, st, cx)
			if f := b.one(); !f.number && !(f.known && isNumber(f.text)) {
				w.risky("$" + p.Param.Value)
			}
		case *syntax.ArithmExp:
			w.arithmetic(p.X, true, st, cx)
		case *syntax.CmdSubst:
			w.substitution(p.Stmts, p.Right, "substitution", st, cx)
			w.risky("the output of a command")
		case *syntax.DblQuoted:
			inner := &syntax.Word{Parts: p.Parts}
			w.arithWord(inner, spliced, st, cx)
		default:
			w.part(w.builder(st, true), part, true, st, cx)
			w.unknown("quotes stand in an expression")
		}
	}
}

// arithName checks a name or a number in an expression.
func (w *walker) arithName(text string, whole bool, st *state) {
	switch {
	case text == "" || isNumber(text):
	case !whole:
		w.risky("a name that is made up")
	case syntax.ValidName(text):
		if v := st.lookup(text); v.opaque || !v.numeric() {
			w.risky("$" + text)
		}
	case isBased(text):
	default:
		w.risky("text")
	}
}

// isBased recognises numbers like 16#ff.
func isBased(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '#') || i == 0 && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// risky says that arithmetic over something can run code.
func (w *walker) risky(what string) {
	if w.dialect != Dash {
		w.unknown("arithmetic over " + what + " can run what stands in it")
	}
}

// index walks the subscript of an array.
func (w *walker) index(x syntax.ArithmExpr, v variable, st *state, cx context) {
	if isWhole(x) {
		return
	}
	if v.keys {
		if word, ok := x.(*syntax.Word); ok && word.Lit() != "" {
			return
		}
	}
	w.arithmetic(x, false, st, cx)
}

// plainLet tells whether an argument of let is read as one word by shells: > and & would end it.
func plainLet(x syntax.ArithmExpr) bool {
	for {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			switch e.Op {
			case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.Add, syntax.Sub, syntax.Quo, syntax.Rem, syntax.Comma:
			default:
				return false
			}
			if !plainLet(e.Y) {
				return false
			}
			x = e.X
		case *syntax.UnaryArithm:
			x = e.X
		case *syntax.Word:
			return true
		default:
			return false
		}
	}
}
