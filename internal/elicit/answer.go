package elicit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// The limits of an answer.
const (
	MaxAnswer      = 64 << 10 // bytes
	MaxAnswerDepth = 16
	// MinSecret is the least length of a secret in bytes: a shorter one stands in too many texts by
	// chance to be kept out of them.
	MinSecret = 4
)

// ErrAnswer is what errors about an answer that doesn't fit its question are. They say what would fit,
// and never quote a secret.
var ErrAnswer = errors.New("the answer doesn't fit")

type misfit struct{ error }

// Is is for errors.Is.
func (misfit) Is(err error) bool { return err == ErrAnswer }

// CheckAnswer says whether v answers the question:
//
//	text          a text that isn't empty
//	choice        one of the options
//	multi         a list of options, each at most once
//	secret        a text of at least MinSecret bytes
//	confirmation  true or false
//	form          an object with the fields, of which those not required may be missing
//	validated     a value that fits the schema
//
// The error is an ErrAnswer.
func (q Question) CheckAnswer(v payload.Value) error {
	return q.answer(v, func(_, value string) error {
		switch {
		case len(strings.TrimSpace(value)) < MinSecret:
			return fmt.Errorf("a secret needs at least %d characters, or it couldn't be kept out of other texts", MinSecret)
		case strings.ContainsRune(value, 0):
			return errors.New("a secret can't hold the character NUL")
		}
		return nil
	})
}

// CheckSealed is CheckAnswer for an answer in which handles stand for the secrets.
func (q Question) CheckSealed(v payload.Value, opens func(handle string) bool) error {
	return q.answer(v, func(_, handle string) error {
		if !opens(handle) {
			return errors.New("a secret is answered with a handle that opens; its value would be recorded")
		}
		return nil
	})
}

// Seal checks an answer and puts handles in the place of its secrets. Name is that of the field, or
// "value".
func (q Question) Seal(v payload.Value, keep func(name, value string) (handle string, err error)) (payload.Value, error) {
	if err := q.CheckAnswer(v); err != nil {
		return payload.Value{}, err
	}
	if q.Kind == Secret {
		handle, err := keep("value", v.Text())
		return payload.NewString(handle), err
	}
	for _, f := range q.Fields {
		if secret := v.Get(f.Name); f.Kind == Secret && given(secret) {
			handle, err := keep(f.Name, secret.Text())
			if err != nil {
				return payload.Value{}, err
			}
			v = v.With(field(f.Name, payload.NewString(handle)))
		}
	}
	return v, nil
}

// Secrets are the texts in an answer that stand where secrets belong.
func (q Question) Secrets(v payload.Value) []string {
	if q.Kind == Secret {
		return []string{v.Text()}
	}
	var out []string
	for _, f := range q.Fields {
		if secret := v.Get(f.Name); f.Kind == Secret && given(secret) {
			out = append(out, secret.Text())
		}
	}
	return out
}

func (q Question) answer(v payload.Value, secret func(name, text string) error) error {
	if err := q.fit(v, secret); err != nil {
		return misfit{err}
	}
	return nil
}

func (q Question) fit(v payload.Value, secret func(name, text string) error) error {
	switch {
	case !given(v):
		return errors.New("there is none")
	case v.Size() > MaxAnswer || v.Depth(MaxAnswerDepth) > MaxAnswerDepth:
		return fmt.Errorf("it has more than %d bytes or %d levels", MaxAnswer, MaxAnswerDepth)
	case q.Kind != Form:
		return Field{Kind: q.Kind, Options: q.Options, Schema: q.Schema}.fit(v, secret)
	case v.Kind() != payload.Object:
		return fmt.Errorf("want an object with %s", q.fieldList())
	}
	for name := range v.Members() {
		if !slices.ContainsFunc(q.Fields, func(f Field) bool { return f.Name == name }) {
			return fmt.Errorf("there is no field %.64q: the form has %s", name, q.fieldList())
		}
	}
	for _, f := range q.Fields {
		part := v.Get(f.Name)
		if !given(part) {
			if f.Required {
				return fmt.Errorf("field %s is missing", f.Name)
			}
			continue
		}
		if err := f.fit(part, secret); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (q Question) fieldList() string {
	names := make([]string, len(q.Fields))
	for i, f := range q.Fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func (f Field) fit(v payload.Value, secret func(name, text string) error) error {
	switch f.Kind {
	case Text:
		if v.Kind() != payload.String || strings.TrimSpace(v.Text()) == "" {
			return errors.New("want a text that isn't empty")
		}
	case Secret:
		if v.Kind() != payload.String {
			return errors.New("want a text")
		}
		return secret(f.Name, v.Text())
	case Confirmation:
		if v.Kind() != payload.Bool {
			return errors.New("want true or false")
		}
	case Choice:
		if v.Kind() != payload.String || !slices.Contains(f.Options, v.Text()) {
			return fmt.Errorf("want one of %s", quoted(f.Options))
		}
	case Multi:
		return f.fitMulti(v)
	case Validated:
		return fits(f.Schema, v)
	}
	return nil
}

func (f Field) fitMulti(v payload.Value) error {
	chosen := v.Strings()
	if v.Kind() != payload.Array || len(chosen) != v.Len() {
		return fmt.Errorf("want a list of %s", quoted(f.Options))
	}
	for i, c := range chosen {
		if !slices.Contains(f.Options, c) {
			return fmt.Errorf("item %d is none of %s", i+1, quoted(f.Options))
		}
		if slices.Contains(chosen[:i], c) {
			return fmt.Errorf("%q is in the list twice", c)
		}
	}
	return nil
}

func quoted(options []string) string {
	words := make([]string, len(options))
	for i, o := range options {
		words[i] = fmt.Sprintf("%q", o)
	}
	return brief(strings.Join(words, ", "))
}
