package operation

import (
	"fmt"

	"agentd/hookpoints/payload"
)

// Peek reads one member of a value of a row, and of the large values only those that this member
// holds: the arguments of a call without its conversation. It is absent if either isn't there.
func Peek(body []byte, value, member string, fetch Fetch) (payload.Value, error) {
	v, err := payload.Parse(body)
	if err != nil {
		return payload.Value{}, err
	}
	packed := v.Get(value)
	for m := range packed.Get("o").Items() {
		if m.Len() == 2 && m.At(0).Text() == member {
			return unpack(m.At(1), fetch)
		}
	}
	if !packed.Exists() || packed.Get("o").Exists() {
		return payload.Value{}, nil
	}
	whole, err := unpack(packed, fetch)
	if err != nil {
		return payload.Value{}, fmt.Errorf("member %q: %w", value, err)
	}
	return whole.Get(member), nil
}
