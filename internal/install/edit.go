package install

import (
	"bytes"
	"encoding/json"
	"strings"
)

// set returns the text with a member of the object at n set to a value (compact JSON).
func set(text []byte, root, n *node, key, value string) []byte {
	for _, c := range n.children {
		if c.key == key {
			return replace(text, root, c.value, value)
		}
	}
	name, err := json.Marshal(key)
	if err != nil {
		panic(err) // a string always can be
	}
	return insert(text, root, n, string(name)+": ", value)
}

// replace puts a value in the place of another one.
func replace(text []byte, root *node, old node, value string) []byte {
	return splice(text, old.start, old.end, pretty(text, root, value, lead(text, old.start)))
}

// insert puts a child at the end of an object or array: prefix is its key with what follows it, or nothing.
func insert(text []byte, root, n *node, prefix, value string) []byte {
	closing := n.end - 1
	last := closing - len(text[n.start+1:closing]) + len(bytes.TrimRight(text[n.start+1:closing], " \t\r\n")) // behind what stands there
	base := lead(text, n.start)
	inner := base + unit(text, root)
	lines := len(n.children) == 0 || bytes.IndexByte(text[n.start:n.end], '\n') >= 0
	if len(n.children) > 0 && lines {
		if own := lead(text, n.children[0].start); begins(text, n.children[0].start) {
			inner = own
		}
	}
	var piece string
	ends := 0 // where the child ends in the piece
	if lines {
		piece = newline(text) + inner + prefix + pretty(text, root, value, inner)
		ends = len(piece)
		if bytes.IndexByte(text[last:closing], '\n') < 0 {
			piece += newline(text) + base
			last = len(bytes.TrimRight(text[:closing], " \t"))
			text = splice(text, last, closing, "")
		}
	} else {
		piece = " " + prefix + value
		ends = len(piece)
	}
	k := len(n.children)
	trailing := k > 0 && n.children[k-1].comma >= 0 // as its owner likes it
	if trailing {
		piece = piece[:ends] + "," + piece[ends:] // before a line end that was added for the bracket
	}
	text = splice(text, last, last, piece)
	if k > 0 && !trailing {
		at := n.children[k-1].value.end
		text = splice(text, at, at, ",")
	}
	return text
}

// remove takes the child number i out of an object or array.
func remove(text []byte, n *node, i int) []byte {
	c := n.children[i]
	start, end := c.start, c.value.end
	switch {
	case c.comma >= 0:
		if len(bytes.TrimSpace(text[end:c.comma])) == 0 {
			end = c.comma + 1
		} else { // a comment stands between
			text = splice(text, c.comma, c.comma+1, "")
		}
	case i > 0: // the comma before it goes, as nothing follows it any more
		at := n.children[i-1].comma
		text = splice(text, at, at+1, "")
		start, end = start-1, end-1
	}
	if begins(text, start) { // a line of its own, or several
		line := bytes.LastIndexByte(text[:start], '\n')
		if line > 0 && text[line-1] == '\r' {
			line--
		}
		if rest := text[end:]; len(bytes.TrimLeft(rest, " \t")) == 0 || bytes.IndexByte([]byte("\r\n}]"), bytes.TrimLeft(rest, " \t")[0]) >= 0 {
			end += len(rest) - len(bytes.TrimLeft(rest, " \t"))
			if closes(text, end) && (len(n.children) > 1 || commented(text[n.start:start])) { // the bracket stays on a line of its own
				return splice(text, start, end, "")
			}
			start = line
		}
	} else {
		for end < len(text) && text[end] == ' ' && i == 0 {
			end++
		}
		for start > 0 && text[start-1] == ' ' && i > 0 {
			start--
		}
	}
	text = splice(text, start, end, "")
	if len(n.children) > 1 {
		return text
	}
	// Nothing is left but blanks: the brackets stand together again.
	to := start
	for to < len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[to]) >= 0 {
		to++
	}
	from := len(bytes.TrimRight(text[:start], " \t\r\n"))
	if from == n.start+1 && to < len(text) && text[to] == "}]"[strings.IndexByte("{[", n.kind)] {
		text = splice(text, from, to, "")
	}
	return text
}

func splice(text []byte, from, to int, piece string) []byte {
	out := make([]byte, 0, len(text)-(to-from)+len(piece))
	return append(append(append(out, text[:from]...), piece...), text[to:]...)
}

// lead is the blank beginning of the line in which a place stands.
func lead(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// begins reports whether nothing stands before a place in its line.
func begins(text []byte, at int) bool {
	line := bytes.LastIndexByte(text[:at], '\n')
	return line >= 0 && len(bytes.TrimSpace(text[line:at])) == 0
}

// closes reports whether a closing bracket stands at a place.
func closes(text []byte, at int) bool {
	return at < len(text) && (text[at] == '}' || text[at] == ']')
}

// newline is how the text ends its lines.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unit is how the text indents.
func unit(text []byte, root *node) string {
	for _, c := range root.children {
		if own := lead(text, c.start); begins(text, c.start) && own != "" {
			return own
		}
	}
	return "  "
}

// pretty is a compact value as it looks in this text, in a line that begins with indent.
func pretty(text []byte, root *node, value, indent string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(value), indent, unit(text, root)); err != nil {
		panic(err) // it is ours
	}
	return strings.ReplaceAll(out.String(), "\n", newline(text))
}
