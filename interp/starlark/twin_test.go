package starlark

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/hookpoints/payload"
)

// twin is what encoding/json says of a value that a script has: of a view, of a dict or list that it
// made, of a scalar. It knows nothing of payload trees.
type twin struct {
	kind payload.Kind
	src  string // the text it came as, "" if it was made; of numbers and what is no string or container, always
	text string // of a string
	own  bool   // a dict or list of the script, not a view
	keys []string
	kids []*twin
	read bool // keys and kids are there
}

// twinOf reads text that encoding/json takes.
func twinOf(src string) *twin {
	t := &twin{src: src}
	switch src[0] {
	case '{':
		t.kind = payload.Object
	case '[':
		t.kind = payload.Array
	case '"':
		t.kind = payload.String
		if err := json.Unmarshal([]byte(src), &t.text); err != nil {
			panic(err)
		}
	case 't', 'f':
		t.kind = payload.Bool
	case 'n':
		t.kind = payload.Null
	default:
		t.kind = payload.Number
	}
	return t
}

func (t *twin) level() *twin {
	if t.read || t.src == "" || !t.container() {
		return t
	}
	t.read = true
	dec := json.NewDecoder(strings.NewReader(t.src))
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	_, err := dec.Token()
	must(err)
	for dec.More() {
		if t.kind == payload.Object {
			key, err := dec.Token()
			must(err)
			t.keys = append(t.keys, key.(string))
		}
		var raw json.RawMessage
		must(dec.Decode(&raw))
		t.kids = append(t.kids, twinOf(string(raw)))
	}
	return t
}

func (t *twin) container() bool { return t.kind&(payload.Object|payload.Array) != 0 }

func textTwin(s string) *twin { return &twin{kind: payload.String, text: s} }
func intTwin(i int) *twin     { return &twin{kind: payload.Number, src: strconv.Itoa(i)} }
func boolTwin(b bool) *twin   { return &twin{kind: payload.Bool, src: strconv.FormatBool(b)} }
func nullTwin() *twin         { return &twin{kind: payload.Null, src: "null"} }
func arrayTwin(own bool, kids ...*twin) *twin {
	return &twin{kind: payload.Array, own: own, kids: kids, read: true}
}
func objectTwin(own bool) *twin { return &twin{kind: payload.Object, own: own, read: true} }

// set is t[key] = v.
func (t *twin) set(key string, v *twin) {
	if i := slices.Index(t.keys, key); i >= 0 {
		t.kids[i] = v
		return
	}
	t.keys, t.kids = append(t.keys, key), append(t.kids, v)
}

func (t *twin) drop(key string) {
	if i := slices.Index(t.level().keys, key); i >= 0 {
		t.keys, t.kids = slices.Delete(t.keys, i, i+1), slices.Delete(t.kids, i, i+1)
	}
}

func (t *twin) get(key string) *twin {
	if i := slices.Index(t.level().keys, key); i >= 0 {
		return t.kids[i]
	}
	return nil
}

// json is the text of t, source text where there is any.
func (t *twin) json() string {
	switch {
	case t.src != "":
		return t.src
	case t.kind == payload.String:
		return quoted(t.text)
	}
	var parts []string
	for i, kid := range t.kids {
		part := kid.json()
		if t.kind == payload.Object {
			part = quoted(t.keys[i]) + ":" + part
		}
		parts = append(parts, part)
	}
	if t.kind == payload.Object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quoted(s string) string {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (t *twin) compact() string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(t.json())); err != nil {
		panic(err)
	}
	return b.String()
}

// shown is t as a value of the script: numbers are ints, floats or neither, text is text.
func (t *twin) shown() *twin {
	switch t.kind {
	case payload.String:
		return textTwin(t.text)
	case payload.Number:
		n, f, kind := t.number()
		switch kind {
		case "int":
			return &twin{kind: payload.Number, src: n.String()}
		case "float":
			return &twin{kind: payload.Number, src: starlark.Float(f).String()}
		}
	}
	return t
}

// number reads a number as a script has it: a whole number of up to 400 digits, a float, or neither.
func (t *twin) number() (n *big.Int, f float64, kind string) {
	if !strings.ContainsAny(t.src, ".eE") {
		if n, ok := new(big.Int).SetString(t.src, 10); ok && len(strings.TrimPrefix(t.src, "-")) <= 400 {
			return n, 0, "int"
		}
		return nil, 0, "number"
	}
	if f, err := json.Number(t.src).Float64(); err == nil {
		return nil, f, "float"
	}
	return nil, 0, "number"
}

// frozen is the tree that a value of the script becomes, apart from it.
func (t *twin) frozen() *twin {
	if !t.own {
		return t
	}
	out := &twin{kind: t.kind, keys: slices.Clone(t.keys), read: true}
	for _, kid := range t.kids {
		out.kids = append(out.kids, kid.frozen())
	}
	return out
}

// with is t | fields of other, as trees.
func (t *twin) with(other *twin) *twin {
	out := &twin{kind: payload.Object, keys: slices.Clone(t.level().keys), kids: slices.Clone(t.kids), read: true}
	for i, key := range other.level().keys {
		out.set(key, other.kids[i].frozen())
	}
	return out
}

// copied is list(t) or dict(t).
func (t *twin) copied() *twin {
	out := &twin{kind: t.kind, own: true, keys: slices.Clone(t.level().keys), read: true}
	for _, kid := range t.kids {
		out.kids = append(out.kids, kid.shown())
	}
	return out
}

// equals is ==.
func (t *twin) equals(u *twin) bool {
	if t.kind != u.kind {
		return false
	}
	switch t.kind {
	case payload.String:
		return t.text == u.text
	case payload.Number:
		return equalNumbers(t, u)
	case payload.Array, payload.Object:
		if len(t.level().kids) != len(u.level().kids) {
			return false
		}
		for i, kid := range t.kids {
			other := u.kids[i]
			if t.kind == payload.Object {
				other = u.get(t.keys[i])
			}
			if other == nil || !kid.equals(other) {
				return false
			}
		}
		return true
	}
	return t.src == u.src
}

func equalNumbers(t, u *twin) bool {
	n, f, kind := t.number()
	m, g, other := u.number()
	if kind == "number" || other == "number" {
		return kind == other && t.src == u.src
	}
	exact := func(n *big.Int, f float64) *big.Rat {
		if n != nil {
			return new(big.Rat).SetInt(n)
		}
		return new(big.Rat).SetFloat64(f)
	}
	return exact(n, f).Cmp(exact(m, g)) == 0
}

// repr is how the script prints t.
func (t *twin) repr() string {
	switch t.kind {
	case payload.Null:
		return "None"
	case payload.Bool:
		return map[string]string{"true": "True", "false": "False"}[t.src]
	case payload.Number:
		return t.shown().src
	case payload.String:
		return syntax.Quote(t.text, false)
	}
	var parts []string
	for i, kid := range t.level().kids {
		part := kid.repr()
		if t.kind == payload.Object {
			part = syntax.Quote(t.keys[i], false) + ": " + part
		}
		parts = append(parts, part)
	}
	if t.kind == payload.Object {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// truth is bool(t).
func (t *twin) truth() bool {
	switch t.kind {
	case payload.Null:
		return false
	case payload.Bool:
		return t.src == "true"
	case payload.String:
		return t.text != ""
	case payload.Number:
		n, f, kind := t.number()
		return kind == "number" || kind == "int" && n.Sign() != 0 || kind == "float" && f != 0
	}
	return len(t.level().kids) > 0
}

// typ is type(t).
func (t *twin) typ() string {
	switch t.kind {
	case payload.Null:
		return "NoneType"
	case payload.Bool:
		return "bool"
	case payload.String:
		return "string"
	case payload.Array:
		return "list"
	case payload.Object:
		return "dict"
	}
	_, _, kind := t.number()
	return kind
}
