package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agentd/internal/client"
)

// wanted is what is to stand at an event.
type wanted struct{ event, value string }

// merge puts the handlers into a client's configuration, one at each event, after those of others; of ours it
// leaves no other. Nothing else is touched.
func (c Client) merge(text []byte, want []wanted) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	text, err := c.begin(text)
	if err != nil {
		return nil, err
	}
	if text, err = c.strip(text, func(event string) bool {
		return slices.ContainsFunc(want, func(w wanted) bool { return w.event == event })
	}); err != nil {
		return nil, err
	}
	for _, w := range want {
		if text, err = c.put(text, w); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// begin adds what a configuration begins with.
func (c Client) begin(text []byte) ([]byte, error) {
	root, hooks, err := open(text)
	if err != nil {
		return nil, err
	}
	for _, m := range c.begins() {
		if root.get(m.key) == nil {
			text = set(text, root, root, m.key, m.value)
			if root, hooks, err = open(text); err != nil {
				return nil, err
			}
		}
	}
	if hooks == nil {
		text = set(text, root, root, "hooks", "{}")
	}
	return text, nil
}

// open reads a configuration and finds its hooks; nil if it has none.
func open(text []byte) (root, hooks *node, err error) {
	if root, err = parse(text); err != nil {
		return nil, nil, err
	}
	if root.kind != '{' {
		return nil, nil, at(text, root, errors.New("want an object"))
	}
	hooks = root.get("hooks")
	if hooks != nil && hooks.kind != '{' {
		return nil, nil, at(text, hooks, errors.New("hooks is no object"))
	}
	return root, hooks, nil
}

// reads tells what keeps the client from reading a file that can be read otherwise.
func (c Client) reads(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	root, err := parse(text)
	if err != nil {
		return err
	}
	if c.Plain {
		plain := text
		if c.Mark {
			plain = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		var syntax *json.SyntaxError
		if err := json.Unmarshal(plain, new(json.RawMessage)); errors.As(err, &syntax) {
			return &syntaxError{1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")),
				fmt.Errorf("%s reads plain JSON only, and nothing of a file in which a comment, a comma too many or a byte-order mark stands", c.Title)}
		}
	}
	for _, m := range members(root) {
		if c.Top != nil && !slices.Contains(c.Top, m.key) {
			return at(text, &m.value, fmt.Errorf("%s knows no %q at the top of a file, and reads nothing of one that has it", c.Title, m.key))
		}
	}
	for _, want := range c.begins() {
		if has := root.get(want.key); has != nil && string(text[has.start:has.end]) != want.value {
			return at(text, has, fmt.Errorf("%s wants %q: %s at the top of a file, and this one has %s", c.Title, want.key, want.value, text[has.start:has.end]))
		}
	}
	return nil
}

// lacks lists what the client wants at the top of a file and isn't there; an install adds it.
func (c Client) lacks(root *node) (members []string) {
	for _, want := range c.begins() {
		if root.get(want.key) == nil {
			members = append(members, quoted(want.key)+": "+want.value)
		}
	}
	return members
}

// begins is what a file of the client begins as.
func (c Client) begins() (out []struct{ key, value string }) {
	if c.Start == "" {
		return nil
	}
	start, err := parse([]byte(c.Start))
	if err != nil {
		panic(err) // the table is wrong
	}
	for _, m := range start.children {
		out = append(out, struct{ key, value string }{m.key, c.Start[m.value.start:m.value.end]})
	}
	return out
}

// unknown lists the events that agentd doesn't know, where one that the client doesn't know voids a file.
func (c Client) unknown(hooks *node) (names []string) {
	codec, err := client.For(c.Name)
	if err != nil || !c.Strict {
		return nil
	}
	for _, m := range members(hooks) {
		if !slices.ContainsFunc(codec.Events(), func(k client.Known) bool { return k.Name == m.key }) {
			names = append(names, m.key)
		}
	}
	return names
}

func at(text []byte, n *node, err error) error {
	return &syntaxError{1 + bytes.Count(text[:n.start], []byte("\n")), err}
}

// place is a handler of ours.
type place struct {
	list, group *node // group is nil where the client has none
	item, inner int   // in the list, in the group
	alone       bool  // nothing of others is in its group
	argv        []string
	line        string // as it stands there
}

// ours finds our handlers at an event.
func (c Client) ours(text []byte, list *node) (found []place, err error) {
	if list == nil {
		return nil, nil
	}
	if list.kind != '[' {
		return nil, at(text, list, errors.New("the hooks of an event are no list"))
	}
	for i := range list.children {
		item := &list.children[i].value
		if !c.Grouped {
			if argv, line := commandOf(item); argv != nil {
				found = append(found, place{list: list, item: i, alone: true, argv: argv, line: line})
			}
			continue
		}
		group := item.get("hooks")
		if group == nil || group.kind != '[' {
			continue
		}
		for k := range group.children {
			if argv, line := commandOf(&group.children[k].value); argv != nil {
				found = append(found, place{list, group, i, k, len(group.children) == 1, argv, line})
			}
		}
	}
	return found, nil
}

// without takes a handler of ours out.
func (p place) without(text []byte) []byte {
	if p.alone {
		return remove(text, p.list, p.item)
	}
	return remove(text, p.group, p.inner)
}

// put makes an event have one handler of ours, and this one.
func (c Client) put(text []byte, w wanted) ([]byte, error) {
	for {
		root, hooks, err := open(text)
		if err != nil {
			return nil, err
		}
		list := hooks.get(w.event)
		if list == nil {
			return set(text, root, hooks, w.event, "["+w.value+"]"), nil
		}
		found, err := c.ours(text, list)
		switch {
		case err != nil:
			return nil, err
		case len(found) == 0:
			return insert(text, root, list, "", w.value), nil
		case len(found) == 1 && found[0].alone:
			old := list.children[found[0].item].value
			if same(text[old.start:old.end], w.value) {
				return text, nil
			}
			return replace(text, root, old, w.value), nil
		}
		text = found[len(found)-1].without(text)
	}
}

// same reports whether a value says the same, blanks apart.
func same(text []byte, value string) bool {
	var is bytes.Buffer
	return json.Compact(&is, text) == nil && is.String() == value
}

// strip takes all our handlers out, but at the events that stay, and what would be left empty by that.
func (c Client) strip(text []byte, stays func(event string) bool) ([]byte, error) {
	for {
		_, hooks, err := open(text)
		if err != nil || hooks == nil {
			return text, err
		}
		next, err := c.stripOne(text, hooks, stays)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return text, nil
		}
		text = next
	}
}

// stripOne takes one handler out; nil if there is none.
func (c Client) stripOne(text []byte, hooks *node, stays func(event string) bool) ([]byte, error) {
	for i, m := range hooks.children {
		list := m.value
		if stays(m.key) || list.kind != '[' {
			continue
		}
		found, err := c.ours(text, &list)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			continue
		}
		if only := list.children[0]; found[0].alone && len(list.children) == 1 && !commented(text[m.start:only.start]) && !commented(text[only.value.end:list.end]) {
			return remove(text, hooks, i), nil
		}
		return found[0].without(text), nil
	}
	return nil, nil
}

// commented reports whether somebody may have written a comment in a piece of text: what it stands in isn't ours alone.
func commented(piece []byte) bool {
	return bytes.Contains(piece, []byte("//")) || bytes.Contains(piece, []byte("/*"))
}

// without takes all that is ours out of a configuration. Empty reports that nothing of anybody is left.
func (c Client) without(text []byte) (out []byte, empty bool, err error) {
	if out, err = c.strip(text, func(string) bool { return false }); err != nil {
		return nil, false, err
	}
	root, hooks, err := open(out)
	if err != nil {
		return nil, false, err
	}
	if hooks != nil && len(hooks.children) == 0 && !bytes.Equal(out, text) {
		i := slices.IndexFunc(root.children, func(m child) bool { return m.key == "hooks" })
		if m := root.children[i]; commented(out[m.start:m.value.end]) {
			return out, false, nil
		}
		if out = remove(out, root, i); out == nil {
			return nil, false, fmt.Errorf("hooks can't be taken out")
		}
		if root, err = parse(out); err != nil {
			return nil, false, err
		}
	}
	rest := map[string]bool{}
	for _, m := range root.children {
		rest[m.key] = true
	}
	if start, err := parse([]byte(c.Start)); err == nil {
		for _, m := range start.children {
			delete(rest, m.key)
		}
	}
	return out, len(rest) == 0, nil
}
