package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/operation"
	"agentd/store"
)

// said are the flags of an answer.
type said struct {
	allow                  bool
	more                   string
	deny, edit, value      string
	denies, edits, answers bool // whether they were given
}

func answerVerb(e *env) *cobra.Command {
	var s said
	c := &cobra.Command{Use: "answer [ID]", Short: "List what waits for a person, or answer it", Args: cobra.MaximumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		s.denies, s.edits, s.answers = c.Flags().Changed("deny"), c.Flags().Changed("edit"), c.Flags().Changed("value")
		a, given, err := s.answer(e)
		switch {
		case err != nil:
			return err
		case len(args) == 0 && given:
			return usagef("an answer needs the ID of its question; agentd answer lists them")
		case len(args) == 0:
			return e.listing(e.listQuestions)(c, args)
		case !given && (e.json || !terminal(e.stdin)):
			return usagef("what is the answer to %s? give --allow, --deny REASON, --edit FILE or --value JSON, or ask on a terminal", args[0])
		}
		p, err := e.inProject()
		if err != nil {
			return err
		}
		if !given {
			return e.askAbout(c.Context(), p, args[0])
		}
		return e.answer(c.Context(), p, args[0], a, s)
	}}
	f := c.Flags()
	f.BoolVar(&s.allow, "allow", false, "it may run")
	f.StringVar(&s.more, "for", "", "with --allow or --edit: and the next `N` questions of its session, or all")
	f.StringVar(&s.deny, "deny", "", "it may not, for this `REASON`, which the model is told")
	f.StringVar(&s.edit, "edit", "", "it may, with the arguments in this `FILE`, a JSON object; - is standard input")
	f.StringVar(&s.value, "value", "", "what was asked for, as `JSON`; - is standard input, for a secret the text itself")
	return c
}

// answer makes one of the flags; given is false if there are none.
func (s said) answer(e *env) (a api.Answer, given bool, err error) {
	n := 0
	for _, set := range []bool{s.allow, s.denies, s.edits, s.answers} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return a, false, usagef("--allow, --deny, --edit and --value are one answer each; give one of them")
	case s.more != "" && !s.allow && !s.edits:
		return a, false, usagef("--for goes with --allow or --edit")
	case n == 0:
		return a, false, nil
	}
	a.Verb = operation.Allow
	switch {
	case s.denies:
		a.Verb, a.Reason = operation.Deny, s.deny
	case s.edits:
		a.Edit, err = e.readJSON(s.edit)
	case s.answers: // what it means depends on the question
		a.Verb = operation.Respond
	}
	if s.more == "all" {
		a.For = operation.Always
	} else if s.more != "" && err == nil {
		if a.For, err = strconv.Atoi(s.more); err != nil || a.For < 1 {
			err = usagef("--for is %q, want a number above 0, or all", s.more)
		}
	}
	return a, true, err
}

func (e *env) readJSON(path string) (v payload.Value, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(e.stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return v, err
	}
	if v, err = payload.Parse(text); err != nil {
		return v, usagef("%s is no JSON: %w", path, err)
	}
	return v, nil
}

// listQuestions lists what waits.
func (e *env) listQuestions(ctx context.Context, v *daemon.View, r *store.Reader, _ []string) error {
	questions, err := daemon.Questions(ctx, r)
	if err != nil {
		return err
	}
	if e.json {
		return e.print(questions)
	}
	for _, q := range questions {
		left := "expired"
		if d := q.ExpiresAt.Sub(v.Runtime.Now()); d > 0 {
			left = "expires in " + d.Round(time.Second).String()
		}
		e.say("%s  %s\n%s", q.ID, left, indent(visible(q.Prompt+"\n"+wanted(q))))
	}
	if len(questions) == 0 {
		e.note("nothing waits for a person")
	}
	return nil
}

// wanted is what is shown below a question: what would run, or what an answer looks like.
func wanted(q operation.Question) string {
	if q.Kind == operation.Confirm {
		return q.Preview
	}
	asked, err := agentd.ParseQuestion(q.Arguments)
	if err != nil {
		return q.Arguments.String()
	}
	return "wants " + asked.Outline()
}

// answer gives an answer, and goes on with the run where nobody else does.
func (e *env) answer(ctx context.Context, p config.Places, id string, a api.Answer, s said) error {
	var res api.Answered
	err := daemon.Do(ctx, e.options(p), func(conn *daemon.Connection) (err error) {
		if a.Verb == operation.Respond {
			if a.Value, err = e.value(ctx, conn, id, s.value); err != nil {
				return err
			}
		}
		res, err = conn.Answer(ctx, id, a)
		return err
	})
	if err != nil {
		return err
	}
	return e.goOn(ctx, p, res)
}

func (e *env) goOn(ctx context.Context, p config.Places, res api.Answered) error {
	switch {
	case res.Resumed && e.json:
		return e.print(res)
	case res.Resumed:
		e.note("answered; the run %s goes on", res.RunID)
		return nil
	case res.RunID == "":
		return nil
	}
	q := api.ResumeRun{Interactive: terminal(e.stdin) && !e.json}
	f, err := e.follow(ctx, p, q.Interactive, func(ctx context.Context, f *follower) error { return f.conn.ResumeRun(ctx, res.RunID, q, f.take) })
	if errors.Is(err, api.ErrBusy) { // somebody else took it up
		e.note("answered; the run %s goes on", res.RunID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the answer is saved; go on with agentd runs resume %s: %w", res.RunID, err)
	}
	return f.code()
}

// askAbout asks whoever sits at the terminal about one question that waits.
func (e *env) askAbout(ctx context.Context, p config.Places, id string) error {
	var res api.Answered
	err := daemon.Do(ctx, e.options(p), func(conn *daemon.Connection) error {
		q, err := e.find(ctx, conn, id)
		if err != nil {
			return err
		}
		if err := q.show(); err != nil {
			return fmt.Errorf("the question %s can't be shown: %w", id, err)
		}
		defer q.reveal()
		lines := bufio.NewScanner(e.stdin)
		for lines.Scan() {
			q.reveal()
			a, ok := q.understand(ctx, lines.Text())
			if ok {
				if res, err = conn.Answer(ctx, id, a); !errors.Is(err, api.ErrInvalid) {
					return err
				}
				e.note("agentd: %v", err)
			}
			q.prompt()
		}
		e.note("\nit goes on waiting")
		return exit(exitPerson)
	})
	if err != nil {
		return err
	}
	return e.goOn(ctx, p, res)
}

// find is a question that is open.
func (e *env) find(ctx context.Context, conn *daemon.Connection, id string) (*question, error) {
	open, err := conn.Questions(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		if q.ID == id {
			v, err := payload.From(q)
			return &question{env: e, v: v}, err
		}
	}
	return nil, fmt.Errorf("no question %s is open; agentd answer lists those that are", id)
}

// indented is a value as a person reads it.
func indented(v payload.Value) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, v.JSON(), "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}
