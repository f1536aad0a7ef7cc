package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Message is what a client's hook was given, read.
type Message struct {
	Value payload.Value // an object
	Event string        // its name as the client spells it, also where the rest couldn't be read; "" if it isn't said
	// Repaired: half characters (what JavaScript leaves where it cuts a text) were replaced as the client
	// itself does when it sends the text on.
	Repaired bool
}

// errTwice is for a field that comes twice. Which of the two the client goes by can't be known, and no
// guard may see another value than the one that runs.
var errTwice = errors.New("a field comes twice, and nobody knows which one counts")

// Read reads what a client wrote: one JSON object, maybe behind a byte-order mark, maybe in UTF-16, and
// maybe written as a JSON string once more. Text that isn't one object, and fields that come twice
// anywhere in it, are refused; the message then has the event's name if that can be made out.
func Read(stdin []byte) (Message, error) {
	if len(stdin) > hookpoints.MaxPayload {
		return Message{Event: glimpse(stdin)}, fmt.Errorf("it has %d bytes, at most %d are allowed", len(stdin), hookpoints.MaxPayload)
	}
	var m Message
	stdin, m.Repaired = plainText(stdin)
	v, err := payload.Parse(stdin)
	if err != nil {
		if whole, ok := repaired(stdin); ok {
			v, err = payload.Parse(whole)
			m.Repaired = m.Repaired || err == nil
		}
	}
	if err == nil && v.Kind() == payload.String { // some clients encode twice
		v, err = payload.ParseString(v.Text())
	}
	switch {
	case err != nil:
		m.Event = glimpse(stdin)
		return m, err
	case v.Kind() != payload.Object:
		return m, fmt.Errorf("%w: it is %s, want an object", payload.ErrNotJSON, v.Kind())
	}
	m.Value = v
	for _, name := range eventFields {
		if m.Event = said(v, name); m.Event != "" {
			break
		}
	}
	return m, nil
}

// eventFields are the names under which clients say what their event is.
var eventFields = []string{"hook_event_name", "hookEventName", "event", "hookName", "agent_action_name"}

// plainText is text without a byte-order mark, as UTF-8. Half characters are replaced; repaired says so.
func plainText(text []byte) (plain []byte, repaired bool) {
	switch {
	case bytes.HasPrefix(text, []byte{0xEF, 0xBB, 0xBF}):
		return text[3:], false
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}), bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		high := 1
		if text[0] == 0xFE {
			high = 0
		}
		var units []uint16
		for i := 2; i+1 < len(text); i += 2 {
			units = append(units, uint16(text[i+high])<<8|uint16(text[i+1-high]))
		}
		whole := utf16.Decode(units)
		return []byte(string(whole)), len(text)%2 != 0 || !slices.Equal(utf16.Encode(whole), units)
	}
	return text, false
}

// repaired replaces lone surrogates, written as escapes, by the character that stands for what can't be
// read. It is what encoders of UTF-8 do with them. Bytes that aren't UTF-8 are nobody's text and stay.
func repaired(text []byte) ([]byte, bool) {
	if !utf8.Valid(text) || !bytes.Contains(text, []byte(`\u`)) {
		return nil, false
	}
	out, changed := make([]byte, 0, len(text)), false
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			out = append(out, text[i])
			continue
		}
		r, ok := escaped(text[i:])
		if !ok {
			out = append(out, text[i], text[i+1])
			i++
			continue
		}
		if utf16.IsSurrogate(r) {
			if low, ok := escaped(text[min(len(text), i+6):]); ok && utf16.DecodeRune(r, low) != unicode.ReplacementChar {
				out = append(out, text[i:i+12]...)
				i += 11
				continue
			}
			out, changed = append(out, `\ufffd`...), true
			i += 5
			continue
		}
		out = append(out, text[i:i+6]...)
		i += 5
	}
	return out, changed
}

// escaped is the code unit of the \uXXXX that text begins with.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// glimpse looks for the event's name at the top of a text that can't be read as a whole, so that the
// refusal can be said in the right words. It decides nothing: a name that comes twice with two values
// isn't one.
func glimpse(text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	found := ""
	for {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return found
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return found
		}
		for _, want := range eventFields {
			var s string
			if name == want && json.Unmarshal(value, &s) == nil {
				if found != "" && found != s {
					return ""
				}
				found = s
			}
		}
	}
}

// pick is the first of several spellings of a field that is there. If two are there and differ it fails.
func pick(v payload.Value, spellings ...string) (payload.Value, error) {
	var found payload.Value
	for _, name := range spellings {
		f := v.Get(name)
		if !f.Exists() {
			continue
		}
		if found.Exists() && found.String() != f.String() {
			return payload.Value{}, fmt.Errorf("%w: as %v", errTwice, spellings)
		}
		if !found.Exists() {
			found = f
		}
	}
	return found, nil
}

// unwrapped is a value that some versions of a client write as JSON in a string. A string that isn't JSON
// is what it is.
func unwrapped(v payload.Value) (payload.Value, error) {
	if v.Kind() != payload.String {
		return v, nil
	}
	inner := bytes.TrimLeft([]byte(v.Text()), " \t\r\n")
	if len(inner) == 0 || inner[0] != '{' && inner[0] != '[' {
		return v, nil
	}
	got, err := payload.Parse(inner)
	if err != nil {
		return payload.Value{}, fmt.Errorf("the JSON in a string: %w", err)
	}
	return got, nil
}

// arguments is a tool's input: an object, or one written as a string. What is missing is no object.
func arguments(v payload.Value, spellings ...string) (payload.Value, error) {
	in, err := pick(v, spellings...)
	if err != nil {
		return payload.Value{}, err
	}
	if in, err = unwrapped(in); err != nil {
		return payload.Value{}, err
	}
	if in.Kind() != payload.Object {
		return payload.Value{}, fmt.Errorf("%s is no object", spellings[0])
	}
	return in, nil
}

// nothing reports whether a field is null or missing, in every spelling.
func nothing(v payload.Value, spellings ...string) bool {
	for _, name := range spellings {
		if f := v.Get(name); f.Exists() && f.Kind() != payload.Null {
			return false
		}
	}
	return true
}

// said is the first of several spellings of a field that is a text; anything else is as if it weren't there.
func said(v payload.Value, spellings ...string) string {
	for _, name := range spellings {
		if f := v.Get(name); f.Kind() == payload.String {
			return f.Text()
		}
	}
	return ""
}

// texted is a field if it is a text, else absent.
func texted(v payload.Value, spellings ...string) payload.Value {
	for _, name := range spellings {
		if f := v.Get(name); f.Kind() == payload.String {
			return f
		}
	}
	return payload.Value{}
}

// plain is a value as a text.
func plain(v payload.Value) string {
	if v.Kind() == payload.String {
		return v.Text()
	}
	return v.String()
}
