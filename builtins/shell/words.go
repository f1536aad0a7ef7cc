package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// words expands the words of a command to its fields.
func (w *walker) words(list []*syntax.Word, st *state, cx context) []field {
	out := make([]field, 0, len(list))
	for _, word := range list {
		if len(word.Parts) == 1 { // the usual word
			if lit, ok := word.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[]{~") {
				if !w.spend(1 + len(lit.Value)/16) {
					return out
				}
				out = append(out, literal(w.src.plain(lit.Value)))
				continue
			}
		}
		if !w.spend(1) {
			return out
		}
		if !w.braced(word) {
			out = append(out, w.expand(word.Parts, st, cx)...)
			continue
		}
		for _, alt := range w.alternatives(word) {
			out = append(out, w.expand(alt, st, cx)...)
		}
	}
	return out
}

// expand expands a word without braces.
func (w *walker) expand(parts []syntax.WordPart, st *state, cx context) []field {
	b := w.builder(st, false)
	w.parts(b, parts, st, cx)
	list := b.fields()
	if name := w.looksAssigned(parts); name != "" && len(list) > 0 {
		list[0].text, list[0].known, list[0].pathKnown = name, false, false
	}
	return list
}

// looksAssigned finds arguments like of=~/x, in which bash expands the tilde too, and dash does where they
// are those of export and the like.
func (w *walker) looksAssigned(parts []syntax.WordPart) string {
	if len(parts) == 0 {
		return ""
	}
	lit, ok := parts[0].(*syntax.Lit)
	if !ok {
		return ""
	}
	name, rest, ok := strings.Cut(lit.Value, "=")
	if !ok || !syntax.ValidName(strings.TrimSuffix(name, "+")) {
		return ""
	}
	if !strings.HasPrefix(rest, "~") && !strings.Contains(rest, ":~") {
		return ""
	}
	return name + "="
}

// word expands a word where it is neither split nor taken for a pattern.
func (w *walker) word(word *syntax.Word, st *state, cx context) field {
	if word == nil {
		return literal("")
	}
	b := w.builder(st, true)
	w.parts(b, word.Parts, st, cx)
	return b.one()
}

// assigned expands the right side of an assignment.
func (w *walker) assigned(word *syntax.Word, st *state, cx context) field {
	f := w.word(word, st, cx)
	if word != nil && f.known {
		for _, p := range word.Parts {
			if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, ":~") {
				f.known, f.pathKnown, f.text = false, false, ""
			}
		}
	}
	return f
}

// target expands the word of a redirection: bash takes it for a pattern, dash doesn't.
func (w *walker) target(word *syntax.Word, st *state, cx context) field {
	if w.dialect == Dash {
		return w.word(word, st, cx)
	}
	list := w.words([]*syntax.Word{word}, st, cx)
	if len(list) == 1 && !list[0].many {
		return list[0]
	}
	return field{many: true, split: true}
}

// parts adds the parts of a word.
func (w *walker) parts(b *builder, parts []syntax.WordPart, st *state, cx context) {
	for i, part := range parts {
		if w.spent {
			b.several()
			return
		}
		if lit, ok := part.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(lit.Value, "~") {
			w.tilde(b, lit.Value, len(parts) == 1, st)
			continue
		}
		w.part(b, part, false, st, cx)
	}
}

// part adds one part. Within double quotes nothing is split.
func (w *walker) part(b *builder, part syntax.WordPart, quoted bool, st *state, cx context) {
	w.spend(1)
	switch p := part.(type) {
	case *syntax.Lit:
		if quoted {
			b.quoted(unescape(w.src.plain(p.Value), "$`\"\\"))
		} else {
			b.bare(w.src.plain(p.Value))
		}
	case *syntax.SglQuoted:
		text := w.src.plain(p.Value)
		if !p.Dollar {
			b.quoted(text)
		} else if plain, ok := ansi(text); ok {
			b.quoted(plain)
		} else {
			b.some()
		}
	case *syntax.DblQuoted:
		w.double(b, p, st, cx)
	case *syntax.ParamExp:
		w.param(b, p, quoted, st, cx)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			w.unknown("a substitution runs in the shell itself, or nowhere")
		}
		w.substitution(p.Stmts, p.Right, "substitution", st, cx)
		b.result(value{}, quoted)
	case *syntax.ArithmExp:
		w.arithmetic(p.X, true, st, cx)
		b.result(value{kind: number}, quoted)
	case *syntax.ProcSubst:
		w.substitution(p.Stmts, p.Rparen, "process substitution", st, cx)
		b.plain("/dev/fd/")
		b.some()
	case *syntax.ExtGlob:
		if strings.ContainsAny(p.Pattern.Value, "$`\"'\\<>") {
			w.unknown("an extended pattern has something to expand in it")
		}
		b.several()
	case *syntax.BraceExp:
		b.several() // a sequence
	default:
		w.unknown("a part of a word isn't understood")
		b.several()
	}
}

func (w *walker) double(b *builder, p *syntax.DblQuoted, st *state, cx context) {
	if len(p.Parts) == 1 {
		if pe, ok := p.Parts[0].(*syntax.ParamExp); ok && isAll(pe) {
			w.param(b, pe, true, st, cx)
			return // "$@" can be no word at all
		}
	}
	b.quoted("")
	for _, part := range p.Parts {
		w.part(b, part, true, st, cx)
	}
}

// tilde adds a first part that begins with a tilde.
func (w *walker) tilde(b *builder, raw string, last bool, st *state) {
	raw = w.src.plain(raw)
	end := strings.IndexAny(raw, "/:")
	name, rest := raw[1:], ""
	if end >= 0 {
		name, rest = raw[1:end], raw[end:]
	}
	switch {
	case strings.ContainsAny(name, `\*?[]`), end < 0 && !last: // a quoted letter or an expansion in the name: it stays
		b.bare(raw)
		return
	case name == "" && st.homeless:
		if home := st.lookup("HOME"); home.kind == constant && home.text != "" {
			b.quoted(home.text)
		} else {
			b.some()
		}
	case name == "":
		b.home()
	default:
		b.some()
	}
	b.bare(rest)
}

// document expands the body of a here document whose delimiter isn't quoted.
func (w *walker) document(body *syntax.Word, st *state, cx context) field {
	b := w.builder(st, true)
	if body != nil {
		for _, part := range body.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				w.spend(1)
				b.quoted(unescape(w.src.plain(lit.Value), "$`\\"))
				continue
			}
			w.part(b, part, true, st, cx)
		}
	}
	return b.one()
}

// unescape drops the backslashes that stand before one of the letters.
func unescape(s, letters string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(letters, s[i+1]) >= 0 {
			i++
		}
		out = append(out, s[i])
	}
	return string(out)
}

// ansi reads what stands in $'...'. False means that what it is depends on the locale or the version.
func ansi(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			out = append(out, '\a')
		case 'b':
			out = append(out, '\b')
		case 'e', 'E':
			out = append(out, 0x1b)
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'v':
			out = append(out, '\v')
		case '\\', '\'', '"', '?':
			out = append(out, c)
		case 'x', 'u', 'U', '0', '1', '2', '3', '4', '5', '6', '7':
			base, digits := 16, map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if digits == 0 {
				base, digits, i = 8, 3, i-1
			}
			n, used := 0, 0
			for used < digits && i+1+used < len(s) {
				d := strings.IndexByte("0123456789abcdef", s[i+1+used]|0x20)
				if d < 0 || d >= base {
					break
				}
				n, used = n*base+d, used+1
			}
			if used == 0 || n == 0 || n >= 0x80 {
				return "", false
			}
			out = append(out, byte(n))
			i += used
		default: // \c, and what isn't an escape
			return "", false
		}
	}
	return string(out), true
}
