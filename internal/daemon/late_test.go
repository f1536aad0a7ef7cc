package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/internal/client"
	"agentd/internal/config"
)

// TestWhoIsLateIsAnsweredAsThePolicySays: another event of the session is still being decided when the
// time is up.
func TestWhoIsLateIsAnsweredAsThePolicySays(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	unlock := h.d.sessions.lock("gemini:s")
	for _, c := range []struct{ event, want string }{
		{`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"t","tool_input":{}}`, `{"decision":"deny","reason":"agentd can't decide this: `},
		{`{"hook_event_name":"AfterTool","session_id":"s","tool_name":"t","tool_input":{}}`, `{"decision":"deny","reason":"agentd can't decide this: `},
		{`{"hook_event_name":"AfterModel","session_id":"s"}`, `{"continue":false,"stopReason":"agentd can't decide this: `},
		{`{"hook_event_name":"AfterAgent","session_id":"s"}`, `{}`},
		{`{"hook_event_name":"Notification","session_id":"s"}`, `{}`},
		{`{"hook_event_name":"BeforeToolSelection","session_id":"s"}`, `{"hookSpecificOutput":{"hookEventName":"BeforeToolSelection","toolConfig":{"mode":"NONE","allowedFunctionNames":[]}}}`},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		out, _, err := h.d.Hook(ctx, "gemini", "", []byte(c.event))
		cancel()
		if err != nil || !strings.HasPrefix(string(out), c.want) {
			t.Errorf("%s: %s, %v", c.event, out, err)
		}
	}
	unlock()
	if out := h.hook([]byte(`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"t","tool_input":{}}`)); out != "{}" {
		t.Errorf("once the session is free: %s", out)
	}
	if n := len(h.d.sessions.locks); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

func TestWhatCanNotBeDecidedIsHeldBackWhereSomethingCanBe(t *testing.T) {
	for _, p := range hookpoints.Standard().All() {
		v := Undecided(config.Clients{}, client.Event{Client: "gemini", Name: "E", Point: p.Name}, errors.New("why"))
		open := v.Kind == client.NoOpinion
		want := true
		switch p.Name {
		case "tool.before", "tool.confirm", "tool.after", "turn.before", "model.chat.before", "model.chat.after", "tools.select", "file.write.before", "subagent.before", "subagent.after",
			"run.before", "run.after", "context.prepare.before", "model.embedding.before", "elicit":
			want = false
		}
		if open != want {
			t.Errorf("%s: open is %v", p.Name, open)
		}
	}
	e := client.Event{Client: "gemini", Name: "E", Point: "turn.before"}
	for _, c := range []struct {
		name   string
		policy config.Clients
		e      client.Event
		want   client.VerdictKind
	}{
		{"opened", config.Clients{Open: []string{"turn.before"}}, e, client.NoOpinion},
		{"closed wins", config.Clients{Open: []string{"turn.before"}, Closed: []string{"turn.before"}}, e, client.Deny},
		{"closed", config.Clients{Closed: []string{"session.start"}}, client.Event{Client: "gemini", Name: "E", Point: "session.start"}, client.Deny},
		{"closed, at an end", config.Clients{Closed: []string{"turn.after"}}, client.Event{Client: "gemini", Name: "E", Point: "turn.after"}, client.Stop},
		{"an event without a name", config.Clients{Open: []string{"client.event"}}, client.Event{Client: "gemini", Point: "client.event"}, client.Deny},
	} {
		if v := Undecided(c.policy, c.e, errors.New("why")); v.Kind != c.want {
			t.Errorf("%s: %v, want %v", c.name, v.Kind, c.want)
		}
	}
}

func TestClientsAreAnsweredWellBeforeTheyGiveUp(t *testing.T) {
	for name, want := range map[string]time.Duration{"BeforeTool": 48 * time.Second, "Unknown": 24 * time.Second} {
		if got := Patience(client.Event{Client: "gemini", Name: name}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestADaemonOfOneEventIsGoneWhenItsClientStopsWaiting: whatever hooks asked for.
func TestADaemonOfOneEventIsGoneWhenItsClientStopsWaiting(t *testing.T) {
	for what, c := range map[string]struct {
		o        Options
		from, to time.Duration
	}{
		"nobody waits":       {Options{}, grace, grace},
		"somebody, for long": {Options{Until: time.Now().Add(time.Hour)}, grace, grace},
		"not as long":        {Options{Until: time.Now().Add(grace / 2)}, 0, grace / 2},
		"not any more":       {Options{Until: time.Now().Add(-time.Hour)}, 0, 0},
		"another grace":      {Options{Until: time.Now().Add(time.Hour), grace: time.Second}, time.Second, time.Second},
	} {
		if got := c.o.graceNow(); got < c.from || got > c.to {
			t.Errorf("%s: %v, want %v to %v", what, got, c.from, c.to)
		}
	}
	l := newLab(t)
	l.unreplayable = "a hook of it failed" // what it asked for is cut off
	l.project("agentd.yaml", "grants: {slow: [run]}\n")
	l.project("hooks/slow.star", `
def slow(ctx, call):
    return [effect("run", argv = ["sleep", "1000"]), reject("no")]

hook(id = "slow", version = "1", run = slow, point = "tool.before", effects = ["run"])
`)
	l.published().stop()
	o := l.options()
	o.Event, o.Until, o.grace = true, time.Now(), time.Hour
	err := DoUntil(t.Context(), o, func(c *Connection) error {
		out, _, err := c.Hook(t.Context(), "gemini", "", event("BeforeTool", "s", `{"command":"ls"}`))
		if !strings.Contains(string(out), `"deny"`) {
			t.Errorf("it is answered %s", out)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
