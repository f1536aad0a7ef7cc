package builtins

import (
	"regexp"
	"strings"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// The re module is Go's regexp, RE2 syntax: no backreferences, and time linear in the text.
func reModule() []*Func {
	m := reFuncs{newPatterns(compilePattern)}
	pattern, text := textParam("pattern"), textParam("text")
	return []*Func{
		New("re.escape", "Returns a pattern that matches exactly this text.",
			[]Param{text}, reads(1, 3), func(a []payload.Value) (payload.Value, error) {
				return payload.NewString(regexp.QuoteMeta(a[0].Text())), nil
			}),
		New("re.find", "Returns the first match of a pattern in a text, or null.",
			[]Param{pattern, text}, m.once(false), m.find),
		New("re.find_all", "Returns the matches of a pattern in a text that don't overlap, at most limit of them.",
			[]Param{pattern, text, limitParam()}, m.all(m.listed), m.findAll),
		New("re.groups", "Returns the texts of the groups of the first match, null for a group that took no part, or null without a match.",
			[]Param{pattern, text}, m.once(true), m.groups),
		New("re.match", "Tells whether a pattern matches anywhere in a text; ^ and $ tie it to the ends.",
			[]Param{pattern, text}, m.once(false), m.match),
		New("re.replace", "Replaces every match of a pattern; $1, ${1} or ${name} in with stand for groups, $$ for a dollar sign.",
			[]Param{pattern, text, textParam("with")}, m.all(m.replaced), m.replace),
		New("re.split", "Splits a text at the matches of a pattern, into at most limit parts.",
			[]Param{pattern, text, limitParam()}, m.all(m.listed), m.split),
	}
}

type reFuncs struct{ patterns *patterns }

// once is the charge of one match. A pattern that is refused is charged for being looked at.
func (m reFuncs) once(groups bool) Charge {
	return func(args []payload.Value) meter.Cost {
		cost := parseCost(args[0].Text())
		p, err := m.patterns.get(args[0].Text())
		if err != nil {
			return cost
		}
		text := args[1].Text()
		n, values := int64(len(text)), int64(1)
		if groups {
			values += p.groups
		}
		cost = plus(cost, p.programCost())
		cost = plus(cost, charge(n, values, meter.Mul(n, values)))
		if !p.whole {
			cost.Fuel += p.stepFuel(p.reach(text).span, groups)
		}
		return cost
	}
}

// all is the charge of a search for all matches, and of what is made of them.
func (m reFuncs) all(made func(args []payload.Value, r reach) meter.Cost) Charge {
	return func(args []payload.Value) meter.Cost {
		cost := parseCost(args[0].Text())
		p, err := m.patterns.get(args[0].Text())
		if err != nil {
			return cost
		}
		text := args[1].Text()
		r := p.reach(text)
		if p.whole {
			r.matches = int64(strings.Count(text, p.prefix))
		}
		cost = plus(cost, p.programCost())
		cost = plus(cost, p.searchCost(text, r))
		cost.Bytes += meter.Mul(min(r.matches, int64(len(text))+1), (p.groups+1)*matchBytes)
		return plus(cost, made(args, r))
	}
}

// matchBytes are the places of a match or a group.
const matchBytes = 24

// listed is the cost of a list of parts of the text.
func (m reFuncs) listed(args []payload.Value, r reach) meter.Cost {
	n := int64(args[1].TextLen())
	return charge(n, atMost(r.matches+1, args[2])+1, meter.Mul(n, 2))
}

// replaced is the cost of the longest text that can come out: each match brings the template, and
// all matches together bring each group that it names at most once over.
func (m reFuncs) replaced(args []payload.Value, r reach) meter.Cost {
	with := args[2].Text()
	n, size := int64(args[1].TextLen()), int64(len(with))
	names := int64(strings.Count(with, "$"))
	made := meter.Mul(r.matches, size) + meter.Mul(n, names+1)
	expand := meter.Mul(r.matches, size+meter.Mul(names, 64))
	return charge(meter.Mul(made, 2)+expand, 1, meter.Mul(made, 2))
}

func (m reFuncs) match(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewBool(p.re.MatchString(a[1].Text())), nil
}

func (m reFuncs) find(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	text := a[1].Text()
	loc := p.re.FindStringIndex(text)
	if loc == nil {
		return payload.NewNull(), nil
	}
	return payload.NewString(text[loc[0]:loc[1]]), nil
}

func (m reFuncs) groups(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	text := a[1].Text()
	loc := p.re.FindStringSubmatchIndex(text)
	if loc == nil {
		return payload.NewNull(), nil
	}
	var out []payload.Value
	for i := 2; i < len(loc); i += 2 {
		if loc[i] < 0 {
			out = append(out, payload.NewNull())
		} else {
			out = append(out, payload.NewString(text[loc[i]:loc[i+1]]))
		}
	}
	return payload.NewArray(out), nil
}

func (m reFuncs) findAll(a []payload.Value) (payload.Value, error) {
	most, err := limit(a[2])
	if err != nil {
		return payload.Value{}, err
	}
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	text := a[1].Text()
	found, err := p.search(text, most)
	if err != nil {
		return payload.Value{}, err
	}
	out := make([]payload.Value, len(found))
	for i, loc := range found {
		out[i] = payload.NewString(text[loc[0]:loc[1]])
	}
	return payload.NewArray(out), nil
}

func (m reFuncs) replace(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	text, with := a[1].Text(), a[2].Text()
	found, err := p.search(text, unlimited)
	if err != nil {
		return payload.Value{}, err
	}
	var out []byte
	at := 0
	for _, loc := range found {
		out = append(out, text[at:loc[0]]...)
		out = p.re.ExpandString(out, with, text, loc)
		at = loc[1]
	}
	return payload.NewString(string(append(out, text[at:]...))), nil
}

// split leaves out an empty match at the very start, as Go's Split does.
func (m reFuncs) split(a []payload.Value) (payload.Value, error) {
	most, err := limit(a[2])
	if err != nil {
		return payload.Value{}, err
	}
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	text := a[1].Text()
	found, err := p.search(text, most)
	if err != nil {
		return payload.Value{}, err
	}
	var out []payload.Value
	at, end := 0, 0
	for _, loc := range found {
		if len(out) == most-1 {
			break
		}
		if end = loc[0]; loc[1] > 0 {
			out = append(out, payload.NewString(text[at:end]))
		}
		at = loc[1]
	}
	if end != len(text) || len(out) == 0 {
		out = append(out, payload.NewString(text[at:]))
	}
	return payload.NewArray(out), nil
}
