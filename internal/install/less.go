package install

import "slices"

// lessOf says what keeps every one of our handlers at an event from being started each time, or its refusal from being
// heard; "" if there is one that nothing does.
func (c Client) lessOf(text []byte, places []place) (why string) {
	for _, p := range places {
		item := &p.list.children[p.item].value
		handler := item
		if p.group != nil {
			handler = &p.group.children[p.inner].value
		}
		reason := narrowed(text, item)
		if reason == "" && handler != item {
			reason = narrowed(text, handler)
		}
		if reason == "" && handler.get("args") == nil && Line(p.argv) != p.line {
			reason = "its command line is more than agentd-hook"
		}
		if reason == "" {
			return ""
		}
		if why == "" {
			why = reason
		}
	}
	return why
}

// narrowing are the settings beside a handler with which clients start it at some calls only, don't wait for it, or
// start something else, with the values that do nothing of that.
var narrowing = []struct {
	key      string
	harmless []string
}{
	{"matcher", []string{`""`, `"*"`, `".*"`, "null"}},
	{"if", []string{`""`, "null"}},
	{"async", []string{"false", "null"}},
	{"asyncRewake", []string{"false", "null"}},
	{"once", []string{"false", "null"}},
	{"type", []string{`"command"`}},
}

func narrowed(text []byte, n *node) string {
	for _, s := range narrowing {
		if v := n.get(s.key); v != nil && !slices.Contains(s.harmless, string(text[v.start:v.end])) {
			return s.key + ": " + string(text[v.start:v.end])
		}
	}
	return ""
}
