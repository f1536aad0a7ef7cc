package elicit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"agentd/hookpoints/payload"
)

// Dialog takes a question apart into lines that a person types, and puts their answer together. It
// belongs to one goroutine.
type Dialog struct {
	q      Question
	parts  []Field // of a form its fields, else the question itself
	given  []payload.Value
	answer payload.Value
}

// NewDialog begins one.
func NewDialog(q Question) *Dialog {
	d := &Dialog{q: q, parts: q.Fields}
	if q.Kind != Form {
		d.parts = []Field{{Kind: q.Kind, Required: true, Options: q.Options, Schema: q.Schema}}
	}
	return d
}

// Intro is what is shown before anything is asked: the prompt, for a person to read.
func (d *Dialog) Intro() string { return Plain(d.q.Prompt) }

// Next is what is asked for now, to be shown before the line is read. A hidden line isn't shown while
// it is typed.
func (d *Dialog) Next() (show string, hidden bool) {
	f := d.parts[len(d.given)]
	var b strings.Builder
	if d.q.Kind == Form {
		fmt.Fprintf(&b, "%d of %d: %s\n", len(d.given)+1, len(d.parts), Plain(f.Label()))
	}
	for i, o := range f.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, Plain(o))
	}
	b.WriteString(map[Kind]string{
		Text: "a text", Choice: "a number", Multi: "numbers with commas between, or - for none", Secret: "not shown while you type", Confirmation: "y or n", Validated: "a value",
	}[f.Kind])
	if f.Kind == Validated {
		b.WriteString(" that fits " + Plain(brief(f.Schema.String())))
	}
	if !f.Required {
		b.WriteString("; nothing leaves it out")
	}
	b.WriteString(" (" + Declines + " and why declines): ")
	return b.String(), f.Kind == Secret
}

// Declines is the word that declines.
const Declines = "/no"

// Declined reports whether a line declines, and why.
func Declined(line string) (reason string, ok bool) {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	return strings.TrimSpace(reason), word == Declines
}

// Take takes a line. An error says why it doesn't answer what was asked last, which is asked again.
// Done means that Answer has the answer.
func (d *Dialog) Take(line string) (done bool, err error) {
	f := d.parts[len(d.given)]
	var v payload.Value
	if strings.TrimSpace(line) != "" || f.Required {
		if v, err = f.read(line); err != nil {
			return false, err
		}
	}
	d.given = append(d.given, v)
	if len(d.given) < len(d.parts) {
		return false, nil
	}
	d.answer = d.whole()
	if err := d.q.CheckAnswer(d.answer); err != nil { // no part of it alone
		d.given = nil
		return false, err
	}
	return true, nil
}

// Answer is what was put together.
func (d *Dialog) Answer() payload.Value { return d.answer }

func (d *Dialog) whole() payload.Value {
	if d.q.Kind != Form {
		return d.given[0]
	}
	fields := make([]payload.Field, len(d.parts))
	for i, f := range d.parts {
		fields[i] = field(f.Name, d.given[i])
	}
	return payload.NewObject(fields...)
}

// read makes a value of a line and checks it.
func (f Field) read(line string) (payload.Value, error) {
	check := func(v payload.Value) error {
		return Question{Kind: f.Kind, Options: f.Options, Schema: f.Schema}.CheckAnswer(v)
	}
	v, word := payload.NewString(line), strings.TrimSpace(line)
	switch f.Kind {
	case Choice:
		one, err := f.option(word)
		if err != nil {
			return v, err
		}
		v = payload.NewString(one)
	case Multi:
		var chosen []string
		for _, part := range strings.Split(word, ",") {
			if word == "-" || word == "" {
				break
			}
			one, err := f.option(strings.TrimSpace(part))
			if err != nil {
				return v, err
			}
			chosen = append(chosen, one)
		}
		v = payload.NewStrings(chosen)
	case Confirmation:
		switch strings.ToLower(word) {
		case "y", "yes", "true":
			v = payload.NewBool(true)
		case "n", "no", "false":
			v = payload.NewBool(false)
		default:
			return v, errors.New("want y or n")
		}
	case Validated: // as it was typed, or as JSON
		err := check(v)
		if parsed, bad := payload.ParseString(word); err != nil && bad == nil {
			if asJSON := check(parsed); asJSON == nil || f.Schema.Get("type").Text() != "string" {
				v, err = parsed, asJSON
			}
		}
		return v, err
	}
	return v, check(v)
}

// option is the one with a number, or with this text.
func (f Field) option(word string) (string, error) {
	for _, o := range f.Options {
		if o == word {
			return o, nil
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1], nil
	}
	return "", fmt.Errorf("want a number from 1 to %d", len(f.Options))
}

// Plain makes a text safe to show: what could move the cursor or turn the direction becomes U+FFFD.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
