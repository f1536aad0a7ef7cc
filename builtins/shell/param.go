package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// isAll recognises $@ and ${@}, which between quotes are as many words as there are parameters.
func isAll(pe *syntax.ParamExp) bool {
	return pe.Param != nil && pe.Param.Value == "@" && plainParam(pe)
}

func plainParam(pe *syntax.ParamExp) bool {
	return !pe.Excl && !pe.Length && !pe.Width && pe.Index == nil && pe.Slice == nil && pe.Repl == nil && pe.Names == 0 && pe.Exp == nil
}

// param adds a parameter expansion.
func (w *walker) param(b *builder, pe *syntax.ParamExp, quoted bool, st *state, cx context) {
	if pe.Param == nil || pe.NestedParam != nil || pe.Flags != nil || pe.Width {
		w.unknown("an expansion isn't understood")
		b.several()
		return
	}
	name := pe.Param.Value
	if plainParam(pe) {
		w.plain(b, name, quoted, st)
		return
	}
	if quoted && hasSingle(pe) {
		// Between double quotes shells don't agree on what a single quote in an expansion is, and the
		// parser reads it in one way only.
		w.unknown("a single quote stands in an expansion between double quotes")
		b.several()
		return
	}
	if w.dialect != Dash && hidesProcess(pe) {
		w.unknown("a process substitution stands in an expansion")
	}
	if pe.Index != nil {
		w.index(pe.Index, st.lookup(name), st, cx)
	}
	v := w.value(name, st)
	if pe.Index != nil || st.lookup(name).opaque {
		v = value{}
	}
	several := name == "@" || name == "*" || isWhole(pe.Index)
	switch {
	case pe.Length:
		b.result(value{kind: number}, quoted)
	case pe.Names != 0:
		b.list()
	case pe.Excl:
		w.indirect(b, pe, v, quoted, st, cx)
	case pe.Slice != nil:
		w.arithmetic(pe.Slice.Offset, true, st, cx)
		w.arithmetic(pe.Slice.Length, true, st, cx)
		w.anything(b, several, quoted)
	case pe.Repl != nil:
		w.word(pe.Repl.Orig, st, cx)
		w.word(pe.Repl.With, st, cx)
		w.anything(b, several, quoted)
	case pe.Exp != nil:
		w.operator(b, pe, v, several, quoted, st, cx)
	default:
		w.anything(b, several, quoted)
	}
}

// anything adds a value of which nothing is known.
func (w *walker) anything(b *builder, several, quoted bool) {
	if several {
		b.list()
		return
	}
	b.result(value{}, quoted)
}

// plain adds $name.
func (w *walker) plain(b *builder, name string, quoted bool, st *state) {
	switch name {
	case "@", "*":
		if !st.given || name == "*" && quoted {
			if name == "*" && (quoted || b.whole) {
				b.some()
			} else {
				b.list()
			}
			return
		}
		for i, p := range st.params {
			if i > 0 && !b.whole {
				b.end()
			} else if i > 0 {
				b.quoted(" ")
			}
			b.result(known(p), quoted)
			if !w.spend(1) {
				return
			}
		}
		return
	case "HOME":
		if !st.homeless && (quoted || b.whole) {
			b.home()
			return
		}
	}
	b.result(w.value(name, st), quoted)
}

// value is what a parameter holds.
func (w *walker) value(name string, st *state) value {
	switch name {
	case "#", "?", "$":
		return value{kind: number}
	case "@", "*", "-", "!", "0", "_":
		return value{}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case !st.given:
			return value{}
		case n <= len(st.params):
			return known(st.params[n-1])
		}
		return value{kind: unset}
	}
	v := st.lookup(name)
	if v.opaque {
		return value{}
	}
	return v.value
}

func isWhole(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// indirect adds ${!name}, the value of the variable whose name the value is. Bash evaluates subscripts
// in that name, and with them any code.
func (w *walker) indirect(b *builder, pe *syntax.ParamExp, v value, quoted bool, st *state, cx context) {
	plain := pe.Exp == nil && pe.Slice == nil && pe.Repl == nil
	if isWhole(pe.Index) && plain { // the subscripts in use
		b.list()
		return
	}
	if v.kind == constant && syntax.ValidName(v.text) && plain {
		b.result(w.value(v.text, st), quoted)
		return
	}
	w.unknown("${!" + pe.Param.Value + "} takes a name that is only known at run time")
	b.several()
}

// operator adds ${name:-word} and the like.
func (w *walker) operator(b *builder, pe *syntax.ParamExp, v value, several, quoted bool, st *state, cx context) {
	set := v.kind == constant || v.kind == number
	full := v.kind == number || v.kind == constant && v.text != ""
	switch op := pe.Exp.Op; op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		null := op == syntax.DefaultUnsetOrNull || op == syntax.AssignUnsetOrNull || op == syntax.AlternateUnsetOrNull || op == syntax.ErrorUnsetOrNull
		has := set
		if null {
			has = full
		}
		alternate := op == syntax.AlternateUnset || op == syntax.AlternateUnsetOrNull
		assigns := op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull
		switch {
		case several || v.kind == anything:
			w.perhaps(st, func(st *state) { w.operand(nil, pe.Exp.Word, quoted, st, cx) })
			if assigns {
				w.assign(st, pe.Param.Value, field{}, false)
			}
			w.anything(b, several, quoted)
		case has && !alternate:
			b.result(v, quoted)
		case has || !alternate && !assigns:
			w.operand(b, pe.Exp.Word, quoted, st, cx)
		case assigns:
			w.assign(st, pe.Param.Value, w.word(pe.Exp.Word, st, cx), false)
			b.result(w.value(pe.Param.Value, st), quoted)
		case quoted:
			b.quoted("")
		}
	case syntax.OtherParamOps:
		if what := pe.Exp.Word.Lit(); what == "P" {
			w.unknown("${" + pe.Param.Value + "@P} runs what stands in the value")
		}
		w.anything(b, several, quoted)
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		w.word(pe.Exp.Word, st, cx)
		w.anything(b, several, quoted)
	default:
		w.unknown("an expansion isn't understood")
		b.several()
	}
}

// operand expands the word after an operator, into b or for what it runs only.
func (w *walker) operand(b *builder, word *syntax.Word, quoted bool, st *state, cx context) {
	if word == nil {
		if b != nil && quoted {
			b.quoted("")
		}
		return
	}
	if b == nil {
		w.word(word, st, cx)
		return
	}
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case !ok:
			w.part(b, part, quoted, st, cx)
		case quoted && hasAny(lit.Value, '\\', '~'):
			b.some()
		case hasAny(lit.Value, '\\', '~', '*', '?', '['):
			b.several()
		default:
			b.result(known(w.src.plain(lit.Value)), quoted)
		}
	}
}

func hasAny(s string, letters ...byte) bool {
	for i := range len(s) {
		for _, c := range letters {
			if s[i] == c {
				return true
			}
		}
	}
	return false
}

// hasSingle finds single quotes in what an expansion takes, but not in quotes or substitutions in it.
func hasSingle(node syntax.Node) bool {
	found, levels := false, 0
	syntax.Walk(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.SglQuoted:
			found = true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Lit:
			if !utf8.ValidString(x.Value) {
				found = true
			}
		}
		levels++
		return !found && levels < 1000
	})
	return found || levels >= 1000
}

// hidesProcess finds <(...) and >(...) in the words that an expansion takes, where the parser sees letters.
func hidesProcess(pe *syntax.ParamExp) bool {
	var words []*syntax.Word
	if pe.Exp != nil {
		words = append(words, pe.Exp.Word)
	}
	if pe.Repl != nil {
		words = append(words, pe.Repl.Orig, pe.Repl.With)
	}
	for _, word := range words {
		if word == nil {
			continue
		}
		for _, p := range word.Parts {
			if lit, ok := p.(*syntax.Lit); ok && (strings.Contains(lit.Value, "<(") || strings.Contains(lit.Value, ">(")) {
				return true
			}
		}
	}
	return false
}
