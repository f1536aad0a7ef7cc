package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// node is a value in a text of JSON with comments and trailing commas, by where it stands. Texts are changed by
// cutting and pasting at these places, so all that isn't touched stays as its owner wrote it.
type node struct {
	kind       byte // one of { [ " and 0 for the rest
	start, end int
	text       string  // of a string
	children   []child // of an object or array
}

// child is a member of an object or an item of an array.
type child struct {
	key   string
	start int // of the key, or of the value
	value node
	comma int // where the comma after it stands; -1 if there is none
}

// get is the member with this key; nil if there is none.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n == nil || n.kind != '{' {
			return nil
		}
		next := (*node)(nil)
		for i := range n.children {
			if n.children[i].key == key {
				next = &n.children[i].value
			}
		}
		n = next
	}
	return n
}

// deepest bounds nesting.
const deepest = 100

// parse reads a text. What is wrong is said with its line.
func parse(text []byte) (*node, error) {
	p := &parser{text: text}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		p.at = 3
	}
	root, err := p.document()
	if err != nil {
		line := 1 + bytes.Count(text[:min(p.at, len(text))], []byte("\n"))
		return nil, &syntaxError{line, err}
	}
	return root, nil
}

// syntaxError is what is wrong with a text, and where.
type syntaxError struct {
	line int
	err  error
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

type parser struct {
	text []byte
	at   int
}

func (p *parser) document() (*node, error) {
	if !utf8.Valid(p.text) {
		for p.at < len(p.text) {
			r, n := utf8.DecodeRune(p.text[p.at:])
			if r == utf8.RuneError && n < 2 {
				break
			}
			p.at += n
		}
		return nil, errors.New("it isn't UTF-8")
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, errors.New("something follows the value")
	}
	return &root, nil
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space goes over blanks and comments.
func (p *parser) space() error {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				p.at += end
			} else {
				p.at = len(p.text)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return errors.New("a comment doesn't end")
			}
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) value(depth int) (node, error) {
	n := node{start: p.at}
	var err error
	switch c := p.peek(); {
	case depth > deepest:
		return n, fmt.Errorf("it is nested deeper than %d", deepest)
	case c == '{', c == '[':
		n.kind = c
		n.children, err = p.inside(c, depth)
	case c == '"':
		n.kind = '"'
		n.text, err = p.str()
	case c == 0:
		return n, errors.New("a value is missing")
	default:
		for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,]}/:"), p.text[p.at]) < 0 {
			p.at++
		}
		if word := p.text[n.start:p.at]; !json.Valid(word) {
			p.at = n.start
			return n, fmt.Errorf("want a value, have %q", p.text[n.start:min(len(p.text), n.start+max(len(word), 1))])
		}
	}
	n.end = p.at
	return n, err
}

func (p *parser) str() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] != '\n'; p.at++ {
		switch p.text[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			var s string
			if err := json.Unmarshal(p.text[start:p.at], &s); err != nil {
				p.at = start
				return "", fmt.Errorf("a string that isn't one: %w", err)
			}
			return s, nil
		}
	}
	p.at = start
	return "", errors.New("a string doesn't end")
}

// inside reads what stands between brackets.
func (p *parser) inside(open byte, depth int) (children []child, err error) {
	closing, seen := open+2, map[string]bool{} // in ASCII
	for p.at++; ; {
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.peek() == closing {
			p.at++
			return children, nil
		}
		if len(children) > 0 && children[len(children)-1].comma < 0 {
			return nil, fmt.Errorf("want a comma or %q", string(closing))
		}
		c := child{start: p.at, comma: -1}
		if open == '{' {
			if c.key, err = p.key(); err != nil {
				return nil, err
			}
			if seen[c.key] {
				p.at = c.start
				return nil, fmt.Errorf("the key %q comes twice", c.key)
			}
			seen[c.key] = true
		}
		if c.value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		if err := p.space(); err != nil {
			return nil, err
		}
		if p.peek() == ',' {
			c.comma = p.at
			p.at++
		}
		children = append(children, c)
	}
}

func (p *parser) key() (string, error) {
	if p.peek() != '"' {
		return "", errors.New("want a key in double quotes")
	}
	key, err := p.str()
	if err != nil {
		return "", err
	}
	if err := p.space(); err != nil {
		return "", err
	}
	if p.peek() != ':' {
		return "", fmt.Errorf("want a colon after the key %q", key)
	}
	p.at++
	return key, p.space()
}
