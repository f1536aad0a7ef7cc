package api

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/operation"
)

// maxBody bounds a request: the largest payload, and what surrounds it.
const maxBody = hookpoints.MaxPayload + 1<<20

// Handler serves the API. With a token, every request must carry it as a bearer.
func Handler(b Backend, token string) http.Handler {
	s := &server{b}
	mux := http.NewServeMux()
	for pattern, h := range s.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			if err := h(w, r); err != nil {
				problem(w, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { nothing(w, r, mux) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			given = ""
		}
		if token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeProblem(w, http.StatusUnauthorized, "a bearer token is needed; it stands in the file token of the state folder")
			return
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bearer{}, given)))
	})
}

// routes are the paths that the API has. docs/cli.md lists them.
func (s *server) routes() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /v1/decide":                  s.decide,
		"GET /v1/status":                   s.status,
		"GET /v1/hooks":                    s.hooks,
		"POST /v1/plan":                    s.plan,
		"GET /v1/events":                   s.events,
		"POST /v1/runs":                    s.startRun,
		"GET /v1/runs":                     s.runs,
		"GET /v1/runs/{id}":                s.run,
		"POST /v1/runs/{id}/resume":        s.resumeRun,
		"POST /v1/runs/{id}/cancel":        s.cancelRun,
		"GET /v1/operations":               s.operations,
		"GET /v1/operations/{id...}":       s.operation,
		"POST /v1/operations/{id...}":      s.reconcile, // ID/reconcile; ids have slashes
		"GET /v1/questions":                s.questions,
		"POST /v1/questions/{id...}":       s.answer,
		"GET /v1/state":                    s.state,
		"POST /v1/state/clear":             s.clearState,
		"POST /v1/publish":                 s.publish,
		"POST /v1/reload":                  s.reload,
		"GET /v1/revisions":                s.revisions,
		"GET /v1/revisions/{id}":           s.revision,
		"POST /v1/revisions/{id}/rollback": s.rollback,
		"POST /v1/hook/{client}":           s.hook,
	}
}

type bearer struct{}

// Bearer is who a request says that it comes from, "" if it doesn't say.
func Bearer(ctx context.Context) string {
	s, _ := ctx.Value(bearer{}).(string)
	return s
}

// nothing answers where there is nothing, or not for this method.
func nothing(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			w.Header().Set("Allow", method)
			writeProblem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s takes %s, not %s", r.URL.Path, method, r.Method))
			return
		}
	}
	writeProblem(w, http.StatusNotFound, fmt.Sprintf("there is nothing at %s; the paths are in docs/cli.md", r.URL.Path))
}

type server struct{ b Backend }

func (s *server) decide(w http.ResponseWriter, r *http.Request) error {
	var q agentd.DecideRequest
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.Decide(r.Context(), q)
	return reply(w, res, err)
}

func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Status(r.Context())
	return reply(w, res, err)
}

func (s *server) hooks(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Hooks(r.Context())
	return reply(w, res, err)
}

func (s *server) plan(w http.ResponseWriter, r *http.Request) error {
	var q agentd.PlanRequest
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.Plan(r.Context(), q)
	return reply(w, res, err)
}

func (s *server) startRun(w http.ResponseWriter, r *http.Request) error {
	var q StartRun
	if err := read(r, &q); err != nil {
		return err
	}
	return s.stream(w, r, q.Interactive, func() (Run, error) { return s.b.StartRun(r.Context(), q) })
}

func (s *server) resumeRun(w http.ResponseWriter, r *http.Request) error {
	var q ResumeRun
	if err := read(r, &q); err != nil {
		return err
	}
	return s.stream(w, r, q.Interactive, func() (Run, error) { return s.b.ResumeRun(r.Context(), r.PathValue("id"), q) })
}

// stream answers with the run, or, where events were asked for, with its events to the end.
func (s *server) stream(w http.ResponseWriter, r *http.Request, interactive bool, start func() (Run, error)) error {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		run, err := start()
		return reply(w, run, err)
	}
	sub := s.b.Subscribe("")
	defer sub.Close()
	run, err := start()
	if err != nil {
		return err
	}
	if interactive {
		defer s.b.LeaveRun(run.RunID)
	}
	out := newEventWriter(w)
	for {
		e, ok := sub.Next(r.Context())
		if !ok {
			return nil
		}
		if e.Run != run.RunID {
			continue
		}
		if err := out.write(e); err != nil {
			return nil // the reader is gone
		}
		if Ends(e.Type) {
			return nil
		}
	}
}

// Ends reports whether an event is the last of its run, for now.
func Ends(kind string) bool {
	switch kind {
	case "run.completed", "run.failed", "run.rejected", "run.stopped", "run.waiting", "run.interrupted", "run.cancelled":
		return true
	}
	return false
}

func (s *server) runs(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Runs(r.Context())
	return reply(w, res, err)
}

func (s *server) run(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Run(r.Context(), r.PathValue("id"))
	return reply(w, res, err)
}

func (s *server) cancelRun(w http.ResponseWriter, r *http.Request) error {
	return reply(w, struct{}{}, s.b.CancelRun(r.Context(), r.PathValue("id")))
}

func (s *server) operations(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := OperationFilter{Run: q.Get("run"), State: q.Get("state"), Kind: q.Get("kind"), Client: q.Get("client")}
	var err error
	if since := q.Get("since"); since != "" {
		if f.Since, err = time.ParseDuration(since); err != nil {
			return Errorf(ErrInvalid, "since is %q, want one like 1h", since)
		}
	}
	if limit := q.Get("limit"); limit != "" {
		if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 1 {
			return Errorf(ErrInvalid, "limit is %q, want a number above 0", limit)
		}
	}
	res, err := s.b.Operations(r.Context(), f)
	return reply(w, res, err)
}

func (s *server) operation(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Operation(r.Context(), r.PathValue("id"), r.URL.Query().Get("raw") == "true")
	return reply(w, res, err)
}

func (s *server) reconcile(w http.ResponseWriter, r *http.Request) error {
	id, ok := strings.CutSuffix(r.PathValue("id"), "/reconcile")
	if !ok {
		return Errorf(ErrNotFound, "there is nothing to post at %s; the paths are in docs/cli.md", r.URL.Path)
	}
	var q Reconcile
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.Reconcile(r.Context(), id, q)
	return reply(w, res, err)
}

func (s *server) questions(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Questions(r.Context())
	if res == nil {
		res = []operation.Question{}
	}
	return reply(w, res, err)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) error {
	var a Answer
	if err := read(r, &a); err != nil {
		return err
	}
	res, err := s.b.Answer(r.Context(), r.PathValue("id"), a)
	return reply(w, res, err)
}

func (s *server) state(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.State(r.Context(), r.URL.Query().Get("session"))
	return reply(w, res, err)
}

func (s *server) clearState(w http.ResponseWriter, r *http.Request) error {
	var q ClearState
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.ClearState(r.Context(), q)
	return reply(w, res, err)
}

func (s *server) publish(w http.ResponseWriter, r *http.Request) error {
	var q Publish
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.Publish(r.Context(), q)
	return reply(w, res, err)
}

func (s *server) rollback(w http.ResponseWriter, r *http.Request) error {
	var q Rollback
	if err := read(r, &q); err != nil {
		return err
	}
	res, err := s.b.Rollback(r.Context(), r.PathValue("id"), q)
	return reply(w, res, err)
}

// reload judges the working files again, as what is trusted has changed.
func (s *server) reload(w http.ResponseWriter, r *http.Request) error {
	var q struct{}
	if err := read(r, &q); err != nil {
		return err
	}
	return reply(w, struct{}{}, s.b.Reload(r.Context()))
}

func (s *server) revisions(w http.ResponseWriter, r *http.Request) error {
	res, err := s.b.Revisions(r.Context())
	return reply(w, res, err)
}

func (s *server) revision(w http.ResponseWriter, r *http.Request) error {
	rev, err := s.b.Revision(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return reply(w, json.RawMessage(rev.Manifest), nil)
}

func (s *server) hook(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return unread(err)
	}
	ctx := r.Context()
	if within := r.Header.Get(headWithin); within != "" {
		d, err := time.ParseDuration(within)
		if err != nil || d <= 0 {
			return Errorf(ErrInvalid, "%s is %q, want a time like 48s", headWithin, within)
		}
		inner, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		ctx = inner
	}
	out, exit, err := s.b.Hook(ctx, r.PathValue("client"), r.URL.Query().Get("event"), body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream") // the client's own protocol
	w.Header().Set(headExit, strconv.Itoa(exit))
	w.Header().Set("Content-Length", strconv.Itoa(len(out))) // agentd-hook reads no chunks
	_, err = w.Write(out)
	return err
}

// What goes with a client's event and with its answer. cmd/agentd-hook writes and reads them too.
const (
	headWithin = "Agentd-Within" // how long the client waits for the answer, as Go writes a duration
	headExit   = "Agentd-Exit"   // the exit code that goes with it
)
