package payload_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

// writer draws JSON text the way people and programs write it: any space, any escape, any number form.
type writer struct {
	t *rapid.T
	b strings.Builder
}

func jsonText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		w := &writer{t: t}
		w.space()
		w.value(depth)
		w.space()
		return w.b.String()
	})
}

func (w *writer) space() {
	w.b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r\n  "}).Draw(w.t, "space"))
}

func (w *writer) value(depth int) {
	kinds := []string{"null", "bool", "number", "string", "array", "object", "object"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	switch rapid.SampledFrom(kinds).Draw(w.t, "kind") {
	case "null":
		w.b.WriteString("null")
	case "bool":
		w.b.WriteString(rapid.SampledFrom([]string{"true", "false"}).Draw(w.t, "bool"))
	case "number":
		w.b.WriteString(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,3})?`).Draw(w.t, "number"))
	case "string":
		w.string(text().Draw(w.t, "text"))
	case "array":
		w.items('[', ']', func(int) { w.value(depth - 1) })
	case "object":
		seen := map[string]bool{}
		w.items('{', '}', func(i int) {
			name := text().Draw(w.t, "name")
			if seen[name] {
				name = fmt.Sprint(name, "#", i)
			}
			seen[name] = true
			w.string(name)
			w.space()
			w.b.WriteByte(':')
			w.space()
			w.value(depth - 1)
		})
	}
}

func (w *writer) items(open, shut byte, item func(int)) {
	w.b.WriteByte(open)
	w.space()
	for i := range rapid.IntRange(0, 12).Draw(w.t, "items") {
		if i > 0 {
			w.b.WriteByte(',')
			w.space()
		}
		item(i)
		w.space()
	}
	w.b.WriteByte(shut)
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "a", "role", "{", "]", `"`, `\`, `\"`, "\n", "é", "€", "😀", "\u2028", "</b>"}), rapid.StringN(0, 8, 32))
}

func (w *writer) string(s string) {
	w.b.WriteByte('"')
	for _, r := range s {
		escape := r < ' ' || r == '"' || r == '\\' || rapid.IntRange(0, 9).Draw(w.t, "escape") == 0
		switch {
		case escape && r == '\n':
			w.b.WriteString(`\n`)
		case escape && (r == '"' || r == '\\' || r == '/'):
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case escape && r > 0xFFFF:
			fmt.Fprintf(&w.b, `\u%04x\u%04X`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		case escape:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

// same holds a Value against what encoding/json reads from the same text, member by member in order.
func same(v payload.Value, dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch tok := tok.(type) {
	case nil:
		return expect(v, payload.Null, "", v.Kind() == payload.Null)
	case bool:
		return expect(v, payload.Bool, fmt.Sprint(tok), v.IsTrue() == tok)
	case json.Number:
		return expect(v, payload.Number, tok.String(), true)
	case string:
		return expect(v, payload.String, tok, v.TextLen() == len(tok))
	case json.Delim:
		return sameLevel(v, tok, dec)
	}
	return fmt.Errorf("token %v", tok)
}

func expect(v payload.Value, k payload.Kind, text string, also bool) error {
	if v.Kind() != k || v.Text() != text || !also || v.Len() != 0 {
		return fmt.Errorf("%s %q (%s), want %s %q", v.Kind(), v.Text(), v.JSON(), k, text)
	}
	return nil
}

func sameLevel(v payload.Value, open json.Delim, dec *json.Decoder) error {
	n := 0
	for ; dec.More(); n++ {
		if n >= v.Len() {
			return fmt.Errorf("%s has %d members, there are more", v.JSON(), v.Len())
		}
		kid := v.At(n)
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if name != v.Key(n) || v.Get(v.Key(n)) != kid {
				return fmt.Errorf("member %d of %s is %q, want %q", n, v.JSON(), v.Key(n), name)
			}
		}
		if err := same(kid, dec); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil && err != io.EOF {
		return err
	}
	want := payload.Array
	if open == '{' {
		want = payload.Object
	}
	if v.Kind() != want || v.Len() != n {
		return fmt.Errorf("%s: kind %s with %d members, want %s with %d", v.JSON(), v.Kind(), v.Len(), want, n)
	}
	return nil
}

func decoder(text []byte) *json.Decoder {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec
}

// acceptable says by other means whether Parse has to take a text: JSON, whole Unicode, unique names,
// not too deep.
func acceptable(text []byte) bool {
	return json.Valid(text) && utf8.Valid(text) && !loneSurrogate(text) && uniqueAndShallow(decoder(text), payload.MaxDepth) == nil
}

// loneSurrogate looks at the \u escapes of valid JSON.
func loneSurrogate(text []byte) bool {
	var high bool
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		low := false
		if text[i] == 'u' {
			var r rune
			fmt.Sscanf(string(text[i+1:i+5]), "%04x", &r)
			i += 4
			if 0xD800 <= r && r < 0xDC00 {
				if high {
					return true
				}
				high = true
				continue
			}
			low = 0xDC00 <= r && r < 0xE000
		}
		if low != high {
			return true
		}
		high = false
	}
	return false
}

func uniqueAndShallow(dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("too deep")
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if seen[name.(string)] {
				return fmt.Errorf("twice: %v", name)
			}
			seen[name.(string)] = true
		}
		if err := uniqueAndShallow(dec, depth-1); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
