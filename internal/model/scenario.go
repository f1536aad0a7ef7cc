package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"agentd/hookpoints/payload"
)

// maxNodes bounds a scenario after its aliases are written out.
const maxNodes = 100_000

type turn struct {
	calls []scriptedCall
	text  string
	usage payload.Value // absent: the model says nothing about it
}

type scriptedCall struct{ name, arguments string }

// OpenScenario reads a scenario file.
func OpenScenario(path string) (*Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the scenario of the scripted model can't be read: %w", err)
	}
	return ParseScenario(path, text)
}

// ParseScenario reads a scenario: a YAML mapping with the one key turns, a list whose items have
// calls, text or both, and usage where the model is to say what it used. A call has a name and, as a mapping, its arguments; arguments that are a
// string are handed on as they stand, to play a model that writes broken JSON. Errors begin with
// name and line.
func ParseScenario(name string, text []byte) (*Scenario, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s:%s", name, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "line "))
	}
	r := &scenarioReader{name: name}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return nil, r.fault(&doc, "a scenario is one YAML document")
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s:1: the scenario is empty: it needs the key turns", name)
	}
	s := &Scenario{name: name}
	err := r.mapping(doc.Content[0], "a scenario", []string{"turns"}, func(_ string, v *yaml.Node) error {
		return r.list(v, "turns", func(item *yaml.Node) error {
			t, err := r.turn(item)
			s.turns = append(s.turns, t)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(s.turns) == 0 {
		return nil, r.fault(doc.Content[0], "the scenario has no turns")
	}
	return s, nil
}

// scenarioReader decodes from nodes, since only these know their lines.
type scenarioReader struct {
	name  string
	nodes int
}

func (r *scenarioReader) fault(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.name, max(n.Line, 1), fmt.Sprintf(format, args...))
}

// follow resolves aliases, and counts, because a few lines of aliases can stand for billions of nodes.
func (r *scenarioReader) follow(n *yaml.Node) (*yaml.Node, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, r.fault(n, "the scenario is larger than %d nodes", maxNodes)
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias, nil
	}
	return n, nil
}

func (r *scenarioReader) mapping(n *yaml.Node, what string, known []string, each func(key string, v *yaml.Node) error) error {
	n, err := r.follow(n)
	if err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return r.fault(n, "%s must be a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			return r.fault(key, "the keys of %s must be plain words", what)
		case seen[key.Value]:
			return r.fault(key, "%s has the key %q twice", what, key.Value)
		case known != nil && !slices.Contains(known, key.Value):
			return r.fault(key, "%s has no key %q: it takes %s", what, key.Value, strings.Join(known, ", "))
		}
		seen[key.Value] = true
		if err := each(key.Value, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *scenarioReader) list(n *yaml.Node, what string, each func(*yaml.Node) error) error {
	n, err := r.follow(n)
	if err != nil {
		return err
	}
	if n.Kind != yaml.SequenceNode {
		return r.fault(n, "%s must be a list", what)
	}
	for _, item := range n.Content {
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

func (r *scenarioReader) text(n *yaml.Node, what string) (string, error) {
	n, err := r.follow(n)
	if err != nil {
		return "", err
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", r.fault(n, "%s must be text", what)
	}
	return n.Value, nil
}

func (r *scenarioReader) turn(n *yaml.Node) (turn, error) {
	var t turn
	err := r.mapping(n, "a turn", []string{"calls", "text", "usage"}, func(key string, v *yaml.Node) (err error) {
		if key == "usage" {
			t.usage, err = r.usage(v)
			return err
		}
		if key == "text" {
			t.text, err = r.text(v, "text")
			return err
		}
		return r.list(v, "calls", func(item *yaml.Node) error {
			c, err := r.call(item)
			t.calls = append(t.calls, c)
			return err
		})
	})
	if err == nil && len(t.calls) == 0 && t.text == "" {
		err = r.fault(n, "a turn needs calls or text")
	}
	return t, err
}

// usage is a mapping from what is counted to a number.
func (r *scenarioReader) usage(n *yaml.Node) (payload.Value, error) {
	var fields []payload.Field
	err := r.mapping(n, "usage", []string{"input_tokens", "output_tokens", "total_tokens"}, func(key string, v *yaml.Node) error {
		text, err := r.text(v, key)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return r.fault(v, "%s must be a number of tokens", key)
		}
		fields = append(fields, payload.Field{Name: key, Value: payload.NewInt(n)})
		return nil
	})
	return payload.NewObject(fields...), err
}

func (r *scenarioReader) call(n *yaml.Node) (scriptedCall, error) {
	c := scriptedCall{arguments: "{}"}
	err := r.mapping(n, "a call", []string{"name", "arguments"}, func(key string, v *yaml.Node) (err error) {
		if key == "name" {
			c.name, err = r.text(v, "name")
			return err
		}
		v, err = r.follow(v)
		if err != nil {
			return err
		}
		if v.Kind == yaml.ScalarNode && v.Tag == "!!str" {
			c.arguments = v.Value
			return nil
		}
		if v.Kind != yaml.MappingNode {
			return r.fault(v, "arguments must be a mapping")
		}
		got, err := r.json(v, 0)
		c.arguments = got.String()
		return err
	})
	if err == nil && c.name == "" {
		err = r.fault(n, "a call needs a name")
	}
	return c, err
}

// json turns a node into the JSON that it stands for, with the order and the number text of the file.
func (r *scenarioReader) json(n *yaml.Node, depth int) (payload.Value, error) {
	n, err := r.follow(n)
	if err != nil {
		return payload.Value{}, err
	}
	if depth > payload.MaxDepth {
		return payload.Value{}, r.fault(n, "arguments are nested deeper than %d levels", payload.MaxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		var fields []payload.Field
		err := r.mapping(n, "an object", nil, func(key string, v *yaml.Node) error {
			got, err := r.json(v, depth+1)
			fields = append(fields, field(key, got))
			return err
		})
		return payload.NewObject(fields...), err
	case yaml.SequenceNode:
		items := []payload.Value{}
		err := r.list(n, "an array", func(item *yaml.Node) error {
			got, err := r.json(item, depth+1)
			items = append(items, got)
			return err
		})
		return payload.NewArray(items), err
	}
	got, err := scalar(n)
	if err != nil {
		return payload.Value{}, r.fault(n, "%v", err)
	}
	return got, nil
}

func scalar(n *yaml.Node) (payload.Value, error) {
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	if plain && isNumber(n.Value) {
		return payload.NewNumber(n.Value), nil // whatever YAML makes of it, 1e400 for one
	}
	switch n.Tag {
	case "!!null":
		return payload.NewNull(), nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return payload.NewBool(b), err
	case "!!int": // hexadecimal, octal, with underscores
		var i int64
		if err := n.Decode(&i); err != nil {
			return payload.Value{}, fmt.Errorf("the number %s can't be written in JSON", n.Value)
		}
		return payload.NewInt(i), nil
	case "!!float":
		var f float64
		err := n.Decode(&f)
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if err != nil || !isNumber(text) {
			return payload.Value{}, fmt.Errorf("the number %s can't be written in JSON", n.Value)
		}
		return payload.NewNumber(text), nil
	case "!!str", "!!timestamp":
		return payload.NewString(n.Value), nil
	}
	return payload.Value{}, errors.New("the tag " + n.Tag + " can't be written in JSON")
}

func isNumber(text string) bool {
	v, err := payload.ParseString(text)
	return err == nil && v.Kind() == payload.Number
}
