package daemon

import (
	"maps"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/internal/client"
)

// memoCell is the session's cell with what agentd itself has to know of a client's session.
const memoCell = "agentd/client"

// Bounds of what is kept for later events of a client's session.
const (
	maxPinned = 32
	maxLater  = 64
	maxAwaits = 32
)

// seenWithin is how exactly it is known when an event came last, in milliseconds: not each has to be written down.
const seenWithin = 10_000

// memo is what has to be known of a client's session from one event to the next.
type memo struct {
	began, ended bool
	continuation int64         // how often in a row hooks have sent the agent on
	proceed      string        // with what the last time; "" when another prompt came
	turned       int64         // when a turn began or ended last, in milliseconds
	messages     int64         // of the last request that was seen, while something is pinned
	asks         []string      // the events at which this session's client, of this version, has been seen to ask
	awaits       []string      // operations of actions that may happen, and whose event at which it asks hasn't come yet
	heard        []string      // of those whose event came, until they have ended
	later        []client.Text // what the next event that can carry it has to give
	pinned       []client.Text
	given        []client.Text // what was for later and was given with the event given
	givenWith    string
	seen         map[string]int64 // when each of the client's events came last, in milliseconds; it isn't changed
}

// readMemo reads a cell.
func readMemo(v payload.Value) memo {
	m := memo{began: v.Get("began").IsTrue(), ended: v.Get("ended").IsTrue(), proceed: v.Get("proceed").Text(), givenWith: v.Get("given_with").Text()}
	m.continuation, _ = v.Get("continuation").Int64()
	m.messages, _ = v.Get("messages").Int64()
	m.turned, _ = v.Get("turned").Int64()
	m.asks, m.awaits, m.heard = v.Get("asks").Strings(), v.Get("awaits").Strings(), v.Get("heard").Strings()
	m.later, m.pinned, m.given = readTexts(v.Get("later")), readTexts(v.Get("pinned")), readTexts(v.Get("given"))
	m.seen = readSeen(v)
	return m
}

// readSeen reads of a cell when each event came last.
func readSeen(v payload.Value) map[string]int64 {
	seen := map[string]int64{}
	for name, at := range v.Get("seen").Members() {
		seen[name], _ = at.Int64()
	}
	return seen
}

func readTexts(v payload.Value) (out []client.Text) {
	for t := range v.Items() {
		out = append(out, client.Text{Text: t.Get("text").Text(), From: t.Get("from").Text(), Pin: t.Get("pin").IsTrue()})
	}
	return out
}

// value is the cell; what is empty isn't in it.
func (m memo) value() payload.Value {
	var out []payload.Field
	flag := func(name string, is bool) {
		if is {
			out = append(out, payload.Field{Name: name, Value: payload.NewBool(true)})
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			out = append(out, payload.Field{Name: name, Value: payload.NewInt(n)})
		}
	}
	words := func(name, s string) {
		if s != "" {
			out = append(out, payload.Field{Name: name, Value: payload.NewString(s)})
		}
	}
	texts := func(name string, list []client.Text) {
		if len(list) == 0 {
			return
		}
		var items []payload.Value
		for _, t := range list {
			items = append(items, payload.NewObject(payload.Field{Name: "text", Value: payload.NewString(t.Text)}, payload.Field{Name: "from", Value: payload.NewString(t.From)},
				payload.Field{Name: "pin", Value: payload.NewBool(t.Pin)}))
		}
		out = append(out, payload.Field{Name: name, Value: payload.NewArray(items)})
	}
	flag("began", m.began)
	flag("ended", m.ended)
	number("continuation", m.continuation)
	words("proceed", m.proceed)
	number("messages", m.messages)
	number("turned", m.turned)
	list := func(name string, items []string) {
		if len(items) > 0 {
			out = append(out, payload.Field{Name: name, Value: payload.NewStrings(items)})
		}
	}
	list("asks", m.asks)
	list("awaits", m.awaits)
	list("heard", m.heard)
	texts("later", m.later)
	texts("pinned", m.pinned)
	texts("given", m.given)
	words("given_with", m.givenWith)
	if len(m.seen) > 0 {
		var when []payload.Field
		for _, name := range slices.Sorted(maps.Keys(m.seen)) {
			when = append(when, payload.Field{Name: name, Value: payload.NewInt(m.seen[name])})
		}
		out = append(out, payload.Field{Name: "seen", Value: payload.NewObject(when...)})
	}
	return payload.NewObject(out...)
}

// sent says whether a prompt is what a hook sent the agent on with: not, with something of somebody else, or only
// that. Clients put the reasons of several programs' hooks below each other, and some put a line before them.
func (m memo) sent(prompt string) (how int) {
	ours, is := strings.TrimSpace(m.proceed), strings.TrimSpace(prompt)
	switch {
	case ours == "":
		return sentNot
	case is == ours, strings.TrimSpace(strings.TrimPrefix(is, "Stop hook feedback:\n")) == ours:
		return sentOnly
	case strings.Contains("\n"+is+"\n", "\n"+ours+"\n"):
		return sentToo
	}
	return sentNot
}

const (
	sentNot = iota
	sentToo
	sentOnly
)

// pin keeps texts that a compaction would take away, the newest if they are too many.
func (m *memo) pin(list []client.Text) {
	for _, t := range list {
		if t.Pin && !slices.Contains(m.pinned, t) {
			m.pinned = append(slices.Clone(m.pinned), t)
		}
	}
	m.pinned = m.pinned[max(0, len(m.pinned)-maxPinned):]
}

// wait keeps texts for a later event.
func (m *memo) wait(list []client.Text) {
	for _, t := range list {
		if !slices.Contains(m.later, t) {
			m.later = append(slices.Clone(m.later), t)
		}
	}
	m.later = m.later[max(0, len(m.later)-maxLater):]
}

// came notes when an event came, one of those that its client is known to have.
func (m *memo) came(e client.Event, at int64) {
	if _, known := client.KnownEvent(e.Client, e.Name); !known || at-m.seen[e.Name] < seenWithin {
		return
	}
	m.seen = maps.Clone(m.seen)
	m.seen[e.Name] = at
}

// forget notes that the conversation was shortened: what is pinned has to be given again, before the rest.
func (m *memo) forget() {
	rest := m.later
	m.later = slices.Clone(m.pinned)
	m.wait(rest)
}
