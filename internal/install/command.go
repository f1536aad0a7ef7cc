package install

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// arguments are what agentd-hook is started with.
func (r Registration) arguments(client string, anywhere bool) []string {
	args := []string{client, "--event=" + r.Event, "--timeout=" + strconv.Itoa(int(r.Timeout/time.Second))}
	if r.Closed {
		args = append(args, "--closed")
	}
	if anywhere {
		args = append(args, "--anywhere")
	}
	return args
}

// handler is a registration as compact JSON, in the client's form. Where that has arguments of its own, other clients
// that read the file (and old versions of the client) may start the command alone, through a shell. So a path that a
// shell reads otherwise stands in a line for a shell, which all of them start alike.
func (c Client) handler(r Registration, program string, anywhere bool) string {
	args := r.arguments(c.Name, anywhere)
	form := c.Handler
	if Line([]string{program}) != program {
		form = strings.Replace(form, `"PROGRAM","args":"ARGUMENTS"`, `"LINE"`, 1)
	}
	if c.failsClosed(r) {
		form = strings.TrimSuffix(form, "}") + "," + c.Closed + "}"
	}
	out := strings.NewReplacer(
		`"LINE"`, quoted(Line(append([]string{program}, args...))), `"PROGRAM"`, quoted(program), `"ARGUMENTS"`, quoted(args),
		`"SECONDS"`, strconv.FormatInt(int64(r.Timeout/time.Second), 10), `"MILLISECONDS"`, strconv.FormatInt(int64(r.Timeout/time.Millisecond), 10),
	).Replace(form)
	if c.Grouped {
		return `{"hooks":[` + out + `]}`
	}
	return out
}

// failsClosed reports whether the client itself refuses the event when it gets no answer.
func (c Client) failsClosed(r Registration) bool {
	if c.Closed == "" || !r.Closed {
		return false
	}
	for _, event := range c.ClosedAt {
		if event == r.Event {
			return true
		}
	}
	return c.ClosedAt == nil
}

func quoted(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings always can be
	}
	return strings.TrimSpace(out.String())
}

// Line is a command line that every shell takes apart into just these words.
func Line(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("/._-=:@%+,", r)
		}) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// words takes a line apart that Line made; others are cut at blanks.
func words(line string) (out []string) {
	var word strings.Builder
	quote, any := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quote, any = !quote, true
		case c == '\\' && !quote && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case c == ' ' && !quote:
			if any || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
		}
	}
	if any || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// commandFields are where clients have the command of a handler.
var commandFields = []string{"command", "bash", "exec"}

// commandOf is the command of a handler, in words and as it stands there; nil if it isn't one of ours.
func commandOf(handler *node) (argv []string, line string) {
	for _, name := range commandFields {
		n := handler.get(name)
		if n == nil || n.kind != '"' {
			continue
		}
		argv = []string{n.text}
		if args := handler.get("args"); args != nil && args.kind == '[' {
			for i := range args.children {
				argv = append(argv, args.children[i].value.text)
			}
		} else {
			argv = words(n.text)
		}
		if len(argv) > 0 && path.Base(argv[0]) == programName {
			return argv, n.text
		}
	}
	return nil, ""
}

// checkPath refuses a path that can't stand in a file of lines.
func checkPath(p string) error {
	if strings.ContainsAny(p, "\n\r\x00") {
		return fmt.Errorf("the path %q has a line end in it, and what is installed can't; move it to another folder", p)
	}
	return nil
}
