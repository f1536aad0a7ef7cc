package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// stringFormat is string.format as in Lua 5.1, with two additions: %s takes any value, as tostring
// does, and numbers that are no integers, or too large ones, are refused by the formats of integers.
func stringFormat(r *run, L *lua.LState) (int, error) {
	format, err := textOperand(L, 1, "format")
	if err != nil {
		return 0, err
	}
	f := formatter{paid: paid{r: r}, L: L, next: 2}
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			i = len(format)
		}
		if err := f.write(format[:i]); err != nil {
			return 0, err
		}
		if format = format[i:]; format == "" {
			break
		}
		if format, err = f.item(format[1:]); err != nil {
			return 0, err
		}
	}
	L.Push(lua.LString(f.String()))
	return 1, nil
}

type formatter struct {
	paid
	L    *lua.LState
	next int // operand
}

// spec is what stands between % and the letter.
type spec struct {
	left, plus, blank, alternate, zeros bool
	width                               int
	precision                           int // -1: not given
}

// item writes what the text after a % asks for, and returns what follows it.
func (f *formatter) item(s string) (rest string, err error) {
	if strings.HasPrefix(s, "%") {
		return s[1:], f.write("%")
	}
	spec, s, err := readSpec(s)
	if err != nil {
		return "", err
	}
	if s == "" {
		return "", fmt.Errorf("invalid option '%%' to 'format'")
	}
	if err := f.r.charge(formatFuel, formatBytes); err != nil {
		return "", err
	}
	n := f.next
	f.next++
	verb := s[0]
	var text string
	switch verb {
	case 'c':
		c, err := intOperand(f.r, f.L, n, "format")
		if err != nil {
			return "", err
		}
		text = spec.pad(string([]byte{byte(c)}))
	case 'd', 'i', 'o', 'u', 'x', 'X':
		i, err := f.integer(n)
		if err != nil {
			return "", err
		}
		text = spec.integer(verb, i)
	case 'e', 'E', 'f', 'g', 'G':
		x, err := numberOperand(f.r, f.L, n, "format")
		if err != nil {
			return "", err
		}
		if spec.precision > exactDigits || math.Abs(x) >= 1e15 && verb == 'f' {
			if err := f.r.charge(longFloatFuel, longFloatBytes); err != nil {
				return "", err
			}
		}
		text = spec.float(verb, x)
	case 'q':
		return s[1:], f.quote(n)
	case 's':
		if n > f.L.GetTop() {
			return "", wrongType(f.L, n, "format", "string")
		}
		v, err := f.r.text(f.L, f.L.Get(n))
		if err != nil {
			return "", err
		}
		if spec.precision >= 0 && len(v) > spec.precision {
			v = v[:spec.precision]
		}
		text = spec.pad(v)
	default:
		return "", fmt.Errorf("invalid option '%%%s' to 'format'", visible(verb))
	}
	return s[1:], f.write(text)
}

const (
	formatFuel  = 8   // one item
	formatBytes = 256 // what it makes on the way

	// What a float costs beside that, which is written with all of its digits.
	exactDigits    = 15
	longFloatFuel  = 400
	longFloatBytes = 2 << 10
)

// visible is a byte as it can stand in a message.
func visible(c byte) string {
	if c < ' ' || c > '~' {
		return fmt.Sprintf("\\%d", c)
	}
	return string(rune(c))
}

func readSpec(s string) (spec, string, error) {
	out := spec{precision: -1}
	i := 0
	for ; i < len(s); i++ {
		flag := true
		switch s[i] {
		case '-':
			out.left = true
		case '+':
			out.plus = true
		case ' ':
			out.blank = true
		case '#':
			out.alternate = true
		case '0':
			out.zeros = true
		default:
			flag = false
		}
		if !flag {
			break
		}
		if i == 5 {
			return spec{}, "", fmt.Errorf("invalid format (repeated flags)")
		}
	}
	s = s[i:]
	width, s := twoDigits(s)
	out.width = max(width, 0)
	if strings.HasPrefix(s, ".") {
		out.precision, s = twoDigits(s[1:])
		out.precision = max(out.precision, 0)
	}
	if s != "" && '0' <= s[0] && s[0] <= '9' {
		return spec{}, "", fmt.Errorf("invalid format (width or precision too long)")
	}
	return out, s, nil
}

// twoDigits reads a number of at most two digits, -1 if there is none.
func twoDigits(s string) (int, string) {
	n, i := -1, 0
	for ; i < min(len(s), 2) && '0' <= s[i] && s[i] <= '9'; i++ {
		n = max(n, 0)*10 + int(s[i]-'0')
	}
	return n, s[i:]
}

// pad fills a text up to the width with blanks.
func (s spec) pad(text string) string {
	fill := s.width - len(text)
	switch {
	case fill <= 0:
		return text
	case s.left:
		return text + strings.Repeat(" ", fill)
	}
	return strings.Repeat(" ", fill) + text
}

// number puts a sign, a prefix and digits together; zeros says that the width may be filled with them.
func (s spec) number(negative bool, prefix, digits string, zeros bool) string {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case s.plus:
		sign = "+"
	case s.blank:
		sign = " "
	}
	sign += prefix
	if fill := s.width - len(sign) - len(digits); zeros && s.zeros && !s.left && fill > 0 {
		sign += strings.Repeat("0", fill)
	}
	return s.pad(sign + digits)
}

// integer reads an operand and cuts it to an integer.
func (f *formatter) integer(n int) (int64, error) {
	x, err := numberOperand(f.r, f.L, n, "format")
	if err != nil {
		return 0, err
	}
	if x = math.Trunc(x); !(x >= -1<<63 && x < 1<<63) {
		return 0, badArgument(n, "format", "number has no integer representation")
	}
	return int64(x), nil
}

// integer writes i; those with a base of their own have no sign.
func (s spec) integer(verb byte, i int64) string {
	negative, prefix, base := false, "", 10
	u := uint64(i)
	switch verb {
	case 'd', 'i':
		if negative = i < 0; negative {
			u = -u
		}
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
		if s.alternate && u != 0 {
			prefix = "0x"
		}
	}
	if verb != 'd' && verb != 'i' {
		s.plus, s.blank = false, false
	}
	digits := strconv.FormatUint(u, base)
	if s.precision == 0 && u == 0 {
		digits = ""
	}
	if fill := s.precision - len(digits); fill > 0 {
		digits = strings.Repeat("0", fill) + digits
	}
	if verb == 'o' && s.alternate && !strings.HasPrefix(digits, "0") {
		digits = "0" + digits
	}
	if verb == 'X' {
		prefix, digits = strings.ToUpper(prefix), strings.ToUpper(digits)
	}
	return s.number(negative, prefix, digits, s.precision < 0)
}

func (s spec) float(verb byte, x float64) string {
	negative := math.Signbit(x)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		text := "nan"
		if math.IsInf(x, 0) {
			text = "inf"
		} else {
			negative = false // machines differ in the sign of what is no number
		}
		if verb < 'a' {
			text = strings.ToUpper(text)
		}
		return s.number(negative, "", text, false)
	}
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	x = math.Abs(x)
	if s.alternate {
		return s.number(negative, "", withPoint(verb, precision, x), true)
	}
	return s.number(negative, "", strconv.FormatFloat(x, verb, precision, 64), true)
}

// withPoint writes a float as # wants it: there is always a point, and %g keeps zeros at the end.
func withPoint(verb byte, precision int, x float64) string {
	return fmt.Sprintf("%#.*"+string(rune(verb)), precision, x)
}

// quote writes text so that Lua reads it as the same.
func (f *formatter) quote(n int) error {
	s, err := textOperand(f.L, n, "format")
	if err != nil {
		return err
	}
	if err := f.r.charge(int64(len(s))/bytesPerFuel, int64(len(s))); err != nil {
		return err
	}
	if err := f.write(`"`); err != nil {
		return err
	}
	from := 0
	for i := range len(s) {
		escaped := ""
		switch s[i] {
		case '"', '\\', '\n':
			escaped = "\\" + s[i:i+1]
		case '\r':
			escaped = `\r`
		case 0:
			escaped = `\000`
		default:
			continue
		}
		if err := f.write(s[from:i]); err != nil {
			return err
		}
		if err := f.write(escaped); err != nil {
			return err
		}
		from = i + 1
	}
	if err := f.write(s[from:]); err != nil {
		return err
	}
	return f.write(`"`)
}
