package starlark

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// interpolate is format % x.
func (r *run) interpolate(format string, x starlark.Value) (starlark.Value, error) {
	if err := r.charge(1+int64(len(format))/comparePerFuel, int64(len(format))); err != nil {
		return nil, err
	}
	p := printer{r: r}
	tuple, several := x.(starlark.Tuple)
	given := 1
	if several {
		given = len(tuple)
	}
	used := 0
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			p.out.WriteString(format)
			break
		}
		p.out.WriteString(format[:i])
		format = format[i+1:]
		if err := r.charge(1, 0); err != nil {
			return nil, err
		}
		if strings.HasPrefix(format, "%") {
			p.out.WriteByte('%')
			format = format[1:]
			continue
		}
		var arg starlark.Value
		if rest, ok := strings.CutPrefix(format, "("); ok {
			key, after, ok := strings.Cut(rest, ")")
			if !ok {
				return nil, errors.New("incomplete format key")
			}
			m, ok := mappingOf(x)
			if !ok {
				return nil, errors.New("format requires a mapping")
			}
			v, found, err := m.get(r, starlark.String(key))
			if err != nil {
				return nil, err
			}
			if !found {
				return nil, fmt.Errorf("key not found: %s", key)
			}
			arg, format = v, after
		} else {
			if used >= given {
				return nil, errors.New("not enough arguments for format string")
			}
			if arg = x; several {
				arg = tuple[used]
			}
		}
		if format == "" {
			return nil, errors.New("incomplete format")
		}
		if err := p.conversion(format[0], arg); err != nil {
			return nil, err
		}
		format = format[1:]
		used++
	}
	if _, named := mappingOf(x); used < given && !named {
		return nil, errors.New("too many arguments for format string")
	}
	return starlark.String(p.out.String()), nil
}

// conversion writes one argument as %c says.
func (p *printer) conversion(c byte, arg starlark.Value) error {
	switch c {
	case 's', 'r':
		if s, ok := arg.(starlark.String); ok && c == 's' {
			return p.write(string(s))
		}
		return p.value(arg)
	case 'd', 'i', 'o', 'x', 'X':
		i, err := starlark.NumberToInt(arg)
		if err != nil {
			return fmt.Errorf("%%%c format requires integer: %v", c, err)
		}
		if c == 'i' || c == 'd' {
			return p.integer(i)
		}
		if err := p.pay(2 * intDigits(i)); err != nil {
			return err
		}
		if err := p.r.charge(8, 0); err != nil {
			return err
		}
		fmt.Fprintf(&p.out, "%"+string(rune(c)), i)
		return nil
	case 'e', 'f', 'g', 'E', 'F', 'G':
		f, ok := starlark.AsFloat(arg)
		if !ok {
			return fmt.Errorf("%%%c format requires float, not %s", c, arg.Type())
		}
		if err := p.pay(400); err != nil {
			return err
		}
		p.out.WriteString(floatText(f, c))
		return nil
	case 'c':
		return p.char(arg)
	case '%':
		return p.write("%")
	}
	return fmt.Errorf("unknown conversion %%%c", c)
}

func (p *printer) char(arg starlark.Value) error {
	switch arg := arg.(type) {
	case starlark.Int:
		i, ok := arg.Int64()
		if !ok || i < 0 || i > unicode.MaxRune {
			return fmt.Errorf("%%c format requires a valid Unicode code point, got %s", arg)
		}
		return p.write(string(rune(i)))
	case starlark.String:
		if _, size := utf8.DecodeRuneInString(string(arg)); size != len(arg) || size == 0 {
			return errors.New("%c format requires a single-character string")
		}
		return p.write(string(arg))
	}
	return fmt.Errorf("%%c format requires int or single-character string, not %s", arg.Type())
}

// floatText writes a float: g as short as it can be without reading as an integer, the others with
// six digits.
func floatText(f float64, c byte) string {
	if c == 'g' || f != f || f-f != 0 {
		return starlark.Float(f).String()
	}
	if c != 'G' {
		return strconv.FormatFloat(f, c, 6, 64)
	}
	s := strconv.FormatFloat(f, 'G', -1, 64)
	if !strings.ContainsAny(s, ".E") {
		s += ".0"
	}
	return s
}

// format is s.format(...).
func (r *run) format(s string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := r.charge(1+int64(len(s))/4, int64(len(s))); err != nil {
		return nil, err
	}
	f := formatter{printer: printer{r: r}, args: args, kwargs: kwargs}
	for {
		literal, field, rest, more, err := nextField(s)
		if err != nil {
			return nil, err
		}
		f.out.WriteString(literal)
		if !more {
			return starlark.String(f.out.String()), nil
		}
		if err := f.field(field); err != nil {
			return nil, err
		}
		s = rest
	}
}

// nextField splits s at its first {field}, with {{ and }} made single in what comes before it.
func nextField(s string) (literal, field, rest string, more bool, err error) {
	var lit strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '}':
			if i+1 >= len(s) || s[i+1] != '}' {
				return "", "", "", false, errors.New("format: single '}' in format")
			}
			lit.WriteByte('}')
			i++
		case c == '{' && i+1 < len(s) && s[i+1] == '{':
			lit.WriteByte('{')
			i++
		case c == '{':
			field, rest, ok := strings.Cut(s[i+1:], "}")
			if !ok {
				return "", "", "", false, errors.New("format: unmatched '{' in format")
			}
			return lit.String(), field, rest, true, nil
		default:
			lit.WriteByte(c)
		}
	}
	return lit.String(), "", "", false, nil
}

type formatter struct {
	printer
	args         starlark.Tuple
	kwargs       []starlark.Tuple
	next         int
	auto, manual bool
}

func (f *formatter) field(field string) error {
	name, conv, spec := field, "s", ""
	if n, c, ok := strings.Cut(field, "!"); ok {
		name = n
		conv, spec, _ = strings.Cut(c, ":")
	} else {
		name, spec, _ = strings.Cut(field, ":")
	}
	arg, err := f.argument(name)
	if err != nil {
		return err
	}
	if spec != "" {
		return fmt.Errorf("format spec features not supported in replacement fields: %s", spec)
	}
	switch conv {
	case "s":
		if s, ok := arg.(starlark.String); ok {
			return f.write(string(s))
		}
		return f.value(arg)
	case "r":
		return f.value(arg)
	}
	return fmt.Errorf("format: unknown conversion %q", conv)
}

func (f *formatter) argument(name string) (starlark.Value, error) {
	outOfRange := errors.New("format: tuple index out of range")
	if name == "" {
		if f.manual {
			return nil, errors.New("format: cannot switch from manual field specification to automatic field numbering")
		}
		f.auto = true
		if f.next >= len(f.args) {
			return nil, outOfRange
		}
		f.next++
		return f.args[f.next-1], nil
	}
	if i, ok := position(name); ok {
		if f.auto {
			return nil, errors.New("format: cannot switch from automatic field numbering to manual field specification")
		}
		f.manual = true
		if i >= len(f.args) {
			return nil, outOfRange
		}
		return f.args[i], nil
	}
	if err := f.r.charge(int64(len(f.kwargs)), 0); err != nil {
		return nil, err
	}
	for _, kv := range f.kwargs {
		if string(kv[0].(starlark.String)) == name {
			return kv[1], nil
		}
	}
	switch {
	case strings.Contains(name, "."):
		return nil, fmt.Errorf("format: attribute syntax x.y is not supported in replacement fields: %s", name)
	case strings.Contains(name, "["):
		return nil, fmt.Errorf("format: element syntax a[i] is not supported in replacement fields: %s", name)
	case strings.Contains(name, "{"):
		return nil, errors.New("format: nested replacement fields not supported")
	}
	return nil, fmt.Errorf("format: keyword %s not found", name)
}

// position reads a decimal number that fits an int.
func position(s string) (int, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
