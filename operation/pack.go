package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"agentd/hookpoints/payload"
)

// Blob is a large value under the SHA-256 of its text.
type Blob struct {
	Hash string
	Text []byte
}

// Fetch finds the text of a blob.
type Fetch func(hash string) ([]byte, error)

// Sizes, in bytes and items. A conversation grows at its end, so its full chunks of items are the
// same from call to call and are stored once.
const (
	inlineValue = 1024 // a value up to this stands in its row
	inlineItem  = 256  // an item of a chunked array
	chunkItems  = 32
	inlineDepth = 128 // a value nested deeper doesn't stand in its row, which can be read only up to payload.MaxDepth
	apartDepth  = 16  // levels that are taken apart, at three levels of the row for one
)

// pack writes a value for a row, in one of four forms:
//
//	{"v": value}                 itself
//	{"b": hash}                  a blob: the value's text, as it came
//	{"o": [[name, packed] ...]}  an object, member by member
//	{"a": [hash or list ...]}    an array in chunks: a blob with a list of packed items, or that list
//
// An object or array is taken apart only where putting it together gives the same bytes. A value
// that could not be read again is refused.
func pack(v payload.Value, blobs *[]Blob) (payload.Value, error) {
	p := &packer{blobs: blobs}
	out := p.pack(v, inlineValue, 0)
	return out, p.err
}

// appendPacked is pack, written. Most values stand in their row, and are written without a detour.
func appendPacked(dst []byte, v payload.Value, blobs *[]Blob) ([]byte, error) {
	if v.Size() <= inlineValue && v.Depth(inlineDepth) <= inlineDepth {
		dst = append(dst, `{"v":`...)
		return append(v.AppendJSON(dst), '}'), nil
	}
	p, err := pack(v, blobs)
	return p.AppendJSON(dst), err
}

type packer struct {
	blobs *[]Blob
	err   error
}

func (p *packer) pack(v payload.Value, inline, apart int) payload.Value {
	whole := false
	if v.Size() <= inline {
		depth := v.Depth(payload.MaxDepth)
		if depth <= inlineDepth {
			return form("v", v)
		}
		whole = depth <= payload.MaxDepth
	}
	switch {
	case whole || apart == apartDepth:
	case v.Kind() == payload.Object && splits(v):
		members := make([]payload.Value, 0, v.Len())
		for name, kid := range v.Members() {
			members = append(members, payload.NewArray([]payload.Value{payload.NewString(name), p.pack(kid, inline, apart+1)}))
		}
		return form("o", payload.NewArray(members))
	case v.Kind() == payload.Array && v.Len() > 1 && splits(v):
		return form("a", payload.NewArray(p.chunks(v, apart+1)))
	}
	if !v.IsSource() && v.Depth(payload.MaxDepth) > payload.MaxDepth {
		p.err = fmt.Errorf("a value is nested deeper than %d levels", payload.MaxDepth)
	}
	return form("b", payload.NewString(p.keep(v.JSON())))
}

func (p *packer) chunks(v payload.Value, apart int) []payload.Value {
	var out, items []payload.Value
	for item := range v.Items() {
		items = append(items, p.pack(item, inlineItem, apart))
		if len(items) == chunkItems {
			out = append(out, payload.NewString(p.keep(payload.NewArray(items).JSON())))
			items = nil
		}
	}
	if len(items) > 0 {
		out = append(out, payload.NewArray(items))
	}
	return out
}

func form(name string, v payload.Value) payload.Value {
	return payload.NewObject(payload.Field{Name: name, Value: v})
}

// splits reports whether a value's text is just what its members would be joined to.
func splits(v payload.Value) bool {
	if !v.IsSource() {
		return true
	}
	var again payload.Value
	if v.Kind() == payload.Object {
		fields := make([]payload.Field, 0, v.Len())
		for name, kid := range v.Members() {
			fields = append(fields, payload.Field{Name: name, Value: kid})
		}
		again = payload.NewObject(fields...)
	} else {
		items := make([]payload.Value, 0, v.Len())
		for item := range v.Items() {
			items = append(items, item)
		}
		again = payload.NewArray(items)
	}
	return bytes.Equal(again.JSON(), v.JSON())
}

func (p *packer) keep(text []byte) string {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	*p.blobs = append(*p.blobs, Blob{hash, text})
	return hash
}

// unpack is the inverse of pack.
func unpack(v payload.Value, fetch Fetch) (payload.Value, error) {
	switch {
	case v.Get("v").Exists():
		return v.Get("v"), nil
	case v.Get("b").Exists():
		return fetched(v.Get("b").Text(), fetch)
	case v.Get("o").Exists():
		var fields []payload.Field
		names := map[string]bool{}
		for m := range v.Get("o").Items() {
			if m.Len() != 2 {
				return payload.Value{}, fmt.Errorf("a packed member has %d parts, want 2", m.Len())
			}
			kid, err := unpack(m.At(1), fetch)
			if err != nil {
				return payload.Value{}, err
			}
			name := m.At(0).Text()
			if names[name] {
				return payload.Value{}, fmt.Errorf("a packed object has the member %q twice", name)
			}
			names[name] = true
			fields = append(fields, payload.Field{Name: name, Value: kid})
		}
		return payload.NewObject(fields...), nil
	case v.Get("a").Exists():
		items := []payload.Value{}
		for chunk := range v.Get("a").Items() {
			if chunk.Kind() == payload.String {
				var err error
				if chunk, err = fetched(chunk.Text(), fetch); err != nil {
					return payload.Value{}, err
				}
			}
			for item := range chunk.Items() {
				kid, err := unpack(item, fetch)
				if err != nil {
					return payload.Value{}, err
				}
				items = append(items, kid)
			}
		}
		return payload.NewArray(items), nil
	}
	return payload.Value{}, fmt.Errorf("a packed value has none of the forms v, b, o, a")
}

func fetched(hash string, fetch Fetch) (payload.Value, error) {
	text, err := fetch(hash)
	if err != nil {
		return payload.Value{}, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != hash {
		return payload.Value{}, fmt.Errorf("blob %s doesn't have that hash: the database is damaged", hash)
	}
	return payload.Parse(text)
}
