package revision

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// document parses the only document of agentd.yaml; nil if there is none.
func document(text []byte) (*yaml.Node, *Fault) {
	if len(text) > MaxConfigFile {
		return nil, &Fault{File: ConfigFile, Line: 1, Message: fmt.Sprintf("the file has %d bytes, at most %d are allowed", len(text), MaxConfigFile), Fix: "make it smaller"}
	}
	var root, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	switch err := dec.Decode(&root); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, syntaxFault(err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, &Fault{File: ConfigFile, Line: more.Line, Message: "a second document begins here", Fix: "keep one document"}
	case err != io.EOF:
		return nil, syntaxFault(err)
	}
	return root.Content[0], nil
}

func syntaxFault(err error) *Fault {
	f := &Fault{File: ConfigFile, Line: 1, Message: strings.TrimPrefix(err.Error(), "yaml: "), Fix: "write valid YAML"}
	if rest, ok := strings.CutPrefix(f.Message, "line "); ok {
		digits, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(digits); err == nil {
			f.Line, f.Message = n, what
		}
	}
	return f
}

// yamlDecoder gathers faults instead of stopping at the first.
type yamlDecoder struct {
	faults []Fault
	nodes  int // of configs, aliases followed
}

// Aliases let a few lines stand for any number of nodes, even for themselves, so what they come to is
// bounded.
const (
	maxNodes  = 100_000
	maxFaults = 100
)

func (d *yamlDecoder) fault(n *yaml.Node, fix, format string, args ...any) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, Fault{File: ConfigFile, Line: n.Line, Message: fmt.Sprintf(format, args...), Fix: fix})
	}
}

func (d *yamlDecoder) unknown(n *yaml.Node, key string, known ...string) {
	d.fault(n, "use one of "+strings.Join(known, ", "), "the key %q is unknown", key)
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (d *yamlDecoder) mapping(n *yaml.Node, name string, each func(key string, k, v *yaml.Node)) {
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, "write key: value lines", "%s is no mapping", or(name, "the file"))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := resolve(n.Content[i])
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			d.fault(k, "write each key as a text, and what << would merge as keys of its own", "a key of %s is no text", or(name, "the file"))
			continue
		}
		if seen[k.Value] {
			d.fault(k, "keep one of them", "the key %q stands twice", k.Value)
			continue
		}
		seen[k.Value] = true
		each(k.Value, k, resolve(n.Content[i+1]))
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (d *yamlDecoder) sequence(n *yaml.Node, name string) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.fault(n, "write a list", "%s is no list", name)
		return nil
	}
	return n.Content
}

func (d *yamlDecoder) text(n *yaml.Node, name string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fault(n, "write a text", "%s is no text", name)
	}
	return n.Value
}

// texts reads a list of texts; an empty list stays apart from none.
func (d *yamlDecoder) texts(n *yaml.Node, name string) []string {
	out := []string{}
	for _, item := range d.sequence(n, name) {
		out = append(out, d.text(resolve(item), name))
	}
	return out
}

func (d *yamlDecoder) integer(n *yaml.Node, name string) int {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.fault(n, "write an integer", "%s is no integer", name)
	}
	return i
}

func (d *yamlDecoder) oneOf(n *yaml.Node, name string, choice ...string) string {
	s := d.text(n, name)
	if !slices.Contains(choice, s) {
		d.fault(n, "use one of "+strings.Join(choice, ", "), "%s is %q", name, s)
	}
	return s
}

// duration reads "500ms", "1s" or a number of seconds.
func (d *yamlDecoder) duration(n *yaml.Node, name string) time.Duration {
	t, err := time.ParseDuration(n.Value)
	if err != nil {
		var f float64
		if f, err = strconv.ParseFloat(n.Value, 64); err == nil {
			t = time.Duration(f * float64(time.Second))
		}
	}
	if n.Kind != yaml.ScalarNode || err != nil || t <= 0 || t > MaxTimeout {
		d.fault(n, "write one like 500ms or 1s, above 0 and at most 5m", "%s is %q", name, n.Value)
	}
	return t
}

// MaxTimeout bounds the timeout of a binding.
const MaxTimeout = 300 * time.Second

// json turns a YAML value into a payload value: order and number text as written.
func (d *yamlDecoder) json(n *yaml.Node) payload.Value { return d.nested(n, hookpoints.MaxResultDepth) }

func (d *yamlDecoder) nested(n *yaml.Node, depth int) payload.Value {
	at := n
	n = resolve(n)
	if d.nodes++; d.nodes > maxNodes || depth < 0 {
		if d.nodes <= maxNodes+1 {
			d.fault(at, "write less, and no aliases that hold themselves", "the config has more than %d values or %d levels, aliases followed", maxNodes, hookpoints.MaxResultDepth)
		}
		d.nodes = maxNodes + 1
		return payload.NewNull()
	}
	switch n.Kind {
	case yaml.MappingNode:
		var fields []payload.Field
		d.mapping(n, "config", func(key string, _, v *yaml.Node) {
			fields = append(fields, payload.Field{Name: key, Value: d.nested(v, depth-1)})
		})
		return payload.NewObject(fields...)
	case yaml.SequenceNode:
		items := make([]payload.Value, len(n.Content))
		for i, item := range n.Content {
			items[i] = d.nested(item, depth-1)
		}
		return payload.NewArray(items)
	}
	v, err := scalar(n)
	if err != nil {
		d.fault(n, "quote it, or write a JSON number", "%q: %v", n.Value, err)
		return payload.NewNull()
	}
	return v
}

func scalar(n *yaml.Node) (payload.Value, error) {
	switch n.Tag {
	case "!!null":
		return payload.NewNull(), nil
	case "!!bool":
		return payload.NewBool(strings.EqualFold(n.Value, "true")), nil
	case "!!int", "!!float":
		v, err := payload.ParseString(n.Value) // 0x10 and .5 are no JSON
		if err != nil || v.Kind() != payload.Number {
			return v, errors.New("it is no JSON number")
		}
		return v, nil
	}
	if n.Tag == "!!str" && n.Style == 0 { // YAML takes 1e400 for a text, because its floats can't hold it
		if v, err := payload.ParseString(n.Value); err == nil && v.Kind() == payload.Number {
			return v, nil
		}
	}
	return payload.NewString(n.Value), nil
}
