package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
)

// raw speaks HTTP as any other program would.
func (h *host) raw(method, path, contentType, body string, header ...string) *http.Response {
	h.l.t.Helper()
	socket, err := h.l.places.Socket()
	if err != nil {
		h.l.t.Fatal(err)
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(h.l.t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		h.l.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		h.l.t.Fatal(err)
	}
	return res
}

func TestProblemsHaveTheirStatusAndSayWhatIsWrong(t *testing.T) {
	l := newLab(t)
	l.model("allow", say("Done."))
	h := l.published()
	done := text(h.run(api.StartRun{Task: "x"}).end(), "run_id")
	const js = "application/json"
	for name, c := range map[string]struct {
		method, path, kind, body string
		status                   int
		detail                   string
	}{
		"no such path":            {"GET", "/v1/nothing", "", "", 404, "there is nothing at /v1/nothing"},
		"the root":                {"GET", "/", "", "", 404, "there is nothing at /"},
		"the wrong method":        {"DELETE", "/v1/runs/x", "", "", 405, "/v1/runs/x takes GET, not DELETE"},
		"get for post":            {"GET", "/v1/decide", "", "", 405, "takes POST"},
		"no such run":             {"GET", "/v1/runs/x", "", "", 404, "there is no run x"},
		"no such operation":       {"GET", "/v1/operations/a/b/c", "", "", 404, "there is no operation a/b/c"},
		"an escaped operation":    {"GET", "/v1/operations/a%2Fb%3Fc", "", "", 404, "there is no operation a/b?c"},
		"no such revision":        {"GET", "/v1/revisions/abc", "", "", 404, "no such revision"},
		"no such question":        {"POST", "/v1/questions/a/b", js, `{"verb":"allow"}`, 404, "there is none with the name \"a/b\""},
		"no verb":                 {"POST", "/v1/questions/a/b", js, ``, 400, "want allow, deny or respond"},
		"no JSON":                 {"POST", "/v1/runs", js, `{"task":`, 400, "the request's body"},
		"another type":            {"POST", "/v1/runs", js, `[]`, 400, "the request's body"},
		"an unknown field":        {"POST", "/v1/runs", js, `{"task":"x","sesion":"y"}`, 400, `unknown field "sesion"`},
		"two values":              {"POST", "/v1/runs", js, `{"task":"x"} {"task":"y"}`, 400, "something after its JSON value"},
		"no task":                 {"POST", "/v1/runs", js, `{}`, 400, "the task is empty"},
		"no such agent":           {"POST", "/v1/runs", js, `{"task":"x","agent":"nobody"}`, 400, `there is no agent "nobody"`},
		"a form":                  {"POST", "/v1/runs", "application/x-www-form-urlencoded", `task=x`, 415, "want application/json"},
		"text":                    {"POST", "/v1/publish", "text/plain", `{}`, 415, "want application/json"},
		"too much":                {"POST", "/v1/decide", js, `{"point":"` + strings.Repeat("x", 20<<20) + `"}`, 413, "the request's body has more than"},
		"too much of a client":    {"POST", "/v1/hook/gemini", "", strings.Repeat("x", 20<<20), 413, "the request's body has more than"},
		"no such client":          {"POST", "/v1/hook/nobody", "", `{}`, 404, "agentd speaks "},
		"no such point":           {"POST", "/v1/decide", js, `{"point":"tool.never","payload":{}}`, 400, `there is no point "tool.never"`},
		"a broken payload":        {"POST", "/v1/decide", js, `{"point":"tool.before","payload":{}}`, 400, "breaks its contract"},
		"a field twice":           {"POST", "/v1/decide", js, `{"point":"tool.before","payload":{"name":1,"name":2}}`, 400, "duplicate"},
		"since":                   {"GET", "/v1/operations?since=yesterday", "", "", 400, "want one like 1h"},
		"limit":                   {"GET", "/v1/operations?limit=-1", "", "", 400, "want a number above 0"},
		"what is done, resumed":   {"POST", "/v1/runs/" + done + "/resume", js, "", 409, "is completed already; start a new one"},
		"what is done, cancelled": {"POST", "/v1/runs/" + done + "/cancel", js, "", 409, "is completed"},
		"a layer that isn't one":  {"POST", "/v1/publish", js, `{"layer":"x"}`, 400, "only project and user"},
	} {
		t.Run(name, func(t *testing.T) {
			res := h.raw(c.method, c.path, c.kind, c.body)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			var p api.Problem
			if err := json.Unmarshal(body, &p); err != nil {
				t.Fatalf("status %d, %v in %s", res.StatusCode, err, body)
			}
			if res.StatusCode != c.status || p.Status != c.status || !strings.Contains(p.Detail, c.detail) || p.Title != http.StatusText(c.status) {
				t.Errorf("status %d, %+v, want %d with %q", res.StatusCode, p, c.status, c.detail)
			}
			if kind := res.Header.Get("Content-Type"); kind != "application/problem+json" {
				t.Errorf("it is %s", kind)
			}
		})
	}
	res := h.raw("POST", "/v1/runs", "application/json; charset=utf-8", `{"task":"x"}`)
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("a charset: %d", res.StatusCode)
	}
}

// lines reads n events of a stream.
func lines(t *testing.T, r io.Reader, n int) (ids, types []string) {
	t.Helper()
	in := bufio.NewScanner(r)
	for len(types) < n && in.Scan() {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if kind, ok := strings.CutPrefix(in.Text(), "event: "); ok {
			types = append(types, kind)
		}
	}
	return ids, types
}

func TestEventsComeBackAfterTheLastOneThatWasSeen(t *testing.T) {
	l := newLab(t)
	l.model("allow", say("Done."))
	h := l.published()
	all := h.raw("GET", "/v1/events", "", "")
	defer all.Body.Close()
	run := text(h.run(api.StartRun{Task: "x"}).end(), "run_id")
	ids, types := lines(t, all.Body, 4)
	if got := strings.Join(types, " "); got != "run.started model.delta model.completed run.completed" {
		t.Fatalf("events: %s", got)
	}
	for name, c := range map[string]struct {
		path   string
		header []string
		want   string
	}{
		"in the header":        {"/v1/events", []string{"Last-Event-ID", ids[1]}, "model.completed run.completed"},
		"in the address":       {"/v1/events?after=" + ids[2], nil, "run.completed"},
		"of one run":           {"/v1/events?run=" + run + "&after=" + ids[0], nil, "model.delta model.completed run.completed"},
		"of a process before":  {"/v1/events", []string{"Last-Event-ID", "e-20200101T000000-abcdefabcdef-7"}, "events.missed generation.active"},
		"all of this daemon's": {"/v1/events?after=" + ids[0][:strings.LastIndex(ids[0], "-")] + "-0", nil, "generation.active revision.published generation.active run.started"},
	} {
		t.Run(name, func(t *testing.T) {
			res := h.raw("GET", c.path, "", "", c.header...)
			defer res.Body.Close()
			if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
				t.Errorf("it is %s", kind)
			}
			_, types := lines(t, res.Body, len(strings.Fields(c.want)))
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRunThatIsNotStreamedGoesOnByItself(t *testing.T) {
	l := newLab(t)
	l.model("allow", shell("c1", "echo one >> witness"), say("Done."))
	h := l.published()
	all := h.listen()
	defer all.cancel()
	res := h.raw("POST", "/v1/runs", "application/json", `{"task":"x"}`)
	var run api.Run
	err := json.NewDecoder(res.Body).Decode(&run)
	res.Body.Close()
	if err != nil || run.Status != "running" {
		t.Fatalf("%+v, %v", run, err)
	}
	all.until("run.completed")
	if l.read("witness") != "one\n" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}

func TestReaderThatGoesAwayDoesNotEndTheRun(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "x"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	f.cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the reader ended with %v", err)
	}
	if got, err := h.Run(t.Context(), run); err != nil || got.Status != "running" {
		t.Errorf("it is %+v, %v", got, err)
	}
	if err := h.CancelRun(t.Context(), run); err != nil {
		t.Error(err)
	}
}

// dying is a daemon that goes away in the middle.
func TestClientSaysThatTheDaemonDied(t *testing.T) {
	l := newLab(t)
	path := l.dir + "/s"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/runs" && r.Method == "POST" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "id: e-1\nevent: run.started\ndata: {\"type\":\"run.started\",\"run_id\":\"run-7\"}\n\nid: e-2\nevent: mod")
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	defer func() {
		server.Close()
		<-done
	}()
	c := api.NewClient(path, "")
	var seen []api.Event
	err = c.StartRun(t.Context(), api.StartRun{Task: "x"}, func(e api.Event) { seen = append(seen, e) })
	if !errors.Is(err, api.ErrLost) || !strings.Contains(err.Error(), "agentd runs resume run-7") || len(seen) != 1 {
		t.Errorf("a stream: %v after %v", err, kinds(seen))
	}
	if _, err := c.Runs(t.Context()); !errors.Is(err, api.ErrLost) {
		t.Errorf("a request: %v", err)
	}
	if _, _, err := c.Hook(t.Context(), "gemini", "", nil); !errors.Is(err, api.ErrLost) {
		t.Errorf("a hook: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Runs(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, api.ErrLost) {
		t.Errorf("an impatient caller: %v", err)
	}
}
