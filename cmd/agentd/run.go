package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/internal/model"
	"agentd/operation"
)

func runVerb(e *env) *cobra.Command {
	var q api.StartRun
	var record string
	c := &cobra.Command{Use: "run TASK", Short: "Give the agent a task and follow it", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		p, err := e.inProject()
		if err != nil {
			return err
		}
		q.Task = args[0]
		q.Interactive = terminal(e.stdin) && !e.json
		f, err := e.follow(c.Context(), p, q.Interactive, func(ctx context.Context, f *follower) error { return f.conn.StartRun(ctx, q, f.take) })
		if err != nil {
			return err
		}
		if record != "" {
			text, err := model.Record(f.replies)
			if err != nil {
				return err
			}
			if err := os.WriteFile(record, text, 0o644); err != nil {
				return err
			}
		}
		return f.code()
	}}
	f := c.Flags()
	f.StringVar(&q.Agent, "agent", "", "the `AGENT` of the configuration; else default")
	f.StringVar(&q.Session, "session", "", "go on with the session `ID`, or name a new one")
	f.BoolVar(&q.Yes, "yes", false, "answer this run's questions with allow; lifts no rejection")
	f.StringVar(&record, "record", "", "write the model's turns to `FILE`, as a scripted scenario")
	return c
}

// follower prints a run's events as they come and remembers how it ended.
type follower struct {
	*env
	conn    *daemon.Connection
	ctx     context.Context
	person  *person // nil: nobody can be asked
	run     string
	last    string
	inText  bool
	replies []payload.Value
}

// follow starts something that streams a run's events, and prints them to the end. When the caller is
// interrupted, a run in this process ends where it can be resumed; one of a daemon goes on.
func (e *env) follow(ctx context.Context, p config.Places, interactive bool, start func(context.Context, *follower) error) (*follower, error) {
	var f *follower
	who, left := &person{env: e}, false
	err := daemon.Do(ctx, e.options(p), func(c *daemon.Connection) error {
		f = &follower{env: e, conn: c, ctx: ctx}
		inner := ctx
		if c.Own {
			inner = context.WithoutCancel(ctx)
			defer context.AfterFunc(ctx, c.Stop)()
		}
		inner, leave := context.WithCancelCause(inner)
		defer leave(nil)
		if interactive {
			f.person = who
			defer who.done()
			who.listen(line{inner, func() { leave(errLeft) }, func(id string, a api.Answer) error {
				_, err := c.Answer(inner, id, a)
				return err
			}})
		}
		err := start(inner, f)
		if left = errors.Is(context.Cause(inner), errLeft); left {
			return nil
		}
		return err
	})
	if left && err == nil { // its question waits on
		f.last = "run.waiting"
		f.note("\nit goes on waiting: agentd answer %s", who.asked())
		return f, nil
	}
	if err != nil && ctx.Err() != nil && f != nil && f.run != "" {
		return f, fmt.Errorf("nobody follows the run any more; it goes on in the daemon: agentd runs show %s, or agentd runs cancel %s", f.run, f.run)
	}
	return f, err
}

func (f *follower) take(ev api.Event) {
	v, err := payload.Parse(ev.Data)
	if err != nil {
		return
	}
	f.run = v.Get("run_id").Text()
	if ev.Type == "model.completed" {
		f.replies = append(f.replies, payload.NewObject(
			payload.Field{Name: "role", Value: payload.NewString("assistant")},
			payload.Field{Name: "content", Value: v.Get("content")},
			payload.Field{Name: "tool_calls", Value: v.Get("tool_calls")}))
	}
	if api.Ends(ev.Type) {
		f.last = ev.Type
	}
	switch {
	case ev.Type == "question" && f.person != nil:
		f.person.ask(v.Get("question"))
	case ev.Type == "question.answered" && f.person != nil:
		f.person.settled(v.Get("question").Text())
	case f.json:
		f.say("%s", ev.Data)
	default:
		f.tell(ev.Type, v)
	}
}

// tell is for people: the model's text on stdout, what happens on stderr.
func (f *follower) tell(kind string, v payload.Value) {
	switch kind {
	case "model.delta":
		f.inText = true
		f.write(v.Get("text").Text())
		return
	case "model.completed":
		if content := v.Get("content").Text(); content != "" && !f.inText {
			f.write(content)
		}
		if f.inText || v.Get("content").Text() != "" {
			f.write("\n")
		}
		f.inText = false
	case "run.started":
		f.note("run %s", v.Get("run_id").Text())
	case "run.engine":
		for d := range v.Get("differences").Items() {
			f.note("another agentd made its revisions: %s of the %s layer was %s and is %s", d.Get("path").Text(), d.Get("layer").Text(), d.Get("before"), d.Get("after"))
		}
	case "tool.started":
		f.note("-> %s %s", v.Get("name").Text(), v.Get("arguments"))
	case "tool.completed":
		said := v.Get("status").Text()
		if failure := v.Get("value").Get("error"); failure.Kind() == payload.String && said != operation.Succeeded {
			said += ": " + failure.Text()
		}
		f.note("<- %s %s", v.Get("name").Text(), said)
	case "tool.rejected":
		f.note("<- %s not executed: %s", v.Get("name").Text(), v.Get("reason").Text())
	case "tool.uncertain":
		f.note("<- %s: nobody knows whether it ran", v.Get("name").Text())
	case "hook.decided":
		if r := v.Get("record"); r.Get("decision").Text() != "" || r.Get("error").Text() != "" {
			f.note("   hook %s at %s: %s %s", r.Get("binding_id").Text(), r.Get("point").Text(), r.Get("decision").Text(), strings.TrimSpace(r.Get("error").Text()+" "+r.Get("reason").Text()))
		}
	}
	if api.Ends(kind) {
		f.note("%s", ending(v))
	}
}

// ending says how a run ended, and how it goes on where it can.
func ending(v payload.Value) string {
	said := v.Get("status").Text()
	if reason := v.Get("reason").Text(); reason != "" {
		said += ": " + reason
	}
	switch v.Get("status").Text() {
	case agent.Waiting:
		said += "\nanswer with: agentd answer, or be asked again with: agentd runs resume " + v.Get("run_id").Text()
	case agent.Interrupted:
		said += "\ngo on with: agentd runs resume " + v.Get("run_id").Text()
	}
	return said
}

func (f *follower) write(s string) { f.stdout.Write([]byte(s)) }

// code is the exit code that goes with how the run ended.
func (f *follower) code() error {
	switch f.last {
	case "run.completed":
		return nil
	case "run.rejected", "run.stopped":
		return exit(exitRejected)
	case "run.waiting":
		return exit(exitPerson)
	}
	return exit(exitFailed)
}
