package starlark

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func mustBe(v starlark.Value, want string) error {
	return fmt.Errorf("it is %s, want %s", v.Type(), want)
}

func stringTo(to func(*definer) *string) argument {
	return func(d *definer, v starlark.Value) error {
		s, ok := v.(starlark.String)
		if !ok {
			return mustBe(v, "string")
		}
		*to(d) = string(s)
		return nil
	}
}

func choiceTo(to func(*definer) *string, allowed ...string) argument {
	return func(d *definer, v starlark.Value) error {
		s, ok := v.(starlark.String)
		if !ok {
			return mustBe(v, "string")
		}
		*to(d) = string(s)
		return among(string(s), allowed)
	}
}

func among(s string, allowed []string) error {
	for _, a := range allowed {
		if s == a {
			return nil
		}
	}
	return fmt.Errorf("it is %q, want one of %s", s, strings.Join(allowed, ", "))
}

func boolTo(to func(*definer) *bool) argument {
	return func(d *definer, v starlark.Value) error {
		b, ok := v.(starlark.Bool)
		if !ok {
			return mustBe(v, "bool")
		}
		*to(d) = bool(b)
		return nil
	}
}

// listTo reads a list of strings, each of those allowed if there are any. It is never nil.
func listTo(to func(*definer) *[]string, allowed ...string) argument {
	return func(d *definer, v starlark.Value) error {
		items, err := d.strings(v)
		if err != nil {
			return err
		}
		for i, s := range items {
			if allowed == nil {
				break
			}
			if err := among(s, allowed); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		*to(d) = items
		return nil
	}
}

func (d *definer) strings(v starlark.Value) ([]string, error) {
	items, err := d.r.strings(v, maxListItems)
	if err != nil {
		return nil, err
	}
	for i, s := range items {
		if s == "" || len(s) > maxName {
			return nil, fmt.Errorf("item %d has %d bytes, want 1 to %d", i, len(s), maxName)
		}
	}
	return items, nil
}

// strings reads a list or tuple of at most so many strings.
func (r *run) strings(v starlark.Value, most int) ([]string, error) {
	s, ok := sequenceOf(v)
	if !ok {
		return nil, mustBe(v, "a list of strings")
	}
	n := s.len()
	if n > most {
		return nil, fmt.Errorf("it has %d items, at most %d are allowed", n, most)
	}
	if err := r.charge(int64(n), slotBytes*int64(n)); err != nil {
		return nil, err
	}
	out := make([]string, n)
	for i := range out {
		item, err := s.at(r, i)
		if err != nil {
			return nil, err
		}
		text, ok := item.(starlark.String)
		if !ok {
			return nil, fmt.Errorf("item %d is %s, want string", i, item.Type())
		}
		out[i] = string(text)
	}
	return out, nil
}

func objectTo(to func(*definer) *payload.Value) argument {
	return func(d *definer, v starlark.Value) error {
		if _, ok := mappingOf(v); !ok {
			return mustBe(v, "dict")
		}
		tree, err := d.r.tree(v, hookpoints.MaxResultDepth)
		if err != nil {
			return err
		}
		if n := tree.Size(); n > hookpoints.MaxConfig {
			return fmt.Errorf("it has %d bytes of JSON, at most %d are allowed", n, hookpoints.MaxConfig)
		}
		*to(d) = tree
		return nil
	}
}

// runFunction reads the function that decides, which takes the context and the payload.
func (d *definer) runFunction(v starlark.Value) (err error) {
	d.run, err = hookFunction(v)
	return err
}

func hookFunction(v starlark.Value) (*starlark.Function, error) {
	fn, ok := v.(*starlark.Function)
	if !ok {
		return nil, mustBe(v, "a function of the script")
	}
	most := fn.NumParams() - fn.NumKwonlyParams()
	if fn.HasKwargs() {
		most--
	}
	least := 0
	for i := range most {
		if fn.ParamDefault(i) == nil {
			least++
		}
	}
	if fn.HasVarargs() {
		most, least = 2, least-1
	}
	if least > 2 || most < 2 || fn.NumKwonlyParams() > 0 && !optionalOnly(fn) {
		return nil, fmt.Errorf("%s can't be called with two arguments, the context and the payload", fn.Name())
	}
	return fn, nil
}

// optionalOnly reports whether all parameters that only go by name have a default.
func optionalOnly(fn *starlark.Function) bool {
	rest := fn.NumParams()
	for _, extra := range []bool{fn.HasKwargs(), fn.HasVarargs()} {
		if extra {
			rest--
		}
	}
	for i := rest - fn.NumKwonlyParams(); i < rest; i++ {
		if fn.ParamDefault(i) == nil {
			return false
		}
	}
	return true
}

func (d *definer) points(v starlark.Value) (err error) {
	if s, ok := v.(starlark.String); ok {
		v = starlark.Tuple{s}
	}
	if d.def.Points, err = d.strings(v); err != nil {
		return err
	}
	for i, p := range d.def.Points {
		for _, q := range d.def.Points[:i] {
			if p == q {
				return fmt.Errorf("%s is named twice", p)
			}
		}
	}
	return nil
}

func (d *definer) factsListOrFunction(v starlark.Value) (err error) {
	if _, ok := v.(starlark.Callable); ok {
		d.facts, err = hookFunction(v)
		return err
	}
	if _, ok := sequenceOf(v); !ok {
		return mustBe(v, "a list of strings or a function")
	}
	d.def.FactKeys, err = d.strings(v)
	return err
}

func (d *definer) state(v starlark.Value) error {
	if s, ok := v.(starlark.String); ok {
		return d.stateName(string(s))
	}
	if _, ok := mappingOf(v); !ok {
		return mustBe(v, `string or {"name": ..., "scope": ...}`)
	}
	tree, err := d.r.tree(v, hookpoints.MaxResultDepth)
	if err != nil {
		return err
	}
	for name, kid := range tree.Members() {
		if kid.Kind() != payload.String {
			return fmt.Errorf("%s is %s, want string", name, kid.Kind())
		}
		switch name {
		case "name":
		case "scope":
			if err := among(kid.Text(), []string{"session", "project"}); err != nil {
				return fmt.Errorf("scope: %w", err)
			}
			d.def.StateProject = kid.Text() == "project"
		default:
			return fmt.Errorf("there is no key %q, want name and scope", name)
		}
	}
	if name := tree.Get("name"); name.Exists() {
		return d.stateName(name.Text())
	}
	return nil
}

var stateName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,200}$`)

func (d *definer) stateName(s string) error {
	if !stateName.MatchString(s) {
		return fmt.Errorf("name %q is not 1 to 200 of A-Z a-z 0-9 _ . : -", s)
	}
	d.def.StateName = s
	return nil
}

func (d *definer) integer(v starlark.Value, least, most int) (int, error) {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, mustBe(v, "int")
	}
	n, ok := i.Int64()
	if !ok || n < int64(least) || n > int64(most) {
		return 0, fmt.Errorf("it is %s, want %d to %d", i, least, most)
	}
	return int(n), nil
}

func (d *definer) priority(v starlark.Value) (err error) {
	d.def.Priority, err = d.integer(v, -maxPriority, maxPriority)
	return err
}

func (d *definer) contract(v starlark.Value) (err error) {
	d.def.Contract, err = d.integer(v, 1, 1<<31-1)
	return err
}

// timeout reads seconds, or text such as "500ms".
func (d *definer) timeout(v starlark.Value) error {
	var t time.Duration
	switch v := v.(type) {
	case starlark.String:
		var err error
		if t, err = time.ParseDuration(string(v)); err != nil {
			return fmt.Errorf(`it is %q, want text such as "500ms" or "1s"`, string(v))
		}
	case starlark.Int, starlark.Float:
		s, _ := starlark.AsFloat(v)
		if !(s > 0 && s <= maxTimeout.Seconds()) {
			return fmt.Errorf("it is %s seconds, want more than 0 and at most %v", v, maxTimeout.Seconds())
		}
		t = time.Duration(s * float64(time.Second))
	default:
		return mustBe(v, `a number of seconds or text such as "500ms"`)
	}
	if t <= 0 || t > maxTimeout {
		return fmt.Errorf("it is %v, want more than 0 and at most %v", t, maxTimeout)
	}
	d.def.Timeout = t
	return nil
}
