package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Captured is what a process wrote: all of it, or its beginning and its end.
type Captured struct {
	Head, Tail []byte

	// Cut is the number of bytes left out between Head and Tail.
	Cut int64
}

// String is the text, with a line that says so where something was left out. Bytes that are no UTF-8
// become U+FFFD.
func (c Captured) String() string {
	if c.Cut == 0 {
		return strings.ToValidUTF8(string(c.Head)+string(c.Tail), "\uFFFD")
	}
	head, tail := c.Head, c.Tail
	for n := 1; n < utf8.UTFMax && n <= len(head); n++ { // the cut may go through a character
		if part := head[len(head)-n:]; utf8.RuneStart(part[0]) {
			if !utf8.FullRune(part) {
				head = head[:len(head)-n]
			}
			break
		}
	}
	for n := 0; n < utf8.UTFMax-1 && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	left := c.Cut + int64(len(c.Head)-len(head)+len(c.Tail)-len(tail))
	return strings.ToValidUTF8(string(head), "\uFFFD") + fmt.Sprintf("\n[... %d bytes left out ...]\n", left) + strings.ToValidUTF8(string(tail), "\uFFFD")
}

// capture keeps the first half and the last half of limit bytes that are written to it.
type capture struct {
	limit int
	head  []byte
	ring  []byte // the last bytes; once full, at is where the oldest stands
	at    int
	cut   int64
}

func (c *capture) write(p []byte) {
	headLimit := c.limit - c.limit/2
	n := min(headLimit-len(c.head), len(p))
	c.head = append(c.head, p[:n]...)
	p = p[n:]
	tailLimit := c.limit / 2
	if extra := len(p) - tailLimit; extra > 0 {
		c.cut += int64(extra)
		p = p[extra:]
	}
	for len(p) > 0 {
		if len(c.ring) < tailLimit {
			n := min(tailLimit-len(c.ring), len(p))
			c.ring = append(c.ring, p[:n]...)
			p = p[n:]
			continue
		}
		n := copy(c.ring[c.at:], p)
		c.cut += int64(n)
		c.at = (c.at + n) % tailLimit
		p = p[n:]
	}
}

func (c *capture) captured() Captured {
	tail := append(append([]byte(nil), c.ring[c.at:]...), c.ring[:c.at]...)
	return Captured{Head: c.head, Tail: tail, Cut: c.cut}
}
