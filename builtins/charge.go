package builtins

import (
	"fmt"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// What the shared builtins charge by. They are part of the schedule: a change of one of them counts
// [meter.Schedule] up.
const (
	callFuel    = 4  // of any call
	callBytes   = 16 // of any call
	readPerFuel = 16 // bytes of text read once, for one unit of fuel
	itemFuel    = 4  // of a value that is read or made
	itemBytes   = 80 // of a value that is made, beside its text
)

// charge is the cost of reading so many bytes and making so many values with so many bytes of text.
func charge(read, items, text int64) meter.Cost {
	return meter.Cost{
		Fuel:  callFuel + read/readPerFuel + meter.Mul(items, itemFuel),
		Bytes: callBytes + text + meter.Mul(items, itemBytes),
	}
}

func plus(a, b meter.Cost) meter.Cost {
	return meter.Cost{Fuel: a.Fuel + b.Fuel, Bytes: a.Bytes + b.Bytes}
}

// reads is the charge of most builtins: they read their texts a few times and return one value that
// is no longer than factor times all of them.
func reads(passes, factor int64) Charge {
	return func(args []payload.Value) meter.Cost {
		items, text := sizes(args)
		return charge(meter.Mul(text, passes), items, meter.Mul(text, factor))
	}
}

// sizes counts the values of args, those in lists included, and the bytes of their texts.
func sizes(args []payload.Value) (items, text int64) {
	for _, a := range args {
		items++
		text += int64(a.TextLen())
		for kid := range a.Items() {
			items++
			text += int64(kid.TextLen())
		}
	}
	return items, text
}

// Parameters, by kind.

func textParam(name string) Param { return Param{name, payload.String, false} }
func listParam(name string) Param { return Param{name, payload.Array, false} }
func limitParam() Param           { return Param{"limit", payload.Number, true} }

// texts returns a list's strings, and refuses a list that holds anything else.
func texts(list payload.Value, name string) ([]string, error) {
	out := make([]string, 0, list.Len())
	for item := range list.Items() {
		if item.Kind() != payload.String {
			return nil, fmt.Errorf("item %d of %s is %s, want string", len(out), name, item.Kind())
		}
		out = append(out, item.Text())
	}
	return out, nil
}

// unlimited is what an absent limit means.
const unlimited = -1

// limit reads an optional count from 1 up.
func limit(v payload.Value) (int, error) {
	if !v.Exists() {
		return unlimited, nil
	}
	n, ok := v.Int64()
	if !ok || n < 1 || n > 1<<31-1 {
		return 0, fmt.Errorf("limit is %s, want an integer from 1 up", v)
	}
	return int(n), nil
}

// atMost lowers a bound to the limit in v, if there is a valid one; an invalid one fails in the body.
func atMost(bound int64, v payload.Value) int64 {
	if n, err := limit(v); err == nil && n != unlimited {
		return min(bound, int64(n))
	}
	return bound
}
