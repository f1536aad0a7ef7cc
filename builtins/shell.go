package builtins

import (
	"fmt"

	"agentd/builtins/meter"
	"agentd/builtins/shell"
	"agentd/hookpoints/payload"
)

// What the shell module charges by. The reader's work has a bound in units that it counts, see
// [shell.Work]; what it parses is charged by bytes and by what may be tokens.
const (
	shellUnitFuel  = 7  // of a unit of work
	shellUnitBytes = 96 // of a unit of work: what the answer can take
	shellTokenFuel = 16 // of a token
	shellAgainFuel = 7  // of a byte of code that the line hands to shells, which is parsed again
)

// The shell module reads command lines as shells do, without running them. docs/shell.md says what it
// sees and what it can't see.
func shellModule() []*Func {
	line := textParam("line")
	dialect := Param{"dialect", payload.String, true}
	policy := []Param{line, listParam("programs"), {"flags", payload.Object, true}, {"writes", payload.Array, true}, dialect}
	return []*Func{
		New("shell.allowed", "Tells whether everything that a command line would run and write is known and allowed.",
			policy, shellCharge(4), func(a []payload.Value) (payload.Value, error) {
				ok, _, err := shellAllowed(a)
				return payload.NewBool(ok), err
			}),
		New("shell.parse", "Returns the commands that a line would run, how each is reached, and whether they are all known.",
			[]Param{line, dialect}, shellCharge(1), func(a []payload.Value) (payload.Value, error) {
				s, err := shellScript(a[0], a[1])
				if err != nil {
					return payload.Value{}, err
				}
				return scriptValue(s), nil
			}),
		New("shell.refusal", "Tells why shell.allowed is false, and nothing if it is true.",
			policy, shellCharge(4), func(a []payload.Value) (payload.Value, error) {
				_, why, err := shellAllowed(a)
				return payload.NewString(why), err
			}),
		New("shell.runs", "Tells whether a command line can start a program: yes, no, or unknown.",
			[]Param{line, textParam("program"), dialect}, shellCharge(2), func(a []payload.Value) (payload.Value, error) {
				s, err := shellScript(a[0], a[2])
				if err != nil {
					return payload.Value{}, err
				}
				return payload.NewString(s.MayRun(a[1].Text()).String()), nil
			}),
		New("shell.writes", "Returns the files that a command line would write or remove, and whether those are all.",
			[]Param{line, dialect}, shellCharge(1), func(a []payload.Value) (payload.Value, error) {
				s, err := shellScript(a[0], a[1])
				if err != nil {
					return payload.Value{}, err
				}
				e := shell.Writes(s)
				return payload.NewObject(
					payload.Field{Name: "writes", Value: payload.NewStrings(e.Writes)},
					payload.Field{Name: "deletes", Value: payload.NewStrings(e.Deletes)},
					payload.Field{Name: "known", Value: payload.NewBool(e.Known)},
					payload.Field{Name: "reasons", Value: payload.NewStrings(e.Reasons)},
				), nil
			}),
	}
}

// shellCharge pays for the most work that a line of this length can take. at is where the dialect is.
func shellCharge(at int) Charge {
	return func(args []payload.Value) meter.Cost {
		d, err := shellDialect(args[at])
		if err != nil {
			d = shell.Sh
		}
		size, tokens := args[0].TextLen(), 0
		if size <= shell.MaxLine { // what is longer isn't read
			tokens = shell.Tokens(args[0].Text())
		}
		work, again := shell.Work(min(size, shell.MaxLine), d)
		items, text := sizes(args)
		for _, v := range args { // the options of flags, of which each is looked up
			for name, list := range v.Members() {
				n, t := sizes([]payload.Value{list})
				items, text = items+n, text+t+int64(len(name))
			}
		}
		cost := charge(meter.Mul(text, 4), items, text)
		roots := int64(1)
		if at == 4 {
			roots = max(int64(args[3].Len()), 1)
		}
		return plus(cost, meter.Cost{
			Fuel:  meter.Mul(meter.Mul(int64(work), shellUnitFuel), roots) + int64(again)*shellAgainFuel + int64(tokens)*shellTokenFuel + int64(size),
			Bytes: int64(work) * shellUnitBytes,
		})
	}
}

func shellDialect(v payload.Value) (shell.Dialect, error) {
	switch name := v.Text(); name {
	case "", "bash":
		return shell.Bash, nil
	case "dash":
		return shell.Dash, nil
	case "sh":
		return shell.Sh, nil
	default:
		return 0, fmt.Errorf("dialect is %q, want \"bash\", \"dash\" or \"sh\"", name)
	}
}

func shellScript(line, dialect payload.Value) (shell.Script, error) {
	d, err := shellDialect(dialect)
	if err != nil {
		return shell.Script{}, err
	}
	return shell.Parse(line.Text(), d), nil
}

func shellAllowed(a []payload.Value) (ok bool, why string, err error) {
	p := shell.Policy{Writes: []string{"."}}
	if p.Programs, err = texts(a[1], "programs"); err != nil {
		return false, "", err
	}
	for name, list := range a[2].Members() {
		if list.Kind() != payload.Array {
			return false, "", fmt.Errorf("flags of %s is %s, want array", name, list.Kind())
		}
		flags, err := texts(list, "flags of "+name)
		if err != nil {
			return false, "", err
		}
		if p.Flags == nil {
			p.Flags = map[string][]string{}
		}
		p.Flags[name] = flags
	}
	if a[3].Exists() {
		if p.Writes, err = texts(a[3], "writes"); err != nil {
			return false, "", err
		}
	}
	s, err := shellScript(a[0], a[4])
	if err != nil {
		return false, "", err
	}
	ok, why = shell.Allowed(s, p)
	return ok, why, nil
}

// scriptValue shows a script. What isn't known is null.
func scriptValue(s shell.Script) payload.Value {
	commands := make([]payload.Value, len(s.Commands))
	for i := range s.Commands {
		commands[i] = commandValue(&s.Commands[i])
	}
	return payload.NewObject(
		payload.Field{Name: "commands", Value: payload.NewArray(commands)},
		payload.Field{Name: "known", Value: payload.NewBool(s.Known)},
		payload.Field{Name: "reasons", Value: payload.NewStrings(s.Reasons)},
		payload.Field{Name: "error", Value: textIf(s.Error != "", s.Error)},
	)
}

func commandValue(c *shell.Command) payload.Value {
	args := make([]payload.Value, len(c.Args))
	for i, a := range c.Args {
		args[i] = textIf(a.Known, a.Text)
	}
	assignments := make([]payload.Value, len(c.Assignments))
	for i, a := range c.Assignments {
		assignments[i] = payload.NewObject(
			payload.Field{Name: "name", Value: payload.NewString(a.Name)},
			payload.Field{Name: "value", Value: textIf(a.Known, a.Value)},
		)
	}
	redirects := make([]payload.Value, len(c.Redirects))
	for i, r := range c.Redirects {
		redirects[i] = payload.NewObject(
			payload.Field{Name: "kind", Value: payload.NewString(r.Kind)},
			payload.Field{Name: "target", Value: textIf(r.Known, r.Target)},
		)
	}
	code := payload.NewNull()
	if c.Code != nil {
		code = payload.NewObject(
			payload.Field{Name: "language", Value: payload.NewString(c.Code.Language)},
			payload.Field{Name: "text", Value: payload.NewString(c.Code.Text)},
		)
	}
	return payload.NewObject(
		payload.Field{Name: "program", Value: textIf(c.Program != "", c.Program)},
		payload.Field{Name: "written", Value: textIf(c.Program != "", c.Written)},
		payload.Field{Name: "builtin", Value: payload.NewBool(c.Builtin)},
		payload.Field{Name: "args", Value: payload.NewArray(args)},
		payload.Field{Name: "assignments", Value: payload.NewArray(assignments)},
		payload.Field{Name: "redirects", Value: payload.NewArray(redirects)},
		payload.Field{Name: "chain", Value: payload.NewStrings(c.Chain)},
		payload.Field{Name: "dir", Value: textIf(c.DirKnown, c.Dir)},
		payload.Field{Name: "known", Value: payload.NewBool(c.Known)},
		payload.Field{Name: "reason", Value: textIf(c.Reason != "", c.Reason)},
		payload.Field{Name: "code", Value: code},
	)
}

func textIf(is bool, text string) payload.Value {
	if !is {
		return payload.NewNull()
	}
	return payload.NewString(text)
}
