package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentd/hookpoints/payload"
)

const (
	defaultShellTimeout = 120 * time.Second
	maxShellTimeout     = time.Hour
	maxShellOutput      = 64 << 10
)

type shell struct {
	runner  Runner
	program string
	dir     string
	env     []string
	timeout time.Duration
}

func newShell(ws *workspace, opts Options) *shell {
	t := &shell{runner: Runner{Grace: opts.Grace}, program: "sh", dir: ws.dir, env: Environment(opts.Env...), timeout: opts.Timeout}
	if Installed("bash") {
		t.program = "bash"
	}
	if t.timeout <= 0 {
		t.timeout = defaultShellTimeout
	}
	return t
}

func (t *shell) Spec() Spec {
	return Spec{
		Name: "shell", ID: "shell", Kind: KindShell,
		Description: fmt.Sprintf("Runs a command with %s in the workspace and gives what it wrote and its exit code. "+
			"It has no terminal and no input, every process that it starts ends with it, and of long output the beginning and the end are shown.", t.program),
		Parameters: parameters(1,
			stringParam("command", "the command line", integer("minLength", 1)),
			integerParam("timeout", fmt.Sprintf("the seconds after which the command is ended; default %d", int(t.timeout.Seconds())), atLeast(1), atMost(int64(maxShellTimeout/time.Second)))),
	}
}

// Call gives {output, exit_code}, signal if one ended the command, and cut, the number of bytes left
// out of a long output. A command that exits with another code than 0 has failed, and so has one
// whose time was up: what that one did is done, whole or in part, and its error says so.
func (t *shell) Call(ctx context.Context, call Invocation) Result {
	return t.run(ctx, call, call.Arguments.Get("command").Text(), t.env)
}

// callWith is Call for a command line in which handles stand: their values come in the environment,
// so that no value is read as shell, or shown to whoever lists processes.
func (t *shell) callWith(ctx context.Context, call Invocation, secrets Secrets) Result {
	line := call.Arguments.Get("command").Text()
	found, err := secrets.Handles(line)
	if err != nil {
		return failure(Failed, err)
	}
	line, values, err := splice(line, found, t.program == "bash")
	if err != nil {
		return failure(Failed, err)
	}
	return t.run(ctx, call, line, append(slices.Clip(t.env), values...))
}

func (t *shell) run(ctx context.Context, call Invocation, line string, env []string) Result {
	timeout := t.timeout
	if s := intArgument(call.Arguments, "timeout", 0); s > 0 {
		timeout = min(time.Duration(s)*time.Second, maxShellTimeout)
	}
	exit, err := t.runner.Run(ctx, Command{
		Argv: []string{t.program, "-c", "--", line}, Dir: t.dir, Env: env,
		Timeout: timeout, Limit: maxShellOutput, Merge: true,
	})
	fields := []payload.Field{text("output", exit.Stdout.String())}
	if exit.Stdout.Cut > 0 {
		fields = append(fields, integer("cut", exit.Stdout.Cut))
	}
	switch {
	case errors.Is(err, ErrNotStarted) && errors.Is(err, ErrCancelled):
		return failure(Cancelled, err)
	case errors.Is(err, ErrNotStarted):
		return failure(Failed, err)
	case errors.Is(err, ErrCancelled):
		return failure(Cancelled, errors.New("the command was cancelled while it ran: what it did until then is done"), fields...)
	case err != nil:
		after := "when the call's time was up"
		if ctx.Err() == nil {
			after = fmt.Sprintf("after %v", timeout)
		}
		return failure(Failed, fmt.Errorf("the command was still running %s and was ended: what it did until then is done, so look before it is run again", after), fields...)
	}
	fields = append(fields, integer("exit_code", int64(exit.Code)))
	switch {
	case exit.Signal != "":
		return failure(Failed, fmt.Errorf("the command was ended by %s", exit.Signal), append(fields, text("signal", exit.Signal))...)
	case exit.Code != 0:
		return failure(Failed, fmt.Errorf("the command ended with exit code %d", exit.Code), fields...)
	}
	return success(fields...)
}
