package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// startTimeout bounds the start of a worker, stepTimeout how long a wait lasts before the clock is looked at.
const (
	startTimeout = 20 * time.Second
	stepTimeout  = 20 * time.Millisecond
)

// process is the host's side of one worker. It belongs to one caller at a time.
type process struct {
	cmd    *exec.Cmd
	conn   rawFile
	stream *stream
	stderr *tail
	loaded map[string]bool // scripts, by key
	seats  map[seat]int
	source int    // bytes of scripts that it was told
	heard  bool   // it has answered since it was taken
	out    []byte // what the last trip was written in
}

// start runs the program as a worker and waits until it is confined, but for the walls that are left out.
func start(ctx context.Context, program string, without []Wall, env []string) (*process, error) {
	conn, theirs, err := pair()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if err := conn.patient(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), conn.Close(), theirs.Close())
	}
	p := &process{cmd: exec.Command(program, argument), conn: conn, stream: newStream(conn), stderr: &tail{}, loaded: map[string]bool{}, seats: map[seat]int{}}
	p.cmd.Env = slices.Concat(env, environment)
	if len(without) > 0 {
		p.cmd.Env = append(p.cmd.Env, withoutEnv+"="+join(without))
	}
	p.cmd.ExtraFiles = []*os.File{theirs}
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	theirs.Close() // or its end would never be seen
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), conn.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ready, err := p.hear(ctx)
	if err == nil && ready.Get("without").Text() != join(without) {
		err = errLies
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("start a worker: %w: %s", err, p.stderr)
	}
	return p, nil
}

// kill ends it and waits for that.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = p.conn.Close()
}

// What a worker is told at most before another takes its place: it forgets nothing, and each generation
// of scripts that is served brings its own.
const (
	maxScripts = 2000
	maxSource  = 16 << 20
	maxSeats   = 8000
)

// worn reports whether a worker was told so much that a new one is better.
func (p *process) worn() bool {
	return len(p.loaded) > maxScripts || p.source > maxSource || len(p.seats) > maxSeats
}

// errGone: the worker was dead before it was asked anything.
var errGone = errors.New("the worker was gone")

// ask says something seldom and waits for the answer. After an error the process is of no use.
func (p *process) ask(ctx context.Context, q payload.Value) (payload.Value, error) {
	out, err := end(q.AppendJSON(begin(nil, spoken)), 0)
	if err != nil {
		return payload.Value{}, fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)
	}
	if err := p.send(ctx, out); err != nil {
		return payload.Value{}, err
	}
	return p.hear(ctx)
}

// hear waits for an object.
func (p *process) hear(ctx context.Context) (payload.Value, error) {
	body, err := p.receive(ctx, spoken)
	if err != nil {
		return payload.Value{}, err
	}
	v, err := payload.Parse(body)
	if err != nil || v.Kind() != payload.Object {
		return payload.Value{}, errLies
	}
	return v, nil
}

func (p *process) send(ctx context.Context, frames []byte) error {
	err := p.stream.send(ctx, frames)
	if err != nil && !p.heard && errors.Is(err, unix.EPIPE) {
		return errGone
	}
	return p.failure(err)
}

// receive waits for one message of a kind. One that says more than it was asked for lies.
func (p *process) receive(ctx context.Context, want byte) ([]byte, error) {
	kind, body, err := p.stream.next(ctx)
	if err != nil {
		return nil, p.failure(err)
	}
	if kind != want || !p.stream.quiet() {
		return nil, errLies
	}
	p.heard = true
	return body, nil
}

// failure says in our words why a worker couldn't be talked to.
func (p *process) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLate):
		return fmt.Errorf("%w: the worker was late", hookpoints.ErrHostTimeout)
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		if said := p.stderr.String(); said != "" {
			return fmt.Errorf("%w: the worker died: %s", hookpoints.ErrHookFailed, said)
		}
		return fmt.Errorf("%w: the worker died", hookpoints.ErrHookFailed)
	case errors.Is(err, errLong):
		return fmt.Errorf("%w: %w", errLies, err)
	}
	return fmt.Errorf("%w: the worker: %w", hookpoints.ErrHookFailed, err)
}

// tail keeps the beginning of what a worker says when it dies; a flood is swallowed.
type tail struct {
	mu   sync.Mutex
	text strings.Builder
}

const maxTail = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := maxTail - t.text.Len(); room > 0 {
		t.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(t.text.String()), "\n")
	return line
}
