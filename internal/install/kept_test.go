package install

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// sketch writes configurations as people do: with blanks, line ends and comments anywhere, or in plain JSON.
type sketch struct {
	*rand.Rand
	plain    bool
	comments []string
	strings.Builder
}

func (s *sketch) gap() {
	for range s.IntN(3) {
		switch n := s.IntN(8); {
		case n < 3:
			s.WriteByte(' ')
		case n < 5:
			s.WriteString("\n  ")
		case n == 5:
			s.WriteString("\r\n\t")
		case s.plain:
		default:
			c := fmt.Sprintf("/* %d } ] , \" */", len(s.comments))
			if n == 6 {
				c = fmt.Sprintf("// %d { [ , \"", len(s.comments))
			}
			s.comments = append(s.comments, c)
			if s.WriteString(c); n == 6 {
				s.WriteByte('\n')
			}
		}
	}
}

func (s *sketch) list(open, closing string, items []func()) {
	s.WriteString(open)
	for i, item := range items {
		s.gap()
		item()
		s.gap()
		if i < len(items)-1 || !s.plain && s.IntN(4) == 0 {
			s.WriteByte(',')
		}
	}
	s.gap()
	s.WriteString(closing)
}

func (s *sketch) member(key string, value func()) func() {
	return func() { s.WriteString(`"` + key + `"`); s.gap(); s.WriteByte(':'); s.gap(); value() }
}

func (s *sketch) word(text string) func() { return func() { s.WriteString(text) } }

func (s *sketch) handler() {
	command := `"theirs"`
	if s.IntN(3) == 0 {
		command = `"/old/agentd-hook x --event=Before"`
	}
	s.list("{", "}", []func(){s.member("type", s.word(`"command"`)), s.member("command", s.word(command))})
}

func (s *sketch) several(what func(), most int) (items []func()) {
	for range s.IntN(most) {
		items = append(items, what)
	}
	return items
}

func (s *sketch) config(c Client) string {
	item := s.handler
	if c.Grouped {
		item = func() {
			s.list("{", "}", []func(){s.member("matcher", s.word(`"m"`)), s.member("hooks", func() { s.list("[", "]", s.several(s.handler, 3)) })})
		}
	}
	var events []func()
	for _, e := range []string{"Before", "Gone", "Theirs"} {
		if s.IntN(3) > 0 {
			events = append(events, s.member(e, func() { s.list("[", "]", s.several(item, 4)) }))
		}
	}
	top := []func(){s.member("a", s.word(`[1,{"b":null}]`))}
	if s.IntN(4) > 0 {
		top = append(top, s.member("hooks", func() { s.list("{", "}", events) }))
	}
	if s.IntN(2) > 0 {
		top = append(top, s.member("z", s.word(`"// no comment"`)))
	}
	s.gap()
	s.list("{", "}", top)
	s.gap()
	return s.String()
}

// theirs is what a value says without what is ours, and without what that leaves empty.
func theirs(n *node, text []byte) any {
	if n.kind == '{' {
		if argv, _ := commandOf(n); argv != nil {
			return nil
		}
		out := map[string]any{}
		for _, c := range n.children {
			v := theirs(&c.value, text)
			if c.key == "hooks" && c.value.kind == '[' && v == nil {
				return nil // what is beside no handlers goes with them
			}
			if v != nil && c.key != "version" {
				out[c.key] = v
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	if n.kind == '[' {
		var out []any
		for _, c := range n.children {
			if v := theirs(&c.value, text); v != nil {
				out = append(out, v)
			}
		}
		if out == nil {
			return nil
		}
		return out
	}
	return string(text[n.start:n.end])
}

// TestWhatIsTheirsStays: an install and an uninstall keep every value and comment of others, in their order, and plain
// JSON stays plain.
func TestWhatIsTheirsStays(t *testing.T) {
	for seed := range uint64(1000) {
		for name, c := range someClients {
			s := &sketch{Rand: rand.New(rand.NewPCG(seed, 1)), plain: seed%2 == 0}
			text := []byte(s.config(c))
			after, err := c.merge(text, someHandlers(c, "/state/agentd-hook"))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			removed, _, err := c.without(after)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, after)
			}
			was, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			hadOurs := strings.Contains(string(text), "agentd-hook")
			for _, now := range [][]byte{after, removed} {
				root, err := parse(now)
				if err != nil {
					t.Fatalf("%s, seed %d: %v\n%s\n->\n%s", name, seed, err, text, now)
				}
				if s.plain && !json.Valid(now) {
					t.Fatalf("%s, seed %d: it was plain JSON\n%s\n->\n%s", name, seed, text, now)
				}
				if a, b := theirs(was, text), theirs(root, now); !reflect.DeepEqual(a, b) {
					t.Fatalf("%s, seed %d: %v, was %v\n%s\n->\n%s", name, seed, b, a, text, now)
				}
				if hadOurs {
					continue // a comment in what is ours goes with it
				}
				rest := string(now)
				for _, comment := range s.comments {
					if _, r, ok := strings.Cut(rest, comment); ok {
						rest = r
					} else {
						t.Fatalf("%s, seed %d: %s is gone\n%s\n->\n%s", name, seed, comment, text, now)
					}
				}
			}
		}
	}
}
