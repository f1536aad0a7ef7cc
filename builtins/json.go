package builtins

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

func jsonModule() []*Func {
	return []*Func{
		New("json.decode", "Reads JSON text; duplicate keys, lone surrogates and nesting beyond 256 levels are refused.",
			[]Param{textParam("text")}, decodeCharge,
			func(a []payload.Value) (payload.Value, error) { return payload.ParseString(a[0].Text()) }),
		New("json.encode", "Writes a value as compact JSON text, numbers as they came and keys in their order.",
			[]Param{{"value", 0, false}}, encodeCharge, jsonEncode),
	}
}

// decodeCharge pays for the check, for the text that the tree keeps, and for looking through its levels
// when they are first read. What the script then reads is charged where it reads.
func decodeCharge(args []payload.Value) meter.Cost {
	n := int64(args[0].TextLen())
	levels, values := nodes(args[0].Text())
	c := charge(meter.Mul(n, 7), 1, meter.Mul(n, 2)+meter.Mul(values, nodeBytes))
	c.Fuel += levels * levelFuel
	return c
}

const (
	levelFuel = 16 // of the first look into an object or array
	nodeBytes = 96 // of what is known of a value then
)

// nodes counts the objects and arrays of a JSON text, and at least all its values.
func nodes(text string) (levels, values int64) {
	values = 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			levels++
			values++
		case ',':
			values++
		}
	}
	return levels, values
}

// encodeCharge knows the length exactly: a tree that is still source text knows its own, and the
// nodes of a built one were paid for when they were made.
func encodeCharge(args []payload.Value) meter.Cost {
	n := int64(args[0].Size())
	return charge(meter.Mul(n, 4), 1, meter.Mul(n, 2))
}

func jsonEncode(args []payload.Value) (payload.Value, error) {
	text := jsontext.Value(args[0].JSON())
	if err := text.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
		return payload.Value{}, fmt.Errorf("the value can't be written: %w", err)
	}
	return payload.NewString(string(text)), nil
}
