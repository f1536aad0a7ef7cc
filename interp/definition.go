package interp

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// The bounds of hook's arguments, which are those of the manifest.
const (
	maxVersion   = 200
	maxPriority  = 10_000
	maxTimeout   = 300 * time.Second
	maxListItems = 100
	maxName      = 200
)

// MaxFacts bounds the facts that a function asks for.
const MaxFacts = 100

// Their lengths are checked apart: counted repeats would make up most of what starting the program costs.
var (
	hookID    = regexp.MustCompile(`^[A-Za-z0-9_.:-][A-Za-z0-9_.:/-]*$`)
	stateName = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)
)

// Draft is a definition while the arguments of its call of hook are read. A language converts each
// argument and hands it over; functions stay with the language, which says that they were given.
type Draft struct {
	Definition
	given map[string]bool
}

// NewDraft begins a definition at a place of a file, with what hook takes for granted.
func NewDraft(file string, line int) *Draft {
	return &Draft{given: map[string]bool{}, Definition: Definition{
		File: file, Line: line,
		Priority: hookpoints.DefaultPriority, Timeout: hookpoints.HookTimeout,
		FailurePolicy: hookpoints.Block, Stream: hookpoints.Held, Contract: 2,
	}}
}

// The two arguments that can be functions.
const (
	RunArgument   = "run"
	FactsArgument = "facts" // a list, or a function
)

// argument reads one argument.
type argument func(d *Definition, v payload.Value) error

var hookArguments = map[string]argument{
	"id":             textTo(func(d *Definition) *string { return &d.HookID }),
	"version":        textTo(func(d *Definition) *string { return &d.Version }),
	RunArgument:      func(_ *Definition, v payload.Value) error { return mustBe(v, "a function of the script") },
	"point":          setPoints,
	"guard":          boolTo(func(d *Definition) *bool { return &d.Guard }),
	"observation":    boolTo(func(d *Definition) *bool { return &d.Observation }),
	"background":     boolTo(func(d *Definition) *bool { return &d.Background }),
	"isolate":        boolTo(func(d *Definition) *bool { return &d.Isolate }),
	FactsArgument:    setFacts,
	"effects":        listTo(func(d *Definition) *[]string { return &d.Effects }),
	"state":          setState,
	"kinds":          listTo(func(d *Definition) *[]string { return &d.Kinds }, hookpoints.Kinds()...),
	"clients":        listTo(func(d *Definition) *[]string { return &d.Clients }),
	"purposes":       listTo(func(d *Definition) *[]string { return &d.Purposes }),
	"instances":      listTo(func(d *Definition) *[]string { return &d.Instances }, hookpoints.Main, hookpoints.Child),
	"targets":        listTo(func(d *Definition) *[]string { return &d.Targets }),
	"priority":       intTo(func(d *Definition) *int { return &d.Priority }, -maxPriority, maxPriority),
	"timeout":        setTimeout,
	"failure_policy": choiceTo(func(d *Definition) *string { return &d.FailurePolicy }, hookpoints.Block, hookpoints.Continue),
	"stream":         choiceTo(func(d *Definition) *string { return &d.Stream }, hookpoints.Held, hookpoints.Provisional),
	"contract":       intTo(func(d *Definition) *int { return &d.Contract }, 1, 1<<31-1),
	"config":         objectTo(func(d *Definition) *payload.Value { return &d.ConfigSchema }),
	"default":        objectTo(func(d *Definition) *payload.Value { return &d.Default }),
}

// HookArguments are the names of what hook takes, sorted.
func HookArguments() []string {
	var names []string
	for name := range hookArguments {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Known refuses a name that hook doesn't take.
func (d *Draft) Known(name string) error {
	if hookArguments[name] == nil {
		return fmt.Errorf("hook: there is no argument %s, want %s", hookpoints.Cut(name, maxName), strings.Join(HookArguments(), ", "))
	}
	return nil
}

// Given notes that an argument was given, as a function.
func (d *Draft) Given(name string) { d.given[name] = true }

// Set reads an argument that is no function.
func (d *Draft) Set(name string, v payload.Value) error {
	if err := d.Known(name); err != nil {
		return err
	}
	d.given[name] = true
	if err := hookArguments[name](&d.Definition, v); err != nil {
		return Wrong(name, err)
	}
	return nil
}

// Wrong is what is wrong with an argument of hook.
func Wrong(name string, err error) error { return fmt.Errorf("hook: argument %s: %w", name, err) }

// Check makes sure that nothing is missing, and holds the arguments against each other and against
// the definitions before them.
func (d *Draft) Check(before []Definition) error {
	for _, name := range []string{"id", "version", RunArgument} {
		if !d.given[name] {
			return fmt.Errorf("hook: argument %s is missing", name)
		}
	}
	def := &d.Definition
	if len(def.HookID) > maxName || !hookID.MatchString(def.HookID) {
		return fmt.Errorf("hook: argument id: %q is not 1 to 200 of A-Z a-z 0-9 _ . : / - that don't begin with /", hookpoints.Cut(def.HookID, maxName))
	}
	if n := utf8.RuneCountInString(def.Version); n < 1 || n > maxVersion {
		return fmt.Errorf("hook: argument version: it has %d characters, want 1 to %d", n, maxVersion)
	}
	for _, other := range before {
		if other.HookID == def.HookID {
			return fmt.Errorf("hook: %s is defined twice, first in line %d", def.HookID, other.Line)
		}
	}
	switch {
	case def.Guard && def.Observation:
		return errors.New("hook: guard excludes observation: a guard may block, an observation hook may not")
	case def.Background && !def.Observation:
		return errors.New("hook: background is for observation hooks only")
	case def.FailurePolicy == hookpoints.Continue && !def.Observation:
		return errors.New(`hook: failure_policy "continue" is for observation hooks only`)
	case def.Guard && len(def.Effects) > 0:
		return errors.New("hook: guard excludes effects: a guard may only let through or block")
	}
	return nil
}

func mustBe(v payload.Value, want string) error {
	return fmt.Errorf("it is %s, want %s", v.Kind(), want)
}

// ErrWantsList is the part of an error that says that a list was wanted.
var ErrWantsList = errors.New("a list of strings")

func textTo(to func(*Definition) *string) argument {
	return func(d *Definition, v payload.Value) error {
		if v.Kind() != payload.String {
			return mustBe(v, "string")
		}
		*to(d) = v.Text()
		return nil
	}
}

func choiceTo(to func(*Definition) *string, allowed ...string) argument {
	return func(d *Definition, v payload.Value) error {
		if v.Kind() != payload.String {
			return mustBe(v, "string")
		}
		*to(d) = v.Text()
		return among(v.Text(), allowed)
	}
}

func among(s string, allowed []string) error {
	if slices.Contains(allowed, s) {
		return nil
	}
	return fmt.Errorf("it is %q, want one of %s", hookpoints.Cut(s, maxName), strings.Join(allowed, ", "))
}

func boolTo(to func(*Definition) *bool) argument {
	return func(d *Definition, v payload.Value) error {
		if v.Kind() != payload.Bool {
			return mustBe(v, "bool")
		}
		*to(d) = v.IsTrue()
		return nil
	}
}

func intTo(to func(*Definition) *int, least, most int64) argument {
	return func(d *Definition, v payload.Value) error {
		if v.Kind() != payload.Number {
			return mustBe(v, "int")
		}
		n, ok := v.Int64()
		if !ok || n < least || n > most {
			return fmt.Errorf("it is %s, want %d to %d", hookpoints.Cut(v.Text(), maxName), least, most)
		}
		*to(d) = int(n)
		return nil
	}
}

// listTo reads a list of strings, each of those allowed if there are any. It is never nil.
func listTo(to func(*Definition) *[]string, allowed ...string) argument {
	return func(d *Definition, v payload.Value) error {
		items, err := names(v)
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

// Texts reads a list of at most so many strings.
func Texts(v payload.Value, most int) ([]string, error) {
	if v.Kind() != payload.Array {
		return nil, fmt.Errorf("it is %s, want %w", v.Kind(), ErrWantsList)
	}
	if n := v.Len(); n > most {
		return nil, fmt.Errorf("it has %d items, at most %d are allowed", n, most)
	}
	out := make([]string, v.Len())
	for i := range out {
		item := v.At(i)
		if item.Kind() != payload.String {
			return nil, fmt.Errorf("item %d is %s, want string", i, item.Kind())
		}
		out[i] = item.Text()
	}
	return out, nil
}

// names are texts that can name something.
func names(v payload.Value) ([]string, error) {
	items, err := Texts(v, maxListItems)
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

func objectTo(to func(*Definition) *payload.Value) argument {
	return func(d *Definition, v payload.Value) error {
		if v.Kind() != payload.Object {
			return mustBe(v, "an object")
		}
		if n := v.Size(); n > hookpoints.MaxConfig {
			return fmt.Errorf("it has %d bytes of JSON, at most %d are allowed", n, hookpoints.MaxConfig)
		}
		*to(d) = v
		return nil
	}
}

func setPoints(d *Definition, v payload.Value) (err error) {
	if v.Kind() == payload.String {
		v = payload.NewArray([]payload.Value{v})
	}
	if d.Points, err = names(v); err != nil {
		return err
	}
	for i, p := range d.Points {
		if slices.Contains(d.Points[:i], p) {
			return fmt.Errorf("%s is named twice", p)
		}
	}
	return nil
}

func setFacts(d *Definition, v payload.Value) (err error) {
	if v.Kind() != payload.Array {
		return fmt.Errorf("it is %s, want %w or a function", v.Kind(), ErrWantsList)
	}
	d.FactKeys, err = names(v)
	return err
}

func setState(d *Definition, v payload.Value) error {
	if v.Kind() == payload.String {
		return setStateName(d, v.Text())
	}
	if v.Kind() != payload.Object {
		return mustBe(v, "string or an object with name and scope")
	}
	for name, kid := range v.Members() {
		if kid.Kind() != payload.String {
			return fmt.Errorf("%s is %s, want string", hookpoints.Cut(name, maxName), kid.Kind())
		}
		switch name {
		case "name":
		case "scope":
			if err := among(kid.Text(), []string{"session", "project"}); err != nil {
				return fmt.Errorf("scope: %w", err)
			}
			d.StateProject = kid.Text() == "project"
		default:
			return fmt.Errorf("there is no key %q, want name and scope", hookpoints.Cut(name, maxName))
		}
	}
	if name := v.Get("name"); name.Exists() {
		return setStateName(d, name.Text())
	}
	return nil
}

func setStateName(d *Definition, s string) error {
	if len(s) > maxName || !stateName.MatchString(s) {
		return fmt.Errorf("name %q is not 1 to 200 of A-Z a-z 0-9 _ . : -", hookpoints.Cut(s, maxName))
	}
	d.StateName = s
	return nil
}

// setTimeout reads seconds, or text such as "500ms".
func setTimeout(d *Definition, v payload.Value) error {
	var t time.Duration
	switch v.Kind() {
	case payload.String:
		var err error
		if t, err = time.ParseDuration(v.Text()); err != nil {
			return fmt.Errorf(`it is %q, want text such as "500ms" or "1s"`, hookpoints.Cut(v.Text(), maxName))
		}
	case payload.Number:
		s, ok := v.Float64()
		if !ok || !(s > 0 && s <= maxTimeout.Seconds()) {
			return fmt.Errorf("it is %s seconds, want more than 0 and at most %v", hookpoints.Cut(v.Text(), maxName), maxTimeout.Seconds())
		}
		t = time.Duration(s * float64(time.Second))
	default:
		return mustBe(v, `a number of seconds or text such as "500ms"`)
	}
	if t <= 0 || t > maxTimeout {
		return fmt.Errorf("it is %v, want more than 0 and at most %v", t, maxTimeout)
	}
	d.Timeout = t
	return nil
}
