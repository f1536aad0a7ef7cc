package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrNotJSON is returned for text that is not one JSON value with unique keys, whole Unicode and
// at most MaxDepth levels.
var ErrNotJSON = errors.New("not one JSON value")

// MaxDepth is the deepest nesting that Parse takes. What a hook returns is held to less.
const MaxDepth = 256

// Counter counts what of a tree was indexed, to prove that a reader stayed lazy.
type Counter struct{ nodes, bytes atomic.Int64 }

// Nodes is the number of nodes indexed so far.
func (c *Counter) Nodes() int64 { return c.nodes.Load() }

// Bytes is how much text was looked at to index them; the same text counts as often as it was.
func (c *Counter) Bytes() int64 { return c.bytes.Load() }

// Parse checks text once, without decoding it, and returns its lazy tree. It keeps text, which must
// not change afterwards. Duplicate keys, lone surrogates, invalid UTF-8 and nesting beyond MaxDepth
// are refused with ErrNotJSON.
func Parse(text []byte) (Value, error) { return parse(text, nil) }

// ParseString is Parse of a string.
func ParseString(text string) (Value, error) { return parse([]byte(text), nil) }

// ParseCounted is Parse of a tree whose indexed nodes are counted in c.
func ParseCounted(text []byte, c *Counter) (Value, error) { return parse(text, c) }

func parse(text []byte, count *Counter) (Value, error) {
	if !jsontext.Value(text).IsValid() {
		return Value{}, fmt.Errorf("%w: %s", ErrNotJSON, reason(text))
	}
	text = bytes.Trim(text, " \t\r\n")
	_, depth := skip(text, 0)
	if depth > MaxDepth {
		return Value{}, fmt.Errorf("%w: nested deeper than %d levels", ErrNotJSON, MaxDepth)
	}
	var n node
	n.set(text, depth, count)
	n.long = longest(text, depth, count)
	return Value{&n}, nil
}

// From encodes a Go value and parses it. It is for host code that has a struct or a map at hand;
// map keys come sorted.
func From(v any) (Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Value{}, fmt.Errorf("payload: %w", err)
	}
	return Parse(buf.Bytes())
}

// reason says why text is refused, and where.
func reason(text []byte) string {
	if len(bytes.Trim(text, " \t\r\n")) == 0 {
		return "there is no text"
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if err := dec.SkipValue(); err != nil {
		var syn *jsontext.SyntacticError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return "it ends too early"
		case errors.As(err, &syn):
			return fmt.Sprintf("%v (byte %d)", syn.Err, syn.ByteOffset)
		}
		return err.Error()
	}
	return fmt.Sprintf("more follows the value at byte %d", dec.InputOffset())
}

func (n *node) set(raw []byte, depth int, count *Counter) {
	n.raw, n.depth, n.count = raw, int32(depth), count
	switch raw[0] {
	case '{':
		n.kind = Object
	case '[':
		n.kind = Array
	case '"':
		n.kind = String
	case 't', 'f':
		n.kind = Bool
	case 'n':
		n.kind = Null
	default:
		n.kind = Number
	}
}

// scan indexes one level of text that Parse has accepted. Nodes come in chunks, so that a level of
// a thousand items doesn't cost a thousand allocations.
func scan(n *node) *level {
	l, b, object, long := &level{}, n.raw, n.kind == Object, n.long
	var chunk []node
	looked := len(b)
	i := space(b, 1)
	for b[i] != '}' && b[i] != ']' {
		if object {
			j := closing(b, i) + 1
			l.keys = append(l.keys, unquote(b[i:j]))
			i = space(b, space(b, j)+1)
		}
		if len(chunk) == cap(chunk) {
			chunk = make([]node, 0, min(max(8, 2*cap(chunk)), 512))
		}
		chunk = chunk[:len(chunk)+1]
		kid := &chunk[len(chunk)-1]
		var j int
		if long != nil && long.start == i {
			j = long.end
			kid.set(b[i:j:j], long.depth, n.count)
			kid.long, long = long.inner, nil
			looked -= j - i
		} else {
			var depth int
			j, depth = skip(b, i)
			kid.set(b[i:j:j], depth, n.count)
			kid.long = longest(kid.raw, depth, n.count)
		}
		l.kids = append(l.kids, Value{kid})
		if i = space(b, j); b[i] == ',' {
			i = space(b, i+1)
		}
	}
	if n.count != nil {
		n.count.nodes.Add(int64(len(l.kids)))
		n.count.bytes.Add(int64(looked))
	}
	return l
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// closing returns the place of the quote that ends the string which starts at i.
func closing(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// skip returns the end of the value that starts at i, and how deep it nests.
func skip(b []byte, i int) (end, depth int) {
	switch b[i] {
	case '"':
		return closing(b, i) + 1, 0
	case '{', '[':
		for open := 0; ; i++ {
			switch b[i] {
			case '"':
				i = closing(b, i)
			case '{', '[':
				open++
				depth = max(depth, open)
			case '}', ']':
				if open--; open == 0 {
					return i + 1, depth
				}
			}
		}
	}
	for i < len(b) && !ends(b[i]) {
		i++
	}
	return i, 0
}

func ends(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

func unquote(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b[1 : len(b)-1])
	}
	s, _ := jsontext.AppendUnquote(nil, b) // valid since Parse took it
	return string(s)
}
