package shell

import "strings"

// field is one word after expansion, or several if many is set.
type field struct {
	text   string // all of it if it is known, else the part that is known to come first
	known  bool
	many   bool // any number of words, none included
	split  bool // the text is split where it has blanks, so what comes later can begin with anything
	glob   bool // a pattern: the names of files that it matches, or itself
	number bool // an integer

	path      string // text, or with "~" for the home folder in front
	pathKnown bool
	below     string // the folder in which a pattern finds its names, "" if it isn't known
}

// literal is a field whose text is known.
func literal(text string) field {
	return field{text: text, known: true, path: plainPath(text), pathKnown: true}
}

// plainPath keeps a real "~" apart from the home folder.
func plainPath(text string) string {
	if strings.HasPrefix(text, "~") {
		return "./" + text
	}
	return text
}

// begins tells whether every word that the field can become begins with text that is known.
func (f *field) begins() bool { return f.known || f.text != "" && !f.split }

// option tells whether it can be an option: yes, no, or unknown.
func (f *field) option() Answer {
	switch {
	case f.known:
		if len(f.text) > 1 && f.text[0] == '-' {
			return Yes
		}
		return No
	case f.number:
		return No
	case f.text == "" && strings.HasPrefix(f.path, "~/"):
		return No
	case f.text != "" && f.text[0] != '-' && !f.split:
		return No
	}
	return Unknown
}

// arg is the field as others see it.
func (f *field) arg() Arg {
	return Arg{Text: f.text, Known: f.known, Many: f.many}
}

// builder makes fields out of the pieces of a word.
type builder struct {
	w       *walker
	st      *state
	whole   bool // one field whatever is in it: no splitting, no patterns
	out     []field
	cur     field
	buf     []byte // the text of cur
	started bool   // cur is a field even if it is empty
	open    bool   // all of cur is known so far
	known   int    // how much of buf is known to come first, unless open
	atHome  bool   // buf follows the home folder

	globAt  int // where the first letter of a pattern is in buf, -1 if there is none
	bracket int // where a bracket that isn't closed is, -1 if there is none
}

func (w *walker) builder(st *state, whole bool) *builder {
	b := &builder{w: w, st: st, whole: whole}
	b.reset()
	return b
}

func (b *builder) reset() {
	b.cur, b.buf, b.started, b.open, b.known, b.atHome = field{pathKnown: true}, b.buf[:0], false, true, 0, false
	b.globAt, b.bracket = -1, -1
}

// quoted adds text as it is.
func (b *builder) quoted(text string) {
	b.started = true
	b.plain(text)
}

func (b *builder) plain(text string) {
	if text == "" {
		return
	}
	b.started = true
	b.w.spend(1 + len(text)/16)
	if b.open || b.atHome && b.cur.pathKnown {
		b.buf = append(b.buf, text...)
		if len(b.buf) > maxValue {
			b.cut()
		}
	}
}

// cut ends the part of the field that is known.
func (b *builder) cut() {
	if b.open {
		b.open, b.known = false, len(b.buf)
	}
	b.cur.pathKnown = false
	b.cur.number = false
	b.started = true
}

// bare adds text that is not quoted, with its backslashes. Letters of patterns count.
func (b *builder) bare(raw string) {
	start := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			b.plain(raw[start:i])
			if start = i + 1; start >= len(raw) {
				b.plain(`\`) // at the end of all text
			}
			i++ // what follows is quoted
		case '*', '?':
			b.plain(raw[start:i])
			start = i
			b.pattern(false)
		case '[':
			b.plain(raw[start:i])
			start = i
			if b.bracket < 0 {
				b.bracket = len(b.buf)
			}
		case ']':
			b.plain(raw[start:i])
			start = i
			if b.bracket >= 0 {
				b.pattern(true)
			}
		}
	}
	if start < len(raw) {
		b.plain(raw[start:])
	}
}

func (b *builder) pattern(bracket bool) {
	if b.whole || b.st.noglob || !b.open || b.globAt >= 0 {
		return
	}
	b.globAt = len(b.buf)
	if bracket {
		b.globAt = b.bracket
	}
}

// result adds what an expansion gave.
func (b *builder) result(v value, quoted bool) {
	switch {
	case v.kind == constant && (quoted || b.whole):
		b.quoted(v.text)
	case v.kind == constant:
		b.divide(v.text)
	case v.kind == number:
		b.number(quoted)
	case v.kind == unset:
		if quoted {
			b.started = true
		}
	case quoted || b.whole:
		b.some()
	default:
		b.several()
	}
}

// divide adds the text of an expansion that isn't quoted: it is split, and then taken for patterns.
func (b *builder) divide(text string) {
	ifs := b.st.lookup("IFS")
	if ifs.kind == unset || ifs.kind == constant && ifs.text == " \t\n" {
		for text != "" {
			end := strings.IndexAny(text, " \t\n")
			if end < 0 {
				end = len(text)
			}
			if end > 0 {
				b.divided(text[:end])
			}
			rest := strings.TrimLeft(text[end:], " \t\n")
			if len(rest) < len(text)-end {
				b.end()
			}
			text = rest
		}
		return
	}
	if ifs.kind == constant && (ifs.text == "" || !strings.ContainsAny(text, ifs.text)) {
		if text != "" {
			b.divided(text)
		}
		return
	}
	b.several()
}

// divided adds text from an expansion, in which backslashes are letters; but one before a letter of a
// pattern takes its meaning, which is left unknown.
func (b *builder) divided(text string) {
	if strings.ContainsAny(text, "*?[(") && !b.st.noglob {
		if i := strings.IndexAny(text, `*?[\(+@!`); i >= 0 {
			b.plain(text[:i])
			b.several()
			return
		}
	}
	b.plain(text)
}

// number adds an integer that isn't known.
func (b *builder) number(quoted bool) {
	if ifs := b.st.lookup("IFS"); !quoted && !b.whole && ifs.kind != unset && !(ifs.kind == constant && strings.Trim(ifs.text, " \t\n") == "") {
		b.several()
		return
	}
	number := b.open && len(b.buf) == 0
	b.cut()
	b.cur.number = number
}

// some adds text that isn't known, to one field.
func (b *builder) some() { b.cut() }

// several adds text that isn't known and can be any number of fields.
func (b *builder) several() {
	b.cut()
	b.cur.many, b.cur.split = true, true
}

// list adds fields of which nothing is known, but that nothing splits further ("$@").
func (b *builder) list() {
	b.cut()
	b.cur.many = true
	b.cur.split = true // the next one begins anew
}

// home adds the home folder.
func (b *builder) home() {
	first := b.open && len(b.buf) == 0
	b.cut()
	if first {
		b.atHome, b.cur.pathKnown = true, true
	}
}

// end finishes the field, if there is one.
func (b *builder) end() {
	if b.started && len(b.out) >= maxFields {
		b.w.unknown("a word becomes too many arguments")
	} else if b.started {
		f := b.cur
		f.known = b.open && !f.many
		if b.open {
			b.known = len(b.buf)
		}
		if b.globAt >= 0 {
			f.glob, f.many, f.known, f.pathKnown = true, true, false, false
			if b.open {
				f.below = folderOf(string(b.buf), b.globAt)
			}
			b.known = min(b.globAt, b.known)
		}
		f.text = string(b.buf[:b.known])
		switch {
		case !f.pathKnown:
		case !b.atHome:
			f.path = plainPath(f.text)
		case len(b.buf) == 0 || b.buf[0] == '/':
			f.path = "~" + string(b.buf)
		default:
			f.pathKnown = false // ~ with something glued on
		}
		b.out = append(b.out, f)
		b.w.spend(1)
	}
	b.reset()
}

// folderOf is the folder in which a pattern finds names, "" if it could find some elsewhere.
func folderOf(pattern string, globAt int) string {
	folder := pattern[:strings.LastIndex(pattern[:globAt], "/")+1]
	for name := range strings.SplitSeq(pattern[len(folder):], "/") {
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "[") { // .* can be ..
			return ""
		}
	}
	if folder == "" {
		return "."
	}
	return plainPath(folder)
}

// fields returns what was built.
func (b *builder) fields() []field {
	b.end()
	return b.out
}

// one returns what was built for a place that takes one word.
func (b *builder) one() field {
	b.started = true
	b.end()
	if len(b.out) == 1 {
		return b.out[0]
	}
	return field{many: true, split: true}
}
