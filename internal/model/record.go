package model

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"agentd/hookpoints/payload"
)

// Record writes replies as a scenario that plays them again: [ParseScenario] of its result gives
// the same texts, names and arguments. Call ids, usage and the like aren't kept. A reply without
// text and calls is refused, because a scenario can't say it.
func Record(replies []payload.Value) ([]byte, error) {
	turns := &yaml.Node{Kind: yaml.SequenceNode}
	for i, reply := range replies {
		turn := &yaml.Node{Kind: yaml.MappingNode}
		if calls := reply.Get("tool_calls"); calls.Len() > 0 {
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for c := range calls.Items() {
				list.Content = append(list.Content, recordCall(c.Get("function")))
			}
			put(turn, "calls", list)
		}
		if text := stringOf(reply.Get("content")); text != "" {
			put(turn, "text", quoted(text))
		}
		if len(turn.Content) == 0 {
			return nil, fmt.Errorf("reply %d can't be recorded: it has neither text nor calls", i+1)
		}
		turns.Content = append(turns.Content, turn)
	}
	doc := &yaml.Node{Kind: yaml.MappingNode}
	put(doc, "turns", turns)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("the scenario can't be written: %w", err)
	}
	return out.Bytes(), enc.Close()
}

func recordCall(function payload.Value) *yaml.Node {
	call := &yaml.Node{Kind: yaml.MappingNode}
	put(call, "name", quoted(function.Get("name").Text()))
	text := function.Get("arguments").Text()
	if v, err := payload.ParseString(text); err == nil && v.Kind() == payload.Object {
		put(call, "arguments", recordJSON(v))
	} else {
		put(call, "arguments", quoted(text))
	}
	return call
}

func recordJSON(v payload.Value) *yaml.Node {
	switch v.Kind() {
	case payload.Object:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for k, kid := range v.Members() {
			put(n, k, recordJSON(kid))
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case payload.Array:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for kid := range v.Items() {
			n.Content = append(n.Content, recordJSON(kid))
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case payload.String:
		return quoted(v.Text())
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
}

func put(n *yaml.Node, key string, v *yaml.Node) {
	n.Content = append(n.Content, quoted(key), v)
}

// quoted is a string that reads back as itself: bare where it is a word, a block where it has plain
// lines, in double quotes otherwise.
func quoted(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	switch {
	case isWord(s):
		n.Style = 0
	case plainLines(s):
		n.Style = yaml.LiteralStyle
	}
	return n
}

func isWord(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	var v any
	err := yaml.Unmarshal([]byte(s), &v)
	return s != "" && err == nil && v == any(s) // no, null, true
}

// plainLines holds back from what YAML's block form is known to mangle.
func plainLines(s string) bool {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) < 2 || lines[0] == "" || lines[0][0] == ' ' || lines[len(lines)-1] == "" {
		return false
	}
	for _, line := range lines {
		if strings.TrimRight(line, " ") != line {
			return false
		}
		for _, c := range line {
			if !unicode.IsPrint(c) || c > unicode.MaxLatin1 && !unicode.IsLetter(c) {
				return false
			}
		}
	}
	return true
}
