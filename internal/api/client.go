package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agentd"
	"agentd/operation"
)

var (
	// ErrNoDaemon: nobody answers on the socket, so nothing was asked.
	ErrNoDaemon = errors.New("no daemon answers")
	// ErrLost: the daemon went away before it had answered; what was asked may have been done.
	ErrLost = errors.New("the daemon went away in the middle of this")
)

// Client speaks to a daemon on its socket.
type Client struct {
	http   *http.Client
	socket string
	bearer string
}

// Dial makes a client of the socket and asks whether somebody answers.
func Dial(ctx context.Context, socket string) (*Client, error) {
	c := NewClient(socket, "")
	if _, err := c.Status(ctx); err != nil {
		c.Close()
		if !errors.Is(err, ErrNoDaemon) {
			err = fmt.Errorf("%w on %s: %w", ErrNoDaemon, socket, err)
		}
		return nil, err
	}
	return c, nil
}

// NewClient makes a client of a socket on which somebody is known to answer. The bearer says who asks,
// where that counts.
func NewClient(socket, bearer string) *Client {
	dialer := &net.Dialer{}
	return &Client{&http.Client{Transport: &http.Transport{
		// A connection that waits for its next request would be closed under it by a daemon that ends.
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, "unix", socket)
			if err != nil {
				err = fmt.Errorf("%w on %s: %w", ErrNoDaemon, socket, err)
			}
			return c, err
		},
	}}, socket, bearer}
}

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks what serves.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.do(ctx, "GET", "/v1/status", nil, &s)
}

// Hooks lists the bindings that serve.
func (c *Client) Hooks(ctx context.Context) (rows []HookRow, err error) {
	return rows, c.do(ctx, "GET", "/v1/hooks", nil, &rows)
}

// Plan asks which bindings a call would meet.
func (c *Client) Plan(ctx context.Context, q agentd.PlanRequest) (rows []agentd.PlanRow, err error) {
	return rows, c.do(ctx, "POST", "/v1/plan", q, &rows)
}

// Decide asks what a chain would do.
func (c *Client) Decide(ctx context.Context, q agentd.DecideRequest) (res agentd.DecideResult, err error) {
	return res, c.do(ctx, "POST", "/v1/decide", q, &res)
}

// ClearState forgets what hooks remember, and says what it was.
func (c *Client) ClearState(ctx context.Context, q ClearState) (rows []StateRow, err error) {
	return rows, c.do(ctx, "POST", "/v1/state/clear", q, &rows)
}

// Runs lists runs, oldest first.
func (c *Client) Runs(ctx context.Context) (runs []Run, err error) {
	return runs, c.do(ctx, "GET", "/v1/runs", nil, &runs)
}

// Run shows a run.
func (c *Client) Run(ctx context.Context, id string) (run Run, err error) {
	return run, c.do(ctx, "GET", "/v1/runs/"+url.PathEscape(id), nil, &run)
}

// CancelRun ends a run.
func (c *Client) CancelRun(ctx context.Context, id string) error {
	return c.do(ctx, "POST", "/v1/runs/"+url.PathEscape(id)+"/cancel", struct{}{}, nil)
}

// StartRun starts a run and hands its events to each, the last one included.
func (c *Client) StartRun(ctx context.Context, q StartRun, each func(Event)) error {
	return c.stream(ctx, "/v1/runs", q, each)
}

// ResumeRun takes a run up again and hands its events to each.
func (c *Client) ResumeRun(ctx context.Context, id string, q ResumeRun, each func(Event)) error {
	return c.stream(ctx, "/v1/runs/"+url.PathEscape(id)+"/resume", q, each)
}

// Operations lists operations, oldest first.
func (c *Client) Operations(ctx context.Context, f OperationFilter) (ops []Operation, err error) {
	q := url.Values{}
	for name, value := range map[string]string{"run": f.Run, "state": f.State, "kind": f.Kind, "client": f.Client} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Since > 0 {
		q.Set("since", f.Since.String())
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return ops, c.do(ctx, "GET", "/v1/operations?"+q.Encode(), nil, &ops)
}

// Operation shows an operation; raw also its real result.
func (c *Client) Operation(ctx context.Context, id string, raw bool) (op Operation, err error) {
	return op, c.do(ctx, "GET", "/v1/operations/"+url.PathEscape(id)+"?raw="+strconv.FormatBool(raw), nil, &op)
}

// Reconcile settles an operation of which nobody knows how it ended.
func (c *Client) Reconcile(ctx context.Context, id string, q Reconcile) (op Operation, err error) {
	return op, c.do(ctx, "POST", "/v1/operations/"+url.PathEscape(id)+"/reconcile", q, &op)
}

// Questions lists what waits for a person.
func (c *Client) Questions(ctx context.Context) (qs []operation.Question, err error) {
	return qs, c.do(ctx, "GET", "/v1/questions", nil, &qs)
}

// Answer answers a question.
func (c *Client) Answer(ctx context.Context, id string, a Answer) (res Answered, err error) {
	return res, c.do(ctx, "POST", "/v1/questions/"+url.PathEscape(id), a, &res)
}

// Publish freezes a layer's working files.
func (c *Client) Publish(ctx context.Context, q Publish) (p Published, err error) {
	return p, c.do(ctx, "POST", "/v1/publish", q, &p)
}

// Rollback makes an earlier revision, by its id or an unambiguous beginning of it, the head again.
func (c *Client) Rollback(ctx context.Context, id string, q Rollback) (p Published, err error) {
	return p, c.do(ctx, "POST", "/v1/revisions/"+url.PathEscape(id)+"/rollback", q, &p)
}

// Reload lets the daemon judge the working files again, as what is trusted has changed.
func (c *Client) Reload(ctx context.Context) error {
	return c.do(ctx, "POST", "/v1/reload", struct{}{}, nil)
}

// Revisions lists the published revisions, newest first.
func (c *Client) Revisions(ctx context.Context) (rows []RevisionRow, err error) {
	return rows, c.do(ctx, "GET", "/v1/revisions", nil, &rows)
}

// Hook hands a client's event in and returns its answer. The daemon has most of the time until the
// context's deadline, so that what it says comes before that.
func (c *Client) Hook(ctx context.Context, client, event string, stdin []byte) (stdout []byte, exit int, err error) {
	var heads []string
	if until, timed := ctx.Deadline(); timed {
		heads = []string{headWithin, max(time.Until(until)*9/10, 1).String()}
	}
	res, err := c.send(ctx, "POST", "/v1/hook/"+url.PathEscape(client)+"?event="+url.QueryEscape(event), bytes.NewReader(stdin), "", heads...)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	if stdout, err = io.ReadAll(res.Body); err != nil {
		return nil, 0, lost(ctx, err)
	}
	exit, err = strconv.Atoi(res.Header.Get(headExit))
	return stdout, exit, err
}

// Events hands every event to each until ctx ends or the daemon does; listening is called once
// nothing can be missed any more.
func (c *Client) Events(ctx context.Context, listening func(), each func(Event)) error {
	res, err := c.send(ctx, "GET", "/v1/events", nil, "text/event-stream")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	listening() // the answer's head comes after the subscription
	return lost(ctx, readEvents(res.Body, func(e Event) bool { each(e); return true }))
}

func (c *Client) stream(ctx context.Context, path string, q any, each func(Event)) error {
	body, err := encode(q)
	if err != nil {
		return err
	}
	res, err := c.send(ctx, "POST", path, body, "text/event-stream")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	over, run := false, ""
	err = lost(ctx, readEvents(res.Body, func(e Event) bool {
		each(e)
		if run == "" {
			run = runOf(e)
		}
		over = Ends(e.Type)
		return !over
	}))
	switch {
	case over:
		return nil
	case err != nil && run != "":
		return fmt.Errorf("%w; go on with agentd runs resume %s", err, run)
	case run == "":
		return cmp.Or(err, ErrLost)
	case err == nil: // the daemon cut off whoever reads too slowly
		return fmt.Errorf("the events of the run %s came faster than they were read; it goes on, see agentd runs show", run)
	}
	return err
}

// runOf is the run that an event says it is about.
func runOf(e Event) string {
	var about struct {
		RunID string `json:"run_id"`
	}
	if json.Unmarshal(e.Data, &about) != nil { // some other program's
		return ""
	}
	return about.RunID
}

// lost tells the end of the daemon from the end of the caller's patience.
func lost(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%w (%w)", ErrLost, err)
}

func (c *Client) do(ctx context.Context, method, path string, q, into any) error {
	var body io.Reader
	if q != nil {
		b, err := encode(q)
		if err != nil {
			return err
		}
		body = b
	}
	res, err := c.send(ctx, method, path, body, "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if into == nil {
		return nil
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return lost(ctx, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the daemon's answer to %s: %w", path, err)
	}
	return nil
}

func encode(q any) (*bytes.Buffer, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	return &b, enc.Encode(q)
}

// send returns an answer that is no problem; problems are errors with their detail as text.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, accept string, heads ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://agentd"+path, body)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(heads); i += 2 {
		req.Header.Set(heads[i], heads[i+1])
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	res, err := c.http.Do(req)
	if err != nil {
		var asked *url.Error // it only says what the caller knows
		if errors.As(err, &asked) {
			err = asked.Err
		}
		if errors.Is(err, ErrNoDaemon) {
			return nil, err
		}
		return nil, lost(ctx, err)
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	var p Problem
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, lost(ctx, err)
	}
	if json.Unmarshal(text, &p) != nil || p.Detail == "" {
		p.Detail = strings.TrimSpace(string(text))
	}
	return nil, &RemoteError{res.StatusCode, p.Detail}
}

// RemoteError is a problem that the daemon answered with.
type RemoteError struct {
	Status int
	Detail string
}

// Error implements error.
func (e *RemoteError) Error() string { return e.Detail }

// Unwrap lets callers branch as they would on the daemon's side.
func (e *RemoteError) Unwrap() error {
	switch e.Status {
	case http.StatusNotFound:
		return ErrNotFound
	case http.StatusConflict:
		return ErrBusy
	case http.StatusBadRequest:
		return ErrInvalid
	case http.StatusServiceUnavailable:
		return ErrClosing
	}
	return nil
}
