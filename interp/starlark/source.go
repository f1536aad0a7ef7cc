package starlark

import (
	"fmt"

	"agentd/builtins/meter"
)

// What a file costs to parse, rewrite and compile, at worst.
const (
	fileFuel    = 256
	byteFuel    = 2 // bytes of text for one unit of fuel
	tokenFuel   = 16
	tokenBytes  = 640
	sourceBytes = 4 // of a byte of text
)

// sourceLimits bound what the files of one load cost to compile: that of one as long and as dense as it
// may be. It isn't taken from the budget of what they do while they load.
var sourceLimits = meter.Limits{Fuel: 8 << 20, Bytes: 256 << 20}

var errSource = fmt.Errorf("the file and its modules are more than may be compiled; that is bounded by %d units of fuel and %d bytes of memory", sourceLimits.Fuel, sourceLimits.Bytes)

// paySource pays for a file before it is parsed.
func (l *loading) paySource(text []byte) error {
	if l.source.Charge(SourceCost(text)) != nil {
		return errSource
	}
	return nil
}

// SourceCost is the cost of compiling a file, known from its length and its tokens.
func SourceCost(text []byte) meter.Cost {
	n, t := int64(len(text)), tokens(text)
	return meter.Cost{Fuel: fileFuel + n/byteFuel + t*tokenFuel, Bytes: n*sourceBytes + t*tokenBytes}
}

// tokens is at least how many tokens a text has, but for those in strings that don't end.
func tokens(text []byte) int64 {
	n := int64(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\r':
		case c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			i = stringEnd(text, i) - 1
			n++
		case wordByte(c):
			for i+1 < len(text) && wordByte(text[i+1]) {
				i++
			}
			n++
		default:
			n++
		}
	}
	return n
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
