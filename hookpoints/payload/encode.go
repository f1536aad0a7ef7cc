package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the text of v: source text where there is any, compact text elsewhere. An
// absent Value is written as null.
func (v Value) AppendJSON(dst []byte) []byte {
	n := v.n
	switch {
	case n == nil:
		return append(dst, "null"...)
	case n.raw != nil:
		return append(dst, n.raw...)
	case n.kind == String:
		return appendQuote(dst, n.text)
	}
	l := v.level()
	open, shut := byte('['), byte(']')
	if n.kind == Object {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	for i, kid := range l.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == Object {
			dst = append(appendQuote(dst, l.keys[i]), ':')
		}
		dst = kid.AppendJSON(dst)
	}
	return append(dst, shut)
}

// appendQuote never fails: bytes that are no UTF-8 become U+FFFD, as JSON can't hold them.
func appendQuote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// JSON is the text of v.
func (v Value) JSON() []byte { return v.AppendJSON(nil) }

// String is the text of v, as JSON gives it.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// MarshalJSON lets a Value stand in a struct that encoding/json writes.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// UnmarshalJSON lets a Value stand in a struct that encoding/json reads. JSON null gives null.
func (v *Value) UnmarshalJSON(b []byte) error {
	got, err := Parse(append([]byte(nil), b...))
	*v = got
	return err
}

// IsSource reports whether v is still the text it came as, so that writing it costs a copy.
func (v Value) IsSource() bool { return v.n != nil && v.n.raw != nil }

// maxMeasured is what Size counts to: nodes that share their kids can be written longer than an int, of which the
// sum of two has to fit 32 bits.
const maxMeasured = 1 << 29

// Size is the length of AppendJSON in bytes, at most half a gigabyte. A built node is measured once.
func (v Value) Size() int {
	n := v.n
	switch {
	case n == nil:
		return len("null")
	case n.raw != nil:
		return len(n.raw)
	case n.kind == String:
		return quotedLen(n.text)
	}
	l, size := v.level(), 2
	if known := l.size.Load(); known > 0 {
		return int(known)
	}
	for i, kid := range l.kids {
		if i > 0 {
			size++
		}
		if n.kind == Object {
			size += quotedLen(l.keys[i]) + 1
		}
		size = min(size+kid.Size(), maxMeasured)
	}
	l.size.Store(int64(size))
	return size
}

// quotedLen is the length of appendQuote.
func quotedLen(s string) int {
	n := len(s) + 2
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, width := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && width == 1 {
				n += len("\uFFFD") - 1
			}
			i += width - 1
		case c >= ' ' && c != '"' && c != '\\':
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		default:
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// Depth is the number of nested arrays and objects, 0 for a scalar; it stops counting above limit. It
// is known of source text, and a built node is measured once.
func (v Value) Depth(limit int) int {
	if v.Kind()&(Array|Object) == 0 {
		return 0
	}
	if limit <= 0 {
		return 1
	}
	if v.n.raw != nil {
		return min(int(v.n.depth), limit+1)
	}
	l := v.n.lvl.Load()
	if known := l.depth.Load(); known > 0 {
		return min(int(known), limit+1)
	}
	deepest := 1
	for _, kid := range l.kids {
		deepest = max(deepest, kid.Depth(limit-1)+1)
	}
	if deepest <= limit {
		l.depth.Store(int32(deepest))
	}
	return min(deepest, limit+1)
}

// Digest is the SHA-256 of AppendJSON in hexadecimal: it identifies bytes, not meaning.
func (v Value) Digest() string {
	sum := sha256.Sum256(v.AppendJSON(nil))
	return hex.EncodeToString(sum[:])
}
