package starlark

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
)

// printer writes values as Starlark writes them. It pays for each piece before it makes it.
type printer struct {
	r     *run
	out   strings.Builder
	path  []starlark.Value // lists and dicts that are being written
	depth int
}

// repr is the text of a value, strings quoted.
func (r *run) repr(v starlark.Value) (string, error) {
	p := printer{r: r}
	err := p.value(v)
	return p.out.String(), err
}

// preview is for errors that the interpreter itself words, where nobody pays: short.
func preview(v starlark.Value) string {
	const enough = 512
	r := newRun(context.Background(), meter.Limits{Fuel: 8 * enough, Bytes: 16 * enough})
	s, err := r.repr(v)
	if err != nil || len(s) > enough {
		s = s[:min(len(s), enough)] + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// write pays for text that will be made, then makes it.
func (p *printer) write(s string) error {
	if err := p.pay(len(s)); err != nil {
		return err
	}
	p.out.WriteString(s)
	return nil
}

// shortText is the longest text for which the buffer may grow by more than it takes.
const shortText = 1 << 10

// pay charges for n bytes of output.
func (p *printer) pay(n int) error {
	return p.r.charge(1, int64(n)+int64(min(n, shortText)))
}

func (p *printer) value(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.String:
		return p.quoted(string(v), false)
	case starlark.Bytes:
		return p.quoted(string(v), true)
	case starlark.Int:
		return p.integer(v)
	case *starlark.List, starlark.Tuple, array:
		return p.nested(v, p.sequence)
	case *dict, object:
		return p.nested(v, p.mapping)
	case *set:
		return p.nested(v, p.set)
	case number:
		if err := p.pay(v.v.TextLen()); err != nil {
			return err
		}
		p.out.WriteString(v.v.Text())
		return nil
	case *starlark.Function:
		return p.write("<function " + v.Name() + ">")
	case *starlark.Builtin:
		if v.Receiver() != nil {
			return p.write("<built-in method " + v.Name() + " of " + v.Receiver().Type() + " value>")
		}
		return p.write("<built-in function " + v.Name() + ">")
	}
	// What is left are values whose text is as long as the string that they iterate over, or short.
	if err := p.pay(4*bound(v) + 64); err != nil {
		return err
	}
	p.out.WriteString(v.String())
	return nil
}

// quoted pays for the longest escape of each byte.
func (p *printer) quoted(s string, bytes bool) error {
	n := len(s) + 2
	if err := p.r.charge(1+int64(n)/16, 2*int64(n)); err != nil {
		return err
	}
	if !bytes && isPlain(s) {
		p.out.WriteByte('"')
		p.out.WriteString(s)
		p.out.WriteByte('"')
		return nil
	}
	if err := p.r.charge(int64(n)/2, 2*int64(n)); err != nil {
		return err
	}
	p.out.WriteString(syntax.Quote(s, bytes))
	return nil
}

// isPlain reports whether a text stands between quotes as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
}

func (p *printer) nested(v starlark.Value, write func(starlark.Value) error) error {
	if p.depth >= maxDepth {
		return errTooDeep
	}
	p.depth++
	defer func() { p.depth-- }()
	switch v.(type) {
	case *starlark.List, *dict:
		if err := p.r.charge(int64(len(p.path))/8, 0); err != nil {
			return err
		}
		p.path = append(p.path, v)
		defer func() { p.path = p.path[:len(p.path)-1] }()
	}
	return write(v)
}

// within reports whether v, a list or dict, is being written already.
func (p *printer) within(v starlark.Value) bool {
	switch v.(type) {
	case *starlark.List, *dict:
		return slices.Contains(p.path[:len(p.path)-1], v)
	}
	return false // the others can't hold themselves
}

func (p *printer) sequence(v starlark.Value) error {
	s, _ := sequenceOf(v)
	open, shut := "[", "]"
	if s.tuple {
		open, shut = "(", ")"
	}
	if p.within(v) {
		return p.write("[...]")
	}
	if err := p.write(open); err != nil {
		return err
	}
	for i := range s.len() {
		if i > 0 {
			if err := p.write(", "); err != nil {
				return err
			}
		}
		if err := p.r.charge(s.showing(), 0); err != nil {
			return err
		}
		item, err := s.at(p.r, i)
		if err != nil {
			return err
		}
		if err := p.value(item); err != nil {
			return err
		}
	}
	if s.tuple && s.len() == 1 {
		shut = ",)"
	}
	return p.write(shut)
}

func (p *printer) mapping(v starlark.Value) error {
	if p.within(v) {
		return p.write("{...}")
	}
	m, _ := mappingOf(v)
	if err := p.write("{"); err != nil {
		return err
	}
	sep := ""
	for i := range m.slots() {
		k, item, err := m.entry(p.r, i)
		if err != nil {
			return err
		}
		if k == nil {
			continue
		}
		if err := p.write(sep); err != nil {
			return err
		}
		if err := p.value(k); err != nil {
			return err
		}
		if err := p.write(": "); err != nil {
			return err
		}
		if err := p.value(item); err != nil {
			return err
		}
		sep = ", "
	}
	return p.write("}")
}

func (p *printer) set(v starlark.Value) error {
	if err := p.write("set(["); err != nil {
		return err
	}
	sep := ""
	for _, k := range v.(*set).cells {
		if k == nil {
			continue
		}
		if err := p.write(sep); err != nil {
			return err
		}
		if err := p.value(k); err != nil {
			return err
		}
		sep = ", "
	}
	return p.write("])")
}

// integer writes a number in decimal.
func (p *printer) integer(v starlark.Int) error {
	if err := p.pay(intDigits(v)); err != nil {
		return err
	}
	if i, ok := v.Int64(); ok {
		p.out.WriteString(strconv.FormatInt(i, 10))
		return nil
	}
	if err := p.r.charge(digitsFuel, 0); err != nil {
		return err
	}
	p.out.WriteString(v.String())
	return nil
}

// intDigits bounds the length of an integer's text.
func intDigits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 20
	}
	return maxIntBits / 3
}

// say joins values as print and fail do.
func (r *run) say(name string, args starlark.Tuple, kwargs []starlark.Tuple) (string, error) {
	sep := " "
	if err := starlark.UnpackArgs(name, nil, kwargs, "sep?", &sep); err != nil {
		return "", err
	}
	p := printer{r: r}
	for i, v := range args {
		if i > 0 {
			if err := p.write(sep); err != nil {
				return "", err
			}
		}
		var err error
		switch v := v.(type) {
		case starlark.String:
			err = p.write(string(v))
		case starlark.Bytes:
			if name != "print" {
				err = p.value(v)
				break
			}
			err = p.write(string(v))
		default:
			err = p.value(v)
		}
		if err != nil {
			return "", err
		}
	}
	return p.out.String(), nil
}

// bound is how many elements a value yields, or bytes it is about.
func bound(v starlark.Value) int {
	if b, ok := v.(bounded); ok {
		return b.n
	}
	return max(starlark.Len(v), 0)
}

// bounded is an iterable of the interpreter that doesn't say how long it is.
type bounded struct {
	starlark.Iterable
	n int
}

var _ fmt.Stringer = bounded{}
