package revision

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agentd/hookpoints/payload"
)

// maxExpanded is how many objects and lists a schema may come to when its references are written out.
const maxExpanded = 10_000

// CheckReferences refuses a schema that would be followed for ever, or for too long: the library
// overflows its stack on one that refers to itself, which no program survives, and doubles its work with
// each of two references to the same. Schemas come from scripts and from tools that nobody here wrote.
//
// What is left are references by place within the schema, "#/$defs/name", that come to no circle.
// What only looks like a reference, in an enum say, is taken for one.
func CheckReferences(schema payload.Value) error {
	e := expansion{schema, map[payload.Value]int{}}
	_, err := e.size(schema)
	return err
}

// expansion counts what a schema comes to.
type expansion struct {
	root  payload.Value
	sizes map[payload.Value]int // of what was counted; 0 while it is being counted
}

func (e *expansion) size(v payload.Value) (int, error) {
	if v.Kind()&(payload.Object|payload.Array) == 0 {
		return 0, nil
	}
	if n, seen := e.sizes[v]; seen {
		if n == 0 {
			return 0, errors.New("it refers to what it stands in, which would have no end")
		}
		return n, nil
	}
	e.sizes[v] = 0
	total := 1
	for i := range v.Len() {
		n, err := e.size(v.At(i))
		if err == nil && v.Kind() == payload.Object {
			var more int
			more, err = e.keyword(v, v.Key(i), v.At(i))
			n += more
		}
		if err != nil {
			return 0, err
		}
		if total += n; total > maxExpanded {
			return 0, fmt.Errorf("with its references written out it has more than %d objects and lists", maxExpanded)
		}
	}
	e.sizes[v] = total
	return total, nil
}

// keyword counts what a reference refers to, and refuses those that aren't by place.
func (e *expansion) keyword(in payload.Value, name string, v payload.Value) (int, error) {
	switch {
	case name == "$ref" && v.Kind() == payload.String:
		target, err := e.resolve(v.Text())
		if err != nil {
			return 0, err
		}
		return e.size(target)
	case name == "$schema", name == "$comment", name == "$id" && in == e.root:
	case strings.HasPrefix(name, "$") && v.Kind() == payload.String, name == "$recursiveAnchor":
		return 0, fmt.Errorf("it has %.40s, which can't be used here", name)
	}
	return 0, nil
}

// resolve finds what a reference by place refers to.
func (e *expansion) resolve(ref string) (payload.Value, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.Contains(path, "%") || path != "" && path[0] != '/' {
		return payload.Value{}, fmt.Errorf("the reference %.80q isn't by place within the schema, like \"#/$defs/name\"", ref)
	}
	v := e.root
	for i, part := range strings.Split(path, "/") {
		if i == 0 {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		kid := v.Get(part)
		if n, err := strconv.Atoi(part); err == nil && v.Kind() == payload.Array && 0 <= n && n < v.Len() {
			kid = v.At(n)
		}
		if v = kid; !v.Exists() {
			return v, fmt.Errorf("the reference %.80q refers to nothing", ref)
		}
	}
	return v, nil
}
