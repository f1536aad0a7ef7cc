package payload

import (
	"bytes"
	"unicode/utf8"
)

// TextLen is len(v.Text()) without making the text: a charge has to know it before any work is paid
// for, and it must not depend on whether a string was parsed or built.
func (v Value) TextLen() int {
	switch {
	case v.Kind()&(String|Number|Bool) == 0:
		return 0
	case v.n.kind != String:
		return len(v.n.raw)
	case v.n.raw == nil:
		return len(v.n.text)
	}
	if l := v.n.lvl.Load(); l != nil {
		return len(l.keys[0])
	}
	return unquotedLen(v.n.raw[1 : len(v.n.raw)-1])
}

// unquotedLen measures the inside of a string literal that Parse has accepted.
func unquotedLen(b []byte) int {
	size := 0
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return size + len(b)
		}
		size += i
		if b = b[i:]; b[1] != 'u' {
			size, b = size+1, b[2:]
			continue
		}
		r := hex4(b[2:6])
		b = b[6:]
		if 0xD800 <= r && r < 0xDC00 { // Parse has seen to it that the other half follows
			r, b = utf8.MaxRune, b[6:]
		}
		size += utf8.RuneLen(r)
	}
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case c <= '9':
			r = r<<4 | rune(c-'0')
		default:
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
