package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

var (
	// ErrNotStarted is wrapped when a program couldn't be started at all.
	ErrNotStarted = errors.New("not started")

	// ErrTimeout is wrapped when a program was ended because its time was up, its own or that of the
	// context. What it did until then is done.
	ErrTimeout = errors.New("out of time")

	// ErrCancelled is wrapped when a program was ended because the context was cancelled.
	ErrCancelled = errors.New("cancelled")
)

const (
	defaultGrace  = 2 * time.Second
	defaultOutput = 256 << 10
)

// Runner starts programs, each in a process group of its own, and leaves none behind: when a program
// ends or must end, its whole group ends with it. A process that starts a new session for itself, as
// daemons do, gets away. The zero value is usable, by several goroutines.
type Runner struct {
	// Grace is the time between the request to end and the kill. Default 2 s.
	Grace time.Duration
}

// Command is a program to run.
type Command struct {
	// Argv is the program, looked up in PATH, and its arguments. No shell reads them.
	Argv []string

	Dir string

	// Env is the whole environment, as NAME=value. Nil means [Environment] of nothing.
	Env []string

	Stdin []byte

	// Timeout ends the program; 0 leaves that to the context.
	Timeout time.Duration

	// Limit bounds what is kept of each output, in bytes. Default 256 KiB.
	Limit int

	// Merge puts standard error, in the order of writing, into Stdout.
	Merge bool
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code; for a signal 128 and its number, as shells count.
	Code int

	// Signal is the name of the signal that ended the program, or "".
	Signal string

	Stdout, Stderr Captured
}

// environment are the variables that programs get from ours. Keys and tokens are not among them.
var environment = []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER"}

// Installed reports whether a program is there to be started by its name.
func Installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Environment is the environment for programs: a few variables of this process, then add, which
// wins.
func Environment(add ...string) []string {
	var out []string
	for _, name := range environment {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return append(out, add...)
}

// Run runs a program to its end. An exit code other than 0 is no error. With ErrTimeout and
// ErrCancelled, Exit holds what was written until then.
func (r Runner) Run(ctx context.Context, c Command) (Exit, error) {
	if len(c.Argv) == 0 {
		return Exit{}, fmt.Errorf("%w: the command is empty", ErrNotStarted)
	}
	if ctx.Err() != nil {
		return Exit{}, fmt.Errorf("%s %w: %w", c.Argv[0], ErrNotStarted, because(ctx))
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	p, err := c.start()
	if err != nil {
		return Exit{}, fmt.Errorf("%s %w: %w", c.Argv[0], ErrNotStarted, reason(err))
	}
	err = p.wait(ctx, r.grace())
	exit := p.exit()
	if err != nil {
		return exit, fmt.Errorf("%s was ended: %w", c.Argv[0], err)
	}
	return exit, nil
}

func (r Runner) grace() time.Duration {
	if r.Grace > 0 {
		return r.Grace
	}
	return defaultGrace
}

// because says why a context ended in the words of this package.
func because(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrCancelled, cause)
	}
	return fmt.Errorf("%w: %w", ErrTimeout, context.DeadlineExceeded)
}

// reason takes the name of the program off, which the message already has.
func reason(err error) error {
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// process is a started program and the readers of its output.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *reader
	readers        sync.WaitGroup
}

func (c Command) start() (_ *process, err error) {
	p := &process{cmd: exec.Command(c.Argv[0], c.Argv[1:]...)}
	p.cmd.Dir = c.Dir
	p.cmd.Env = slices.Clone(c.Env)
	if c.Env == nil {
		p.cmd.Env = Environment()
	}
	if c.Dir != "" {
		p.cmd.Env = append(p.cmd.Env, "PWD="+c.Dir)
	}
	ownGroup(p.cmd)
	var ours []io.Closer // of what the program gets, closed here once it runs
	defer func() {
		for _, f := range ours {
			f.Close()
		}
		if err != nil {
			p.stdout.close()
			p.stderr.close()
		}
	}()
	limit := c.Limit
	if limit <= 0 {
		limit = defaultOutput
	}
	open := func() (*reader, *os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		ours = append(ours, w)
		return &reader{from: r, capture: capture{limit: limit}}, w, nil
	}
	var w *os.File
	if p.stdout, w, err = open(); err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if !c.Merge {
		if p.stderr, w, err = open(); err != nil {
			return nil, err
		}
		p.cmd.Stderr = w
	}
	if c.Stdin != nil {
		in, err := stdin(c.Stdin)
		if err != nil {
			return nil, err
		}
		ours = append(ours, in)
		p.cmd.Stdin = in
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for _, r := range []*reader{p.stdout, p.stderr} {
		if r != nil {
			p.readers.Go(r.run)
		}
	}
	return p, nil
}

// stdin holds the input in a file that has no name, so that nobody need write it while the program
// runs, or doesn't read.
func stdin(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "agentd-stdin-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, bytes.NewReader(text))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// wait returns once the program and its group have ended and their output is read.
func (p *process) wait(ctx context.Context, grace time.Duration) (why error) {
	ended := make(chan struct{})
	reaped := false
	go func() {
		defer close(ended)
		reaped = awaitExit(p.cmd)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		why = p.end(ctx, grace, ended)
	}
	// Where the program isn't reaped yet, though it has ended, its number can't be another group's.
	killGroup(p.cmd.Process)
	<-ended
	if !reaped {
		p.cmd.Wait() // exit has all that it could say
	}
	for _, r := range []*reader{p.stdout, p.stderr} {
		r.finish()
	}
	p.readers.Wait()
	for _, r := range []*reader{p.stdout, p.stderr} {
		r.drain()
	}
	return why
}

// end asks the group to end, and returns once the program has or the grace is over.
func (p *process) end(ctx context.Context, grace time.Duration, ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil // it was done, and so was all that it does
	default:
	}
	endGroup(p.cmd.Process)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
	}
	return because(ctx)
}

func (p *process) exit() Exit {
	out := Exit{Code: p.cmd.ProcessState.ExitCode(), Stdout: p.stdout.captured(), Stderr: p.stderr.captured()}
	if number, name := endedBy(p.cmd.ProcessState); number > 0 {
		out.Code, out.Signal = 128+number, name
	}
	return out
}
