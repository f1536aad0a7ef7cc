//go:build linux && (amd64 || arm64)

package shell_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"agentd/builtins/shell"
)

// dialects are the readings that must hold of what a shell did.
var dialects = map[string][]shell.Dialect{
	"bash":  {shell.Bash, shell.Sh},
	"dash":  {shell.Dash, shell.Sh},
	"posix": {shell.Sh},
}

var dialectNames = map[shell.Dialect]string{shell.Bash: "bash", shell.Dash: "dash", shell.Sh: "sh"}

// reading is what the package says of one line.
type reading struct {
	dialect  shell.Dialect
	script   shell.Script
	effects  shell.Effects
	panicked string
}

func readings(line, sh string) []reading {
	var out []reading
	for _, d := range dialects[sh] {
		out = append(out, read(line, d))
	}
	return out
}

func read(line string, d shell.Dialect) (r reading) {
	r.dialect = d
	defer func() {
		if p := recover(); p != nil {
			r.panicked = fmt.Sprint(p)
		}
	}()
	r.script = shell.Parse(line, d)
	r.effects = shell.Writes(r.script)
	return r
}

// paths are those that have to be followed to know what a reading's effects mean.
func paths(all []reading) []string {
	var out []string
	for _, r := range all {
		for _, p := range slices.Concat(r.effects.Writes, r.effects.Deletes) {
			if p = fromHome(p); !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

const (
	fixtureHome = "/home/dev"
	fixtureCwd  = "/home/dev/proj"
)

func fromHome(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return fixtureHome + "/" + rest
	}
	return p
}

// complaints are what a reading got wrong, each with its kind first. Nothing is wrong with "unknown".
func (r reading) complaints(t truth) []string {
	if r.panicked != "" {
		return []string{"panic: " + r.panicked}
	}
	var out []string
	for _, started := range t.Runs {
		if started.Program == r.loaded(t) {
			continue
		}
		if r.script.MayRun(started.Program) == shell.No {
			out = append(out, fmt.Sprintf("unnamed: started %q", started.Argv))
		} else if r.script.Known && !slices.ContainsFunc(r.script.Commands, func(c shell.Command) bool {
			return c.Program == started.Program && fits(c.Args, started.Argv[1:])
		}) {
			out = append(out, fmt.Sprintf("arguments: started %q, which is none of the named", started.Argv))
		}
	}
	if r.effects.Known {
		for _, w := range t.Writes {
			inStore := path.Base(w) == ".git" && t.covers(r.effects.Deletes, w, false) // what is removed of it is listed as a change
			if !inStore && !t.covers(r.effects.Writes, w, true) {
				out = append(out, fmt.Sprintf("write: changed %s", w))
			}
		}
		for _, d := range t.Deletes {
			replaced := slices.ContainsFunc(r.effects.Writes, func(p string) bool { return absolute(fromHome(p)) == absolute(d) }) // and that failed half-way
			if !replaced && !t.covers(r.effects.Deletes, d, false) {
				out = append(out, fmt.Sprintf("delete: removed %s", d))
			}
		}
	}
	if w := r.wronglyAllowed(t); w != "" {
		out = append(out, w)
	}
	if r.script.Known && len(r.script.Reasons) > 0 {
		out = append(out, fmt.Sprintf("reasons: known, but %q", r.script.Reasons))
	}
	if !r.script.Known && len(r.script.Reasons) == 0 && r.script.Error == "" {
		out = append(out, "reasons: unknown without one")
	}
	return out
}

// loaded is the dynamic loader's file name where a line calls it by its other name.
func (r reading) loaded(t truth) string {
	for _, started := range t.Runs {
		if strings.HasPrefix(started.Program, "ld-linux") {
			for _, c := range r.script.Commands {
				if c.Program == path.Base(started.Argv[0]) {
					return started.Program
				}
			}
		}
	}
	return ""
}

// fits tells whether arguments as read can be those that a program got.
func fits(args []shell.Arg, argv []string) bool {
	if len(args) == 0 {
		return len(argv) == 0
	}
	a := args[0]
	if a.Many {
		for n := range len(argv) + 1 {
			if fits(args[1:], argv[n:]) {
				return true
			}
		}
		return false
	}
	if len(argv) == 0 || a.Known && argv[0] != a.Text || !strings.HasPrefix(argv[0], a.Text) {
		return false
	}
	return fits(args[1:], argv[1:])
}

// covers tells whether a changed name is one of those foretold, or lies below one, by name or by
// where that leads. Folders that had to be made on the way there count as foretold.
func (t truth) covers(foretold []string, changed string, onTheWay bool) bool {
	at := absolute(changed)
	return slices.ContainsFunc(foretold, func(p string) bool {
		if p == ".git" && path.Base(at) == ".git" {
			return true
		}
		p = fromHome(p)
		for _, name := range append(t.Places[p], absolute(p)) {
			if under(name, at) || onTheWay && under(at, name) {
				return true
			}
		}
		return false
	})
}

func absolute(p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(fixtureCwd, p)
}

func under(dir, name string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// harmlessPolicy is a guard's list: none of them is replaced in the sandbox, or starts others
// unless it is told to.
var harmlessPolicy = shell.Policy{
	Programs: strings.Fields(`echo printf true false : test [ cat ls head tail wc sort uniq cut tr seq date basename dirname touch mkdir tee cp mv ln
		cd set export local declare unset shift read return exit break continue wait env xargs sh bash dash eval command builtin exec find nohup nice timeout time sed awk git type`),
	Writes: []string{"."},
}

// wronglyAllowed tells why a script should not have passed the policy.
func (r reading) wronglyAllowed(t truth) string {
	if ok, _ := shell.Allowed(r.script, harmlessPolicy); !ok {
		return ""
	}
	for _, started := range t.Runs {
		if !slices.Contains(harmlessPolicy.Programs, started.Program) && started.Program != "mawk" {
			return fmt.Sprintf("allowed: but started %q", started.Argv)
		}
	}
	byText := truth{}
	for _, w := range slices.Concat(t.Writes, t.Deletes) {
		foretold := slices.Concat(r.effects.Writes, r.effects.Deletes)
		if path.IsAbs(w) && (byText.covers(foretold, w, false) || !t.covers(foretold, w, false)) { // else by a link, which a text doesn't show
			return "allowed: but changed " + w
		}
	}
	return ""
}

// TestTheJudgeNotices is about the judge: answers that are wrong on purpose.
func TestTheJudgeNotices(t *testing.T) {
	rm := truth{Runs: []run{{Program: "rm", Argv: []string{"rm", "-rf", "build"}}}, Deletes: []string{"build"}, Writes: []string{"/home/dev/other/x"}}
	known := func(text string) shell.Arg { return shell.Arg{Text: text, Known: true} }
	for _, c := range []struct {
		what     string
		commands []shell.Command
		effects  shell.Effects
		known    bool
		want     string // kinds of complaints
	}{
		{"nothing known", nil, shell.Effects{}, false, "reasons"},
		{"nothing there", nil, shell.Effects{}, true, "unnamed"},
		{"another program", []shell.Command{{Program: "ls", Args: []shell.Arg{{Many: true}}}}, shell.Effects{}, true, "unnamed"},
		{"other arguments", []shell.Command{{Program: "rm", Args: []shell.Arg{known("-rf"), known("src")}}}, shell.Effects{}, true, "arguments"},
		{"too few arguments", []shell.Command{{Program: "rm", Args: []shell.Arg{known("-rf")}}}, shell.Effects{}, true, "arguments"},
		{"another beginning", []shell.Command{{Program: "rm", Args: []shell.Arg{known("-rf"), {Text: "s"}}}}, shell.Effects{}, true, "arguments"},
		{"the same", []shell.Command{{Program: "rm", Args: []shell.Arg{known("-rf"), {Text: "b"}}}}, shell.Effects{}, true, ""},
		{"any", []shell.Command{{Program: "rm", Args: []shell.Arg{{Many: true}, known("build"), {Many: true}}}}, shell.Effects{}, true, ""},
		{"no effects", []shell.Command{{Program: "rm", Args: []shell.Arg{{Many: true}}}}, shell.Effects{Known: true}, true, "write delete"},
		{"other effects", []shell.Command{{Program: "rm", Args: []shell.Arg{{Many: true}}}}, shell.Effects{Known: true, Writes: []string{"built"}, Deletes: []string{"buil", "build/x"}}, true, "write delete"},
		{"the effects", []shell.Command{{Program: "rm", Args: []shell.Arg{{Many: true}}}}, shell.Effects{Known: true, Writes: []string{"link"}, Deletes: []string{"./"}}, true, ""},
	} {
		rm.Places = map[string][]string{"link": {"/home/dev/other"}}
		r := reading{script: shell.Script{Commands: c.commands, Known: c.known}, effects: c.effects}
		var got []string
		for _, w := range r.complaints(rm) {
			if kind, _, _ := strings.Cut(w, ":"); kind != "allowed" { // that is of real scripts only
				got = append(got, kind)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: complaints %q, want %s", c.what, got, c.want)
		}
	}
}
