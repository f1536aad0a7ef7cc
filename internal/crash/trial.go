package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"agentd/operation"
	"agentd/store"
)

// patience bounds how often one step is taken up again.
const patience = 12

// plan says how a scenario is disturbed: at a place, or at a moment.
type plan struct {
	life  int // which process
	place string
	n     int           // the how manieth time that process passes it
	again string        // where the process after that one dies too
	after time.Duration // a moment since the beginning, instead of a place
}

func (p plan) String() string {
	switch {
	case p.after > 0:
		return fmt.Sprintf("after %s", p.after)
	case p.place == "":
		return "nothing"
	}
	return strings.TrimSpace(fmt.Sprintf("process %d at %s:%d %s", p.life, p.place, p.n, p.again))
}

// trial is one way through a scenario.
type trial struct {
	*world
	program string
	plan    plan
	began   time.Time

	daemon  *daemon // nil: each process is on its own
	lives   int
	kills   int
	passed  []passed
	cut     map[string]string // what was unknown at a death: operation and attempt -> its input
	retries int               // model calls among them
	verdict verdict
}

// passed is a place that a process passed.
type passed struct {
	life  int
	place string
	n     int
}

// verdict is what was found. Details are for people.
type verdict struct {
	lost, repeated, unknown, wrong int
	details                        []string
}

func (v *verdict) add(count *int, format string, args ...any) {
	*count++
	v.details = append(v.details, fmt.Sprintf(format, args...))
}

// do goes through the scenario and returns how the world is then.
func (t *trial) do(ctx context.Context) (outcome, error) {
	t.cut = map[string]string{}
	if err := t.fresh(); err != nil {
		return outcome{}, err
	}
	t.began = time.Now()
	for _, s := range t.steps {
		if err := t.step(ctx, s); err != nil {
			if t.daemon != nil {
				err = fmt.Errorf("%w\n%s", err, t.daemon.stop())
			}
			return outcome{}, fmt.Errorf("%s %s: %w", s.verb, strings.Join(s.args, " "), err)
		}
	}
	if t.daemon != nil {
		if err := t.ends(ctx); err != nil {
			return outcome{}, err
		}
	}
	return t.outcome(ctx)
}

func (t *trial) step(ctx context.Context, s step) error {
	switch s.verb {
	case "serve":
		return t.serve(ctx, s.args)
	case "until":
		for range 1000 {
			if err := t.alive(ctx); err != nil {
				return err
			}
			if out, _ := t.command(ctx, s.args[1:]).Output(); strings.Contains(string(out), s.args[0]) {
				return nil
			}
		}
		return errors.New("it never comes")
	case "stop":
		return t.ends(ctx)
	case "git":
		cmd := exec.CommandContext(ctx, "git", s.args...)
		cmd.Dir = t.project()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case "copy":
		text, err := os.ReadFile(filepath.Join(t.dir, s.args[0]))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(t.project(), s.args[1]), text, 0o644)
	case "run":
		return t.run(ctx, s.args[0], strings.Join(s.args[1:], " "))
	case "answer":
		return t.answer(ctx, s.args)
	case "command":
		return t.untilDone(ctx, "", s.args)
	}
	return t.untilDone(ctx, s.args[0], s.args[1:])
}

// untilDone does a command that may be done again.
func (t *trial) untilDone(ctx context.Context, stdin string, args []string) error {
	for range patience {
		l, err := t.once(ctx, stdin, args...)
		if err != nil {
			return err
		}
		if !l.killed {
			if l.code != 0 {
				return fmt.Errorf("exit %d: %s%s", l.code, l.stdout, l.stderr)
			}
			return nil
		}
	}
	return errors.New("it doesn't come to an end")
}

// once is one process, with what can be said after its death.
func (t *trial) once(ctx context.Context, stdin string, args ...string) (life, error) {
	if err := t.alive(ctx); err != nil {
		return life{}, err
	}
	number := t.lives
	l, err := t.live(ctx, stdin, args...)
	if err != nil {
		return l, err
	}
	if t.daemon != nil {
		l.killed = t.daemon.dead(l.code != 0)
	} else {
		t.pass(number, l.places)
	}
	if l.killed {
		t.kills++
	}
	return l, t.look(ctx, l)
}

func (t *trial) pass(number int, places []string) {
	seen := map[string]int{}
	for _, place := range places {
		seen[place]++
		t.passed = append(t.passed, passed{number, place, seen[place]})
	}
}

// run is a run to its end, or until it waits.
func (t *trial) run(ctx context.Context, session, task string) error {
	args := []string{"run", "--json", "--session", session, task}
	for range patience {
		l, err := t.once(ctx, "", args...)
		if err != nil {
			return err
		}
		id, status, err := t.status(ctx, task)
		switch {
		case err != nil:
			return err
		case id == "" && !l.killed:
			return fmt.Errorf("there is no run: exit %d: %s%s", l.code, l.stdout, l.stderr)
		case id == "": // it died before it began
		case status == "interrupted":
			args = []string{"runs", "resume", "--json", "--retry-unknown-models", id}
		default:
			return nil
		}
	}
	return errors.New("it doesn't come to an end")
}

// answer answers the question that waits, and sees the run to its end or its next question.
func (t *trial) answer(ctx context.Context, flags []string) error {
	asked := ""
	for range patience {
		text, err := t.command(ctx, []string{"answer", "--json"}).Output()
		if err != nil {
			return fmt.Errorf("agentd answer: %w: %s", err, text)
		}
		var waiting []struct{ ID string }
		if err := json.Unmarshal(text, &waiting); err != nil {
			return fmt.Errorf("agentd answer: %w: %s", err, text)
		}
		if asked != "" && len(waiting) > 0 && waiting[0].ID != asked { // answered, and the next one waits
			return nil
		}
		args := append([]string{"answer", "--json"}, flags...)
		if len(waiting) == 0 {
			id, err := t.interrupted(ctx)
			if err != nil || id == "" {
				return err
			}
			args = []string{"runs", "resume", "--json", "--retry-unknown-models", id}
		} else {
			asked = waiting[0].ID
			args = append(args, asked)
		}
		l, err := t.once(ctx, "", args...)
		if err != nil {
			return err
		}
		if id, err := t.interrupted(ctx); !l.killed && (id == "" || err != nil) {
			return err
		}
	}
	return errors.New("it doesn't come to an end")
}

// status finds the run of a task and asks the program how it stands; "" if there is none.
func (t *trial) status(ctx context.Context, task string) (id, status string, err error) {
	runs, err := t.runs(ctx)
	for _, r := range runs {
		if r.Task == task {
			return r.ID, r.Status, err
		}
	}
	return "", "", err
}

// interrupted finds a run that has to be resumed.
func (t *trial) interrupted(ctx context.Context) (string, error) {
	runs, err := t.runs(ctx)
	for _, r := range runs {
		if r.Status == "interrupted" {
			return r.ID, err
		}
	}
	return "", err
}

type ran struct {
	ID     string `json:"run_id"`
	Task   string
	Status string
	Answer string
}

func (t *trial) runs(ctx context.Context) ([]ran, error) {
	if _, err := os.Stat(t.database()); err != nil {
		return nil, nil
	}
	text, err := t.command(ctx, []string{"runs", "list", "--json"}).Output() // looking isn't a life
	if err != nil {
		return nil, fmt.Errorf("runs list: %w: %s", err, text)
	}
	var out []ran
	return out, json.Unmarshal(text, &out)
}

// look holds what a process said against what is durable, and notes what its death cut off.
func (t *trial) look(ctx context.Context, l life) error {
	r, err := store.OpenReader(ctx, t.database(), nil)
	if errors.Is(err, store.ErrNoDatabase) || errors.Is(err, store.ErrOlder) {
		if said := acknowledged(l.stdout); len(said) > 0 {
			t.verdict.add(&t.verdict.lost, "there is no database, and %v was said", said)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	rep, err := r.Check(ctx)
	if err != nil {
		return err
	}
	for _, fault := range rep.Faults {
		t.verdict.add(&t.verdict.wrong, "the database: %s", fault)
	}
	for _, a := range acknowledged(l.stdout) {
		if why := a.missing(ctx, r); why != "" {
			t.verdict.add(&t.verdict.lost, "%s was said, and %s", a.Type, why)
		}
	}
	if !l.killed {
		return nil
	}
	ops, err := r.Operations(ctx, store.Filter{State: operation.Unknown})
	if err != nil {
		return err
	}
	for _, op := range ops {
		key := fmt.Sprintf("%s#%d", op.Head.ID, op.Attempts)
		if _, known := t.cut[key]; known || op.Head.Foreign {
			continue
		}
		sum, _, err := r.Operation(ctx, op.Head.ID)
		if err != nil {
			return err
		}
		t.cut[key] = ""
		if t.verdict.unknown++; op.Head.Kind == "model.chat" {
			t.retries++
		} else {
			t.cut[key] = sum.Final.String()
		}
	}
	return nil
}

// excused tells whether an action that mentions a text was cut off, so that nobody can know about it, or
// one without which it isn't done.
func (t *trial) excused(text string) bool {
	if t.world != nil && t.cause[text] != "" && t.excused(t.cause[text]) {
		return true
	}
	for _, input := range t.cut {
		if input != "" && strings.Contains(input, text) {
			return true
		}
	}
	return false
}

// cutTools tells whether the outcome of a tool or an effect isn't known.
func (t *trial) cutTools() bool {
	for _, input := range t.cut {
		if input != "" {
			return true
		}
	}
	return false
}
