package worker

import (
	"context"
	"encoding/binary"
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

// openEnv tells a worker to leave out the walls. Only the parent sets its environment.
const openEnv = "AGENTD_WORKER_OPEN"

// startTimeout bounds the start of a worker, stepTimeout how long a wait lasts before the clock is looked at.
const (
	startTimeout = 20 * time.Second
	stepTimeout  = 20 * time.Millisecond
)

// process is the host's side of one worker. It belongs to one caller at a time.
type process struct {
	cmd    *exec.Cmd
	conn   *os.File
	stderr *tail
	loaded map[string]bool
}

// start runs the program as a worker and waits until it is confined.
func start(ctx context.Context, program string, open bool) (*process, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "worker")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, errors.Join(err, unix.Close(fds[0]), theirs.Close())
	}
	p := &process{cmd: exec.Command(program, argument), conn: os.NewFile(uintptr(fds[0]), "worker"), stderr: &tail{}, loaded: map[string]bool{}}
	p.cmd.Env = slices.Clone(environment)
	if open {
		p.cmd.Env = append(p.cmd.Env, openEnv+"=1")
	}
	p.cmd.ExtraFiles = []*os.File{theirs}
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	theirs.Close() // or its end would never be seen
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a worker: %w", err), p.conn.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ready, err := p.receive(ctx)
	if err == nil && !ready.Get("ready").Exists() {
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

// ask sends a request and waits for its answer. The context is asked now and then whether time is up, as
// the net of a hook has a clock and no timer. After an error the process is of no use.
func (p *process) ask(ctx context.Context, q payload.Value) (payload.Value, error) {
	if err := p.send(ctx, q); err != nil {
		return payload.Value{}, err
	}
	return p.receive(ctx)
}

func (p *process) send(ctx context.Context, q payload.Value) error {
	out, err := frame(q)
	if err != nil {
		return fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)
	}
	return p.move(ctx, out, p.conn.SetWriteDeadline, p.conn.Write)
}

func (p *process) receive(ctx context.Context) (payload.Value, error) {
	var head [4]byte
	if err := p.move(ctx, head[:], p.conn.SetReadDeadline, p.conn.Read); err != nil {
		return payload.Value{}, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return payload.Value{}, errLies
	}
	body := make([]byte, n)
	if err := p.move(ctx, body, p.conn.SetReadDeadline, p.conn.Read); err != nil {
		return payload.Value{}, err
	}
	v, err := payload.Parse(body)
	if err != nil || v.Kind() != payload.Object {
		return payload.Value{}, errLies
	}
	return v, nil
}

// move reads or writes all of b, and looks at the context in between.
func (p *process) move(ctx context.Context, b []byte, deadline func(time.Time) error, some func([]byte) (int, error)) error {
	for len(b) > 0 {
		if err := deadline(time.Now().Add(stepTimeout)); err != nil {
			return err
		}
		n, err := some(b)
		b = b[n:]
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%w: the worker was late", hookpoints.ErrHostTimeout)
			}
		case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
			return fmt.Errorf("%w: the worker died: %s", hookpoints.ErrHookFailed, p.stderr)
		default:
			return fmt.Errorf("%w: the worker: %w", hookpoints.ErrHookFailed, err)
		}
	}
	return nil
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
