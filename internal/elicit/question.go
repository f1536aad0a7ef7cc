// Package elicit is what a person can be asked for: the kinds of questions, what makes a good one,
// and whether an answer fits. It asks nobody and keeps nothing; it also runs where a question is
// written (the model's tool, a host) and where it is answered (the terminal, the API, a hook).
package elicit

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// Kind is what an answer is.
type Kind string

// The kinds.
const (
	Text         Kind = "text"         // a text that isn't empty
	Choice       Kind = "choice"       // one of the options
	Multi        Kind = "multi"        // a list of options, each at most once; it may be empty
	Secret       Kind = "secret"       // a text of which only a handle is kept, see Seal
	Confirmation Kind = "confirmation" // true or false
	Form         Kind = "form"         // an object with an answer for each field
	Validated    Kind = "validated"    // a value that fits a JSON Schema
)

// Kinds lists them; only a form's fields can't be forms.
var Kinds = []Kind{Text, Choice, Multi, Secret, Confirmation, Form, Validated}

// The limits of a question, in characters where nothing else is said.
const (
	MaxPrompt  = 4000
	MaxOptions = 100 // options of a question
	MaxOption  = 200
	MaxFields  = 32 // fields of a form
)

// Question is what a person is asked.
type Question struct {
	Kind    Kind
	Prompt  string
	Options []string      // of choice and multi
	Fields  []Field       // of form
	Schema  payload.Value // of validated: the JSON Schema of the answer
}

// Field is one named part of a form.
type Field struct {
	Name     string // a letter, then letters, digits and _, at most 64 in all
	Kind     Kind
	Prompt   string // "" shows the name
	Required bool
	Options  []string
	Schema   payload.Value
}

// ErrQuestion is wrapped by errors about a question that nobody could answer.
var ErrQuestion = errors.New("the question is no good")

// Sensitive reports whether an answer holds a secret.
func (q Question) Sensitive() bool {
	return q.Kind == Secret || slices.ContainsFunc(q.Fields, func(f Field) bool { return f.Kind == Secret })
}

// fieldName is what the name of a field can be: it stands in handles and in errors.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// Check says what is wrong with a question. The error wraps ErrQuestion.
func (q Question) Check() error {
	if err := q.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	return nil
}

func (q Question) check() error {
	switch {
	case strings.TrimSpace(q.Prompt) == "":
		return errors.New("its prompt is empty")
	case utf8.RuneCountInString(q.Prompt) > MaxPrompt:
		return fmt.Errorf("its prompt has more than %d characters", MaxPrompt)
	case q.Kind == Form && len(q.Fields) == 0:
		return errors.New("a form needs fields")
	case q.Kind != Form && len(q.Fields) > 0:
		return fmt.Errorf("fields are for a form, and its kind is %s", q.Kind)
	case len(q.Fields) > MaxFields:
		return fmt.Errorf("a form has at most %d fields", MaxFields)
	case q.Kind != Form:
		return Field{Kind: q.Kind, Options: q.Options, Schema: q.Schema}.check()
	case len(q.Options) > 0 || q.Schema.Exists():
		return errors.New("options and schema of a form stand in its fields")
	}
	seen := map[string]bool{}
	for i, f := range q.Fields {
		switch {
		case !fieldName.MatchString(f.Name):
			return fmt.Errorf("the name of field %d must be a letter, then letters, digits and _, at most 64 in all", i+1)
		case seen[f.Name]:
			return fmt.Errorf("two fields have the name %s", f.Name)
		case f.Kind == Form:
			return fmt.Errorf("field %s can't be a form", f.Name)
		case utf8.RuneCountInString(f.Prompt) > MaxPrompt:
			return fmt.Errorf("the prompt of field %s has more than %d characters", f.Name, MaxPrompt)
		}
		seen[f.Name] = true
		if err := f.check(); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// check looks at what kind, options and schema have to do with each other.
func (f Field) check() error {
	switch {
	case !slices.Contains(Kinds, f.Kind):
		return fmt.Errorf("its kind is %.40q, want one of %s", f.Kind, kindList())
	case f.Kind == Choice || f.Kind == Multi:
		if f.Schema.Exists() {
			return fmt.Errorf("a schema is for validated, and its kind is %s", f.Kind)
		}
		return checkOptions(f.Options)
	case len(f.Options) > 0:
		return fmt.Errorf("options are for choice and multi, and its kind is %s", f.Kind)
	case f.Kind != Validated && f.Schema.Exists():
		return fmt.Errorf("a schema is for validated, and its kind is %s", f.Kind)
	case f.Kind != Validated:
		return nil
	case !f.Schema.Exists():
		return errors.New("a validated answer needs a schema, or pattern, min or max")
	}
	_, err := compile(f.Schema)
	return err
}

func kindList() string {
	words := make([]string, len(Kinds))
	for i, k := range Kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

func checkOptions(options []string) error {
	if len(options) == 0 || len(options) > MaxOptions {
		return fmt.Errorf("it needs between 1 and %d options", MaxOptions)
	}
	seen := map[string]bool{}
	for i, o := range options {
		switch {
		case strings.TrimSpace(o) == "":
			return fmt.Errorf("option %d is empty", i+1)
		case utf8.RuneCountInString(o) > MaxOption:
			return fmt.Errorf("option %d has more than %d characters", i+1, MaxOption)
		case strings.ContainsFunc(o, unicode.IsControl):
			return fmt.Errorf("option %d isn't one line of text", i+1)
		case seen[o]:
			return fmt.Errorf("two options are %q", o)
		}
		seen[o] = true
	}
	return nil
}
