package worker

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// result is what came of one call.
type result struct {
	decisions []hookpoints.Decision
	keys      []string
	usage     hookpoints.Usage
	err       error
	traces    []trace
}

type trace struct{ kind, text string }

// What of a result follows its first byte and its usage, in this order. A hook without an opinion is the
// byte 0 and what it used.
const (
	hasError = 1 << iota
	hasKeys
	hasDecisions
	hasTraces
	allParts = hasError | hasKeys | hasDecisions | hasTraces
)

// Limits on what one call says. maxTraces bounds what it shows to its author, maxKeys and maxKey what it
// asks to know.
const (
	maxTraces    = 1000
	maxKeys      = 100
	maxKey       = 4096
	maxDecisions = 1000
)

// traceKinds are the only kinds of traces that cross, by their place.
var traceKinds = []string{"print", "error"}

func (r *result) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, 0)
	dst = appendNumber(appendNumber(dst, r.usage.Fuel), r.usage.Bytes)
	if r.err != nil {
		dst[at] |= hasError
		dst = appendText(appendNumber(dst, int64(wordOf(r.err))), hookpoints.Cut(r.err.Error(), hookpoints.MaxText))
	}
	if len(r.keys) > 0 {
		dst[at] |= hasKeys
		dst = appendNumber(dst, int64(len(r.keys)))
		for _, k := range r.keys {
			dst = appendText(dst, k)
		}
	}
	if len(r.decisions) > 0 {
		dst[at] |= hasDecisions
		dst = appendNumber(dst, int64(len(r.decisions)))
		for i := range r.decisions {
			dst = appendDecision(dst, &r.decisions[i])
		}
	}
	if list := r.traces[:min(len(r.traces), maxTraces)]; len(list) > 0 {
		dst[at] |= hasTraces
		dst = appendNumber(dst, int64(len(list)))
		for _, t := range list {
			dst = appendText(appendNumber(dst, int64(slices.Index(traceKinds, t.kind))), hookpoints.Cut(t.text, hookpoints.MaxText))
		}
	}
	return dst
}

func appendDecision(dst []byte, d *hookpoints.Decision) []byte {
	flag := byte(0)
	if d.Flag {
		flag = 1
	}
	dst = append(dst, byte(d.Verb), flag)
	dst = appendValue(appendText(appendText(dst, d.Text), d.Name), d.Value)
	dst = appendNumber(dst, int64(len(d.Fields)))
	for _, f := range d.Fields {
		dst = appendValue(appendText(dst, f.Name), f.Value)
	}
	return dst
}

// readResult reads a result as if somebody hostile had written it: what it may have used, say and ask for
// is checked again. A lie is errLies.
func readResult(c *cursor, limits meter.Limits) (r result) {
	parts := c.octet()
	r.usage = hookpoints.Usage{Fuel: c.number(), Bytes: c.number()}
	if parts&^allParts != 0 || r.usage.Fuel > limits.Fuel || r.usage.Bytes > limits.Bytes {
		c.fail()
	}
	if parts&hasError != 0 {
		word, message := reason(c.number()), c.text()
		if word == nil || parts&(hasKeys|hasDecisions) != 0 { // a hook that failed has decided nothing
			c.fail()
		} else {
			r.err = fmt.Errorf("%w: %s", word, hookpoints.Cut(message, hookpoints.MaxText))
		}
	}
	if parts&hasKeys != 0 {
		readKeys(c, &r)
	}
	if parts&hasDecisions != 0 {
		readDecisions(c, &r)
	}
	if parts&hasTraces != 0 {
		readTraces(c, &r)
	}
	if c.fault {
		return result{err: errLies}
	}
	return r
}

func readKeys(c *cursor, r *result) {
	n := c.count()
	if n > maxKeys {
		c.fail()
	}
	for range n {
		k := c.text()
		if len(k) > maxKey {
			c.fail()
		}
		if c.fault {
			return
		}
		r.keys = append(r.keys, k)
	}
}

func readDecisions(c *cursor, r *result) {
	n := c.count()
	if n > maxDecisions {
		c.fail()
	}
	size := 0
	for range n {
		d := readDecision(c, &size)
		if c.fault {
			return
		}
		r.decisions = append(r.decisions, d)
	}
}

// readDecision adds to the size of all, which is bounded here as where the script runs.
func readDecision(c *cursor, size *int) (d hookpoints.Decision) {
	d.Verb = hookpoints.Verb(c.octet())
	flag := c.octet()
	d.Flag, d.Text, d.Name, d.Value = flag == 1, c.text(), c.text(), c.checked()
	*size += len(d.Text) + len(d.Name)
	if d.Value.Exists() {
		*size += d.Value.Size()
	}
	n := c.count()
	if n > 0 {
		d.Fields = make([]payload.Field, 0, min(n, 64))
	}
	for range n {
		f := payload.Field{Name: c.text(), Value: c.checked()}
		if *size += len(f.Name) + f.Value.Size(); *size > hookpoints.MaxPayload || !f.Value.Exists() || f.Value.Depth(hookpoints.MaxResultDepth) > hookpoints.MaxResultDepth {
			c.fail()
		}
		if c.fault {
			return d
		}
		d.Fields = append(d.Fields, f)
	}
	if !plausibleDecision(&d) || flag > 1 || *size > hookpoints.MaxPayload {
		c.fail()
	}
	return d
}

// plausibleDecision holds a decision to what the builtins that make them see to.
func plausibleDecision(d *hookpoints.Decision) bool {
	switch {
	case d.Verb.String() == "unknown",
		d.Verb != hookpoints.Context && d.Verb != hookpoints.Proceed && utf8.RuneCountInString(d.Text) > hookpoints.MaxReason,
		utf8.RuneCountInString(d.Name) > hookpoints.MaxReason,
		d.Verb == hookpoints.Respond && !d.Value.Exists(),
		d.Value.Depth(hookpoints.MaxResultDepth) > hookpoints.MaxResultDepth:
		return false
	}
	return unique(d.Fields)
}

func unique(fields []payload.Field) bool {
	if len(fields) < 2 {
		return true
	}
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		names[f.Name] = true
	}
	return len(names) == len(fields)
}

func readTraces(c *cursor, r *result) {
	n := c.count()
	if n > maxTraces {
		c.fail()
	}
	for range n {
		kind, text := c.number(), c.text()
		if kind >= int64(len(traceKinds)) {
			c.fail()
		}
		if c.fault {
			return
		}
		r.traces = append(r.traces, trace{traceKinds[kind], hookpoints.Cut(text, hookpoints.MaxText)})
	}
}

// changes tells whether what a hook said could change what the one after it sees, so that a trip ends.
func changes(ds []hookpoints.Decision) bool {
	return slices.ContainsFunc(ds, func(d hookpoints.Decision) bool {
		return d.Verb != hookpoints.None && d.Verb != hookpoints.Context && d.Verb != hookpoints.Annotate && d.Verb != hookpoints.Effect
	})
}
