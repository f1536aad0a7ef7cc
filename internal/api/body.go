package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// read reads a request: one JSON value whose fields are all known. Nothing at all is the empty one.
func read(r *http.Request, into any) error {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			return Errorf(errMedia, "the request's body is %s, want application/json", kind)
		}
	}
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return unread(err)
	}
	switch _, err := dec.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return Errorf(ErrInvalid, "the request's body has something after its JSON value")
	default:
		return unread(err)
	}
}

// errMedia: the body is something else than JSON.
var errMedia = errors.New("the request's body can't be read")

func unread(err error) error {
	var much *http.MaxBytesError
	if errors.As(err, &much) {
		return err
	}
	return Errorf(ErrInvalid, "the request's body: %w", err)
}

func reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
