package shell

import "strings"

// Parse reads a line. It takes time and memory linear in the line, see [Work].
func Parse(line string, d Dialect) Script {
	s := Script{Known: true, Commands: make([]Command, 0, 4)}
	w := &walker{out: &s, dialect: d}
	if len(line) > MaxLine {
		w.unknown("the line is too long to be read")
		return s
	}
	if strings.ContainsAny(line, "\x01\x7f") { // bash marks text of its own with them
		w.unknown("the line holds control characters")
	}
	var again int
	w.work, again = Work(len(line), d)
	w.parse = len(line) + again
	st := fresh("", true, false)
	if d == Sh {
		w.shellText(line, Sh, st, context{})
	} else {
		w.text(line, d, st, context{})
	}
	w.runLater()
	if w.loginRan && w.homeTouched {
		w.unknown("a shell reads startup files that are changed in the same line")
	}
	if w.gitRan && w.gitTouched {
		w.unknown("git's files are changed in the same line, which can decide what git runs")
	}
	return s
}
