package shell

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// spec says what a program does with its arguments.
type spec struct {
	kind     string
	number   int    // of writes and runs
	text     string // of unknown and starts
	short    map[byte]opt
	long     map[string]opt // with their dashes
	operands map[string]bool
	starts   bool // it can start other programs
}

// opt is one option.
type opt struct {
	value    string // "no", "yes" or "may"
	role     string // of the value, "" if it doesn't matter
	unknown  bool
	vague    bool
	terminal string // as written
}

// programs is the table, read when it is first needed.
var programs = sync.OnceValue(func() map[string]*spec { return readPrograms(programsText) })

func readPrograms(text string) map[string]*spec {
	table := map[string]*spec{}
	var current *spec
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), " # ")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case line[0] == '\t':
			current.options(strings.Fields(line))
		default:
			list, what, ok := strings.Cut(line, "\t")
			if !ok {
				panic("shell: programs.txt: no kind in " + line)
			}
			words := strings.Fields(what)
			current = &spec{kind: words[0], short: map[byte]opt{}, long: map[string]opt{}, operands: map[string]bool{}}
			current.text = strings.Join(words[1:], " ")
			if n, err := strconv.Atoi(current.text); err == nil {
				current.number = n
			}
			current.starts = current.kind == "runs" || current.kind == "own" || current.kind == "special"
			for _, name := range strings.Fields(list) {
				if table[name] != nil {
					panic("shell: programs.txt: twice " + name)
				}
				table[name] = current
			}
		}
	}
	return table
}

// options reads a line of options.
func (s *spec) options(words []string) {
	if words[0] == "=" {
		for _, w := range words[1:] {
			s.operands[w] = true
		}
		return
	}
	for _, w := range words {
		o := opt{value: "no", terminal: w}
		name, exact := strings.CutPrefix(w, "@")
		if exact || strings.HasPrefix(w, "--") {
			if i := strings.IndexAny(name, "=?!^"); i >= 0 {
				o.read(name[i:])
				name = name[:i]
			}
			s.long[name] = o
		} else if i := strings.IndexAny(w, ":?!^"); i == 2 {
			o.read(w[i:])
			s.short[w[1]] = o
		} else {
			for j := 1; j < len(w); j++ {
				s.short[w[j]] = o
			}
		}
		s.starts = s.starts || o.unknown || o.role == "program" || o.role == "words" || o.role == "sh" || o.role == "shell"
	}
}

func (o *opt) read(how string) {
	switch how[0] {
	case '=', ':':
		o.value = "yes"
	case '?':
		o.value = "may"
	case '!':
		o.unknown = true
		o.value = "may"
	case '^':
		o.vague = true
		o.value = "may"
	}
	o.role = how[1:]
}

// canonical is the name under which a program is in the table: python3.11 is python.
func canonical(name string) string {
	if _, ok := programs()[name]; ok {
		return name
	}
	return strings.TrimRight(name, "0123456789.-")
}

// given is an option as it was given.
type given struct {
	name  string
	opt   opt
	value field
	has   bool
}

// parsed are the arguments of a program, told apart.
type parsed struct {
	options  []given
	operands []field
	problem  string // why they can't be told apart
}

func (p *parsed) has(names ...string) bool {
	_, ok := p.find(names...)
	return ok
}

func (p *parsed) find(names ...string) (given, bool) {
	for i := len(p.options) - 1; i >= 0; i-- {
		for _, n := range names {
			if p.options[i].name == n {
				return p.options[i], true
			}
		}
	}
	return given{}, false
}

// parseArgs tells options and operands apart as getopt_long does. first says that the options end at the
// first operand.
func (s *spec) parseArgs(w *walker, args []field, first bool) parsed {
	var p parsed
	for i := 0; i < len(args); i++ {
		if !w.spend(1) {
			break
		}
		f := args[i]
		switch f.option() {
		case Unknown:
			p.trouble("an argument that is only known at run time may be an option")
			p.operands = append(p.operands, f)
			if first {
				p.operands = append(p.operands, args[i+1:]...)
				return p
			}
			continue
		case No:
			if first {
				p.operands = append(p.operands, args[i:]...)
				return p
			}
			p.operands = append(p.operands, f)
			continue
		}
		if !f.known { // begins with a dash
			p.trouble("an option is only known at run time")
			continue
		}
		if f.text == "--" {
			p.operands = append(p.operands, args[i+1:]...)
			return p
		}
		if o, ok := s.long[f.text]; ok && !strings.HasPrefix(f.text, "--") { // -nv
			p.options = append(p.options, given{name: f.text, opt: o})
			continue
		}
		if strings.HasPrefix(f.text, "--") {
			i = s.longOption(&p, args, i)
			continue
		}
		i = s.cluster(&p, args, i)
	}
	return p
}

func (p *parsed) trouble(why string) {
	if p.problem == "" {
		p.problem = why
	}
}

func (s *spec) longOption(p *parsed, args []field, i int) int {
	name, text, attached := strings.Cut(args[i].text, "=")
	o, ok := s.long[name]
	if !ok {
		p.trouble("the option " + name + " isn't known")
		return i
	}
	g := given{name: name, opt: o}
	switch {
	case attached:
		g.value, g.has = literal(text), true
	case o.value == "yes" && i+1 < len(args):
		i++
		g.value, g.has = args[i], true
		if g.value.many {
			p.trouble("the value of " + name + " is only known at run time")
		}
	}
	p.options = append(p.options, g)
	return i
}

func (s *spec) cluster(p *parsed, args []field, i int) int {
	text := args[i].text
	for j := 1; j < len(text); j++ {
		o, ok := s.short[text[j]]
		if !ok {
			if s.kind == "runs" && text[j] >= '0' && text[j] <= '9' && j == 1 && strings.Trim(text[1:], "0123456789") == "" {
				return i // nice -10
			}
			p.trouble("the option -" + text[j:j+1] + " isn't known")
			return i
		}
		g := given{name: "-" + text[j:j+1], opt: o}
		if o.value == "no" {
			p.options = append(p.options, g)
			continue
		}
		if j+1 < len(text) {
			g.value, g.has = literal(text[j+1:]), true
		} else if o.value == "yes" && i+1 < len(args) {
			i++
			g.value, g.has = args[i], true
			if g.value.many {
				p.trouble("the value of -" + text[j:j+1] + " is only known at run time")
			}
		}
		p.options = append(p.options, g)
		return i
	}
	return i
}
