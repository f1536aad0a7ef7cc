package worker

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// What crosses often is binary: numbers as varints, texts and values with their length before them.

func appendNumber(dst []byte, n int64) []byte {
	return binary.AppendUvarint(dst, uint64(max(n, 0)))
}

func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendValue appends a value, with its depth, so that one who believes it needn't look. An absent one is
// one byte.
func appendValue(dst []byte, v payload.Value) []byte {
	if !v.Exists() {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(v.Size()))
	dst = binary.AppendUvarint(dst, uint64(v.Depth(payload.MaxDepth)))
	return v.AppendJSON(dst)
}

// cursor reads what the functions above wrote. After the first fault it gives zeroes, so that a reader asks
// once, at the end, whether all was well.
type cursor struct {
	left  []byte
	fault bool
}

func (c *cursor) fail() {
	c.left, c.fault = nil, true
}

func (c *cursor) octet() byte {
	if len(c.left) == 0 {
		c.fail()
		return 0
	}
	b := c.left[0]
	c.left = c.left[1:]
	return b
}

// number is never negative.
func (c *cursor) number() int64 {
	n, size := binary.Uvarint(c.left)
	if size <= 0 || int64(n) < 0 {
		c.fail()
		return 0
	}
	c.left = c.left[size:]
	return int64(n)
}

// count is a number of things of which each takes a byte at least.
func (c *cursor) count() int {
	n := c.number()
	if n > int64(len(c.left)) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) take(n int) []byte {
	b := c.left[:n:n]
	c.left = c.left[n:]
	return b
}

func (c *cursor) text() string {
	s := string(c.take(c.count()))
	if !utf8.ValidString(s) {
		c.fail()
		return ""
	}
	return s
}

// believed is a value as the host sends it.
func (c *cursor) believed() payload.Value {
	size := c.number()
	if size == 0 {
		return payload.Value{}
	}
	depth := c.number()
	if c.fault || size > int64(len(c.left)) || depth > payload.MaxDepth+1 {
		c.fail()
		return payload.Value{}
	}
	return payload.Again(c.take(int(size)), int(depth))
}

// checked is a value as a worker sends it: what it says of itself doesn't count.
func (c *cursor) checked() payload.Value {
	size := c.number()
	if size == 0 {
		return payload.Value{}
	}
	c.number()
	if c.fault || size > int64(len(c.left)) {
		c.fail()
		return payload.Value{}
	}
	v, err := payload.Parse(c.take(int(size)))
	if err != nil {
		c.fail()
	}
	return v
}

// end reports whether all was read and nothing was wrong.
func (c *cursor) end() bool { return !c.fault && len(c.left) == 0 }
