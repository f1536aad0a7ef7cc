package secret

import "agentd/hookpoints/payload"

// Map changes all texts of a value: strings, the text of numbers, and the names of members. What
// doesn't change is shared with in.
func Map(in payload.Value, change func(string) string) payload.Value {
	out, _ := mapped(in, change)
	return out
}

func mapped(in payload.Value, change func(string) string) (payload.Value, bool) {
	switch in.Kind() {
	case payload.String, payload.Number:
		was := in.Text()
		if now := change(was); now != was {
			return payload.NewString(now), true
		}
	case payload.Array:
		items, anew := make([]payload.Value, 0, in.Len()), false
		for item := range in.Items() {
			now, changed := mapped(item, change)
			items, anew = append(items, now), anew || changed
		}
		if anew {
			return payload.NewArray(items), true
		}
	case payload.Object:
		var fields []payload.Field
		anew, taken := false, map[string]bool{}
		for name, m := range in.Members() {
			now, changed := mapped(m, change)
			key := change(name)
			anew = anew || changed || key != name
			for taken[key] { // two names that were told apart by a secret only
				key += "_"
			}
			taken[key] = true
			fields = append(fields, payload.Field{Name: key, Value: now})
		}
		if anew {
			return payload.NewObject(fields...), true
		}
	}
	return in, false
}
