// Package shell reads command lines as bash or dash would, without running them: which programs a
// line would start, with what arguments, where, and which files it would write. It never guesses.
// What is decided only at run time is reported as unknown, with the reason, and a caller that guards
// something must take unknown for yes.
//
// It sees the text only: no file system, no environment, no clock. docs/shell.md says what it takes
// for granted about the world.
package shell

import (
	"path"
	"strings"
)

// Dialect is the shell that reads a line.
type Dialect uint8

const (
	Bash Dialect = iota // bash -c LINE, not interactive, not in posix mode
	Dash                // dash -c LINE
	Sh                  // whatever is called sh: known is only what bash and dash agree on
)

// Script is what a line would do.
type Script struct {
	Commands []Command // in the order in which they stand in the text, a wrapper before what it starts
	Error    string    // of the syntax, "" if there is none; Commands has what would run all the same
	Known    bool      // Commands is everything that can run, and each of them is known
	Reasons  []string  // why not, without repeats, in order of appearance
}

// Command is one simple command: a program, a builtin of the shell, or assignments and redirections
// on their own.
type Command struct {
	Program     string       // base name; "" if it is unknown, or if there is none
	Written     string       // the program after expansion, with its folder if it has one
	Builtin     bool         // the shell does it itself
	Args        []Arg        // without the program
	Assignments []Assignment // that stand before it
	Redirects   []Redirect
	Chain       []string // how it is reached, outermost first: "pipe", "and", "subshell", "xargs" ...
	Dir         string   // working directory, "" is where the line starts; relative to that unless absolute
	DirKnown    bool     // false: Dir is a guess or ""
	Known       bool     // what this command starts is known: it and the commands that it leads to
	Reason      string   // why not
	Code        *Code    // code in another language, or for another machine, that it would run

	effects effects
	fields  []field // Args, as the walk knows them
}

// Arg is one argument. One that isn't known has the part of it that is known to come first as Text,
// and can be anything behind that; Many says that it can be any number of arguments, even none.
type Arg struct {
	Text  string
	Known bool
	Many  bool
}

// Assignment is NAME=VALUE.
type Assignment struct {
	Name  string
	Value string
	Known bool
}

// Redirect is one redirection. The target of one that reads or writes is a path as in [Effects].
type Redirect struct {
	Kind   string // read, write, append, readwrite, network, duplicate, heredoc or herestring
	Target string // the file as named, the text of a document, or the descriptor
	Known  bool

	field field
}

// Code is text that a command hands to an interpreter that this package can't read.
type Code struct {
	Language string // "python", "awk" ...; "file" if Text names a file that is run
	Text     string
}

// Answer is yes, no, or unknown.
type Answer uint8

// What an Answer can be.
const (
	No Answer = iota
	Yes
	Unknown
)

// String is "no", "yes" or "unknown".
func (a Answer) String() string { return [...]string{"no", "yes", "unknown"}[a] }

// MayRun tells whether the script can start a program of this base name: Yes if it is named, Unknown
// if it isn't but not everything is known, or if it stands among the arguments of a program whose
// arguments mean nothing to this package, or if it is named with other capitals, which is the same file on
// some systems.
func (s Script) MayRun(program string) Answer {
	program = path.Base(program)
	answer := No
	if !s.Known {
		answer = Unknown
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Program == program {
			return Yes
		}
		if answer == No && (strings.EqualFold(c.Program, program) || c.effects.open && c.mentions(program)) {
			answer = Unknown
		}
	}
	return answer
}

// mentions tells whether a word of what a command gets is the name of a program.
func (c *Command) mentions(program string) bool {
	for _, a := range c.Args {
		if hasName(a.Text, program) {
			return true
		}
	}
	for _, r := range c.Redirects {
		if (r.Kind == "heredoc" || r.Kind == "herestring") && hasName(r.Target, program) {
			return true
		}
	}
	return false
}

// hasName looks for a name that nothing which could belong to a name stands next to.
func hasName(text, name string) bool {
	if name == "" || len(name) > 255 { // no file has such a name
		return false
	}
	text, name = strings.ToLower(text), strings.ToLower(name)
	step := len(name) // a name within a name has a letter next to it
	for i := range len(name) {
		if !inName(name[i]) {
			step = 1
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(name)
		if (start == 0 || !inName(text[start-1])) && (end == len(text) || !inName(text[end])) {
			return true
		}
		at = start + step
	}
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.+", c) >= 0 || c >= 0x80
}

// Effects are the files that a script would change, as far as the text tells. A path stands for itself
// and for everything below it; one that begins with "~/" is in the home folder, any other relative one
// is relative to where the line starts. ".git" is the store of the repository, wherever that is.
// Devices that keep nothing (/dev/null and the like) are left out.
type Effects struct {
	Writes  []string // made or changed
	Deletes []string // removed or moved away
	Known   bool     // these are all
	Reasons []string // why not
}
