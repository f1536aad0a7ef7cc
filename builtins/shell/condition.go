package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// condition walks what stands between [[ and ]].
func (w *walker) condition(x syntax.TestExpr, st *state, cx context) {
	if x == nil || !w.deeper(&cx) || !w.spend(1) {
		return
	}
	switch e := x.(type) {
	case *syntax.Word:
		w.word(e, st, cx)
	case *syntax.ParenTest:
		w.condition(e.X, st, cx)
	case *syntax.UnaryTest:
		if e.Op == syntax.TsNot {
			w.condition(e.X, st, cx)
			return
		}
		word, ok := e.X.(*syntax.Word)
		if !ok {
			w.condition(e.X, st, cx)
			return
		}
		f := w.word(word, st, cx)
		if e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar {
			w.variableName(f, "[[ "+e.Op.String())
		}
	case *syntax.BinaryTest:
		w.binary(e, st, cx)
	default:
		w.unknown("a condition isn't understood")
	}
}

func (w *walker) binary(e *syntax.BinaryTest, st *state, cx context) {
	switch e.Op {
	case syntax.AndTest, syntax.OrTest:
		w.condition(e.X, st, cx)
		w.perhaps(st, func(st *state) { w.condition(e.Y, st, cx) })
		return
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{e.X, e.Y} {
			word, ok := side.(*syntax.Word)
			if !ok {
				w.unknown("a condition isn't understood")
				continue
			}
			if f := w.word(word, st, cx); !f.number && !(f.known && isNumber(f.text)) {
				w.risky("a side of " + e.Op.String())
			}
		}
		return
	case syntax.TsReMatch:
		if word, ok := e.Y.(*syntax.Word); ok && !plainPattern(word) {
			w.unknown("the pattern of =~ isn't understood")
		}
	}
	w.condition(e.X, st, cx)
	w.condition(e.Y, st, cx)
}

// plainPattern tells whether the parser can't have taken more or less for the pattern than a shell does.
func plainPattern(word *syntax.Word) bool {
	for _, p := range word.Parts {
		switch x := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(x.Value, " \t\r\n;&<>`'\"") {
				return false
			}
			if strings.Count(x.Value, "(") != strings.Count(x.Value, ")") || strings.ContainsAny(x.Value, `\[`) && strings.ContainsAny(x.Value, "()") {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range x.Parts {
				if _, ok := q.(*syntax.Lit); !ok {
					return false
				}
			}
		case *syntax.ParamExp:
			if !plainParam(x) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// variableName takes an argument that names a variable: bash evaluates subscripts in it.
func (w *walker) variableName(f field, what string) bool {
	if f.known && syntax.ValidName(f.text) {
		return true
	}
	if f.known && f.text == "" || w.dialect == Dash {
		return false
	}
	w.unknown(what + " takes a variable that is only known at run time, or an element of an array")
	return false
}
