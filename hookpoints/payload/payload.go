// Package payload is the JSON tree that hooks look at: immutable, lazily indexed one level at a
// time, with document order and number text kept as they came.
//
// A [Value] made by [Parse] holds the source text; a level of it is indexed when it is first
// touched, and never again, however many hooks share the tree. A Value made by the New functions
// or by [Value.With] shares the nodes that it was made of, so a patch re-encodes only the fields
// it names.
//
// Values may be read by several goroutines: a level that two of them index at once is indexed
// twice and published once.
package payload

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"
)

// Kind is the JSON type of a Value.
type Kind uint8

// The kinds are bits, so that a contract can name several.
const (
	Null Kind = 1 << iota
	Bool
	Number
	String
	Array
	Object
)

// Any is every kind.
const Any = Null | Bool | Number | String | Array | Object

var kindNames = map[Kind]string{Null: "null", Bool: "boolean", Number: "number", String: "string", Array: "array", Object: "object"}

// String names the kinds as JSON Schema does, joined by "or".
func (k Kind) String() string {
	out := ""
	for bit := Null; bit <= Object; bit <<= 1 {
		if k&bit == 0 {
			continue
		}
		if out != "" {
			out += " or "
		}
		out += kindNames[bit]
	}
	if out == "" {
		return "absent"
	}
	return out
}

// Value is one node. The zero Value is absent, which differs from null.
type Value struct{ n *node }

type node struct {
	kind  Kind
	depth int32                 // of source text: how deep it nests
	raw   []byte                // source text; nil in a node that was built
	text  string                // Go text of a built string
	long  *span                 // of source text: the container in it that is most of it, if it was worth finding
	count *Counter              // of the tree, nil if nobody counts
	lvl   atomic.Pointer[level] // of a string with escapes, its only key is its text
}

// level is the index of one object or array.
type level struct {
	keys []string // nil for arrays
	kids []Value
	at   map[string]int // only above linearKeys members

	// What was measured of a built node, so that nodes which share their kids are cheap to measure
	// again; 0 until then.
	size  atomic.Int64
	depth atomic.Int32
}

// linearKeys is the largest object whose members are found by walking.
const linearKeys = 8

// Field is one member of an object.
type Field struct {
	Name  string
	Value Value
}

// NewString makes a string.
func NewString(s string) Value { return Value{&node{kind: String, text: s}} }

// NewInt makes a number.
func NewInt(i int64) Value { return Value{&node{kind: Number, raw: strconv.AppendInt(nil, i, 10)}} }

// NewNumber makes a number that keeps its text, which must be JSON number text.
func NewNumber(text string) Value { return Value{&node{kind: Number, raw: []byte(text)}} }

var (
	nullValue  = Value{&node{kind: Null, raw: []byte("null")}}
	trueValue  = Value{&node{kind: Bool, raw: []byte("true")}}
	falseValue = Value{&node{kind: Bool, raw: []byte("false")}}
)

// NewBool returns true or false.
func NewBool(b bool) Value {
	if b {
		return trueValue
	}
	return falseValue
}

// NewNull returns null.
func NewNull() Value { return nullValue }

// NewArray makes an array of items, which it keeps. Absent items are not allowed.
func NewArray(items []Value) Value { return built(Array, &level{kids: items}) }

// NewStrings makes an array of strings.
func NewStrings(items []string) Value {
	kids := make([]Value, len(items))
	for i, s := range items {
		kids[i] = NewString(s)
	}
	return NewArray(kids)
}

// NewObject makes an object in the order given; names must be unique. Fields whose value is absent
// are left out.
func NewObject(fields ...Field) Value {
	l := &level{keys: make([]string, 0, len(fields)), kids: make([]Value, 0, len(fields))}
	for _, f := range fields {
		if f.Value.Exists() {
			l.keys, l.kids = append(l.keys, f.Name), append(l.kids, f.Value)
		}
	}
	return built(Object, l.index())
}

func built(k Kind, l *level) Value {
	n := &node{kind: k}
	n.lvl.Store(l)
	return Value{n}
}

func (l *level) index() *level {
	if len(l.keys) > linearKeys {
		l.at = make(map[string]int, len(l.keys))
		for i, k := range l.keys {
			l.at[k] = i
		}
	}
	return l
}

func (l *level) find(name string) int {
	if l.at != nil {
		if i, ok := l.at[name]; ok {
			return i
		}
		return -1
	}
	for i, k := range l.keys {
		if k == name {
			return i
		}
	}
	return -1
}

// Exists reports whether v is a value at all.
func (v Value) Exists() bool { return v.n != nil }

// Kind returns the kind, 0 when absent.
func (v Value) Kind() Kind {
	if v.n == nil {
		return 0
	}
	return v.n.kind
}

// Len is the number of members or items, 0 for anything else.
func (v Value) Len() int {
	if v.Kind()&(Array|Object) == 0 {
		return 0
	}
	return len(v.level().kids)
}

// Get returns a member of an object; absent if there is none, or v is no object.
func (v Value) Get(name string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	l := v.level()
	if i := l.find(name); i >= 0 {
		return l.kids[i]
	}
	return Value{}
}

// At returns the i-th item or member value. It panics out of range, like a slice.
func (v Value) At(i int) Value { return v.level().kids[i] }

// Key returns the name of the i-th member. It panics out of range, like a slice.
func (v Value) Key(i int) string { return v.level().keys[i] }

// Members walks an object in document order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		l := v.level()
		for i, k := range l.keys {
			if !yield(k, l.kids[i]) {
				return
			}
		}
	}
}

// Items walks an array.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for _, kid := range v.level().kids {
			if !yield(kid) {
				return
			}
		}
	}
}

// Text is the Go string of a string, the source text of a number or bool, and "" otherwise: a nullable
// string that is null reads as empty.
func (v Value) Text() string {
	switch {
	case v.Kind()&(String|Number|Bool) == 0:
		return ""
	case v.n.kind != String:
		return string(v.n.raw)
	case v.n.raw == nil:
		return v.n.text
	}
	return v.n.unquoted()
}

// unquoted is the text of a string literal. One with escapes is read once: that takes as long as
// reading a text of the script's own a hundred times.
func (n *node) unquoted() string {
	if l := n.lvl.Load(); l != nil {
		return l.keys[0]
	}
	if bytes.IndexByte(n.raw, '\\') < 0 {
		return string(n.raw[1 : len(n.raw)-1])
	}
	s := unquote(n.raw)
	n.lvl.CompareAndSwap(nil, &level{keys: []string{s}})
	return s
}

// Strings returns the texts of an array's strings; other items are left out.
func (v Value) Strings() []string {
	var out []string
	for item := range v.Items() {
		if item.Kind() == String {
			out = append(out, item.Text())
		}
	}
	return out
}

// IsTrue reports whether v is the boolean true.
func (v Value) IsTrue() bool { return v.Kind() == Bool && v.n.raw[0] == 't' }

// Int64 returns a number that is an integer in range.
func (v Value) Int64() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	i, err := strconv.ParseInt(string(v.n.raw), 10, 64)
	return i, err == nil
}

// Float64 returns the nearest float64 of a number; false if v is none or is out of range.
func (v Value) Float64() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.n.raw), 64)
	return f, err == nil
}

// With returns an object whose named members are replaced in place, or appended. Everything else
// is shared with v, neither copied nor encoded again. Of two fields of one name the later one wins;
// fields whose value is absent change nothing. What is no object counts as an empty one.
func (v Value) With(fields ...Field) Value {
	old := &level{}
	if v.Kind() == Object {
		old = v.level()
	}
	l := &level{keys: make([]string, len(old.keys), len(old.keys)+len(fields)), kids: make([]Value, len(old.kids), len(old.kids)+len(fields))}
	copy(l.keys, old.keys)
	copy(l.kids, old.kids)
	for j, f := range fields {
		if !f.Value.Exists() {
			continue
		}
		i := old.find(f.Name)
		if i < 0 && j > 0 {
			i = appended(l.keys, len(old.keys), f.Name)
		}
		if i >= 0 {
			l.kids[i] = f.Value
			continue
		}
		l.keys, l.kids = append(l.keys, f.Name), append(l.kids, f.Value)
	}
	return built(Object, l.index())
}

// appended finds a name among the keys from a place on, -1 if it isn't there.
func appended(keys []string, from int, name string) int {
	if i := slices.Index(keys[from:], name); i >= 0 {
		return from + i
	}
	return -1
}

// Without returns an object that lacks the named members.
func (v Value) Without(names ...string) Value {
	l := &level{}
	for k, kid := range v.Members() {
		if !slices.Contains(names, k) {
			l.keys, l.kids = append(l.keys, k), append(l.kids, kid)
		}
	}
	return built(Object, l.index())
}

func (v Value) level() *level {
	if l := v.n.lvl.Load(); l != nil {
		return l
	}
	l := scan(v.n).index()
	if !v.n.lvl.CompareAndSwap(nil, l) {
		return v.n.lvl.Load()
	}
	return l
}
