package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"agentd/hookpoints"
	"agentd/revision"
)

// Problem is an error as RFC 9457 writes it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

func problem(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var much *http.MaxBytesError
	switch {
	case errors.As(err, &much):
		status, err = http.StatusRequestEntityTooLarge, fmt.Errorf("the request's body has more than %d bytes", much.Limit)
	case errors.Is(err, errMedia):
		status = http.StatusUnsupportedMediaType
	case errors.Is(err, ErrNotFound), errors.Is(err, revision.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ErrBusy), errors.Is(err, ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, ErrInvalid), errors.Is(err, hookpoints.ErrContract):
		status = http.StatusBadRequest
	case errors.Is(err, ErrClosing):
		status = http.StatusServiceUnavailable
	}
	writeProblem(w, status, err.Error())
}

func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// The status is out already; a reader that is gone gets nothing more.
	_ = enc.Encode(Problem{"about:blank", http.StatusText(status), status, detail})
}
