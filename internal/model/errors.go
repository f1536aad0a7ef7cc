package model

import "errors"

// What a failed call means for whoever must decide whether to ask again.
var (
	// ErrNotSent: the model surely didn't work on the request; asking again is safe.
	ErrNotSent = errors.New("the model wasn't asked")

	// ErrRefused: the server answered, with an error; asking the same again will hardly help.
	ErrRefused = errors.New("the model server refused the request")

	// ErrUnknown: the request went out and the answer was lost; the model may have worked on it.
	ErrUnknown = errors.New("the model's answer was lost")

	// ErrMalformed: an answer came and isn't a usable reply. [Error.Raw] holds its text.
	ErrMalformed = errors.New("the model's reply can't be read")
)

// Error is how every failed call ends.
type Error struct {
	// Kind is one of the four sentinels.
	Kind error

	// Message is one sentence: what happened, where, and what to do.
	Message string

	// Status is the HTTP status, 0 if none came.
	Status int

	// Raw is the beginning of what the server sent, at most 64 KiB.
	Raw string

	// Err is the cause, or nil.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap lets errors.Is find both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
