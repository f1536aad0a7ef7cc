package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// events serves every event as it comes, from Last-Event-ID on where that is still known.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	run := r.URL.Query().Get("run")
	sub := s.b.Subscribe(after)
	defer sub.Close()
	out := newEventWriter(w)
	if err := out.begin(); err != nil {
		return nil
	}
	for {
		e, ok := sub.Next(r.Context())
		if !ok {
			return nil
		}
		if run != "" && e.Run != run {
			continue
		}
		if out.write(e) != nil {
			return nil // the reader is gone
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	w     http.ResponseWriter
	flush func() error
	begun bool
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{w: w, flush: http.NewResponseController(w).Flush}
}

func (o *eventWriter) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	o.w.Header().Set("Content-Type", "text/event-stream")
	o.w.Header().Set("Cache-Control", "no-store")
	if _, err := io.WriteString(o.w, ": agentd\n\n"); err != nil {
		return err
	}
	return o.flush()
}

func (o *eventWriter) write(e Event) error {
	if err := o.begin(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.w, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, e.Data); err != nil {
		return err
	}
	return o.flush()
}

// readEvents parses server-sent events until the stream ends or each returns false.
func readEvents(r io.Reader, each func(Event) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var e Event
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(line) == 0:
			if e.Data != nil && !each(e) {
				return nil
			}
			e = Event{}
		case string(name) == "id":
			e.ID = string(value)
		case string(name) == "event":
			e.Type = string(value)
		case string(name) == "data":
			e.Data = append(e.Data, value...)
		}
	}
}
