package effects

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"agentd/hookpoints/payload"
	"agentd/internal/tool"
	"agentd/operation"
)

const (
	defaultRunTimeout = time.Minute
	maxRunTimeout     = 10 * time.Minute
	maxRunOutput      = 64 << 10 // of each of the two
	maxArgv           = 1000
)

func checkRun(a payload.Value) error {
	argv := a.Get("argv").Strings()
	switch {
	case len(argv) == 0 || argv[0] == "":
		return errors.New("argv names no program")
	case len(argv) > maxArgv:
		return fmt.Errorf("argv has %d items, and may have %d", len(argv), maxArgv)
	}
	size := 0
	for _, s := range argv {
		if strings.ContainsRune(s, 0) {
			return errors.New("argv holds a zero byte")
		}
		size += len(s)
	}
	if size > maxText {
		return fmt.Errorf("argv has %d bytes, and may have %d", size, maxText)
	}
	_, err := runTimeout(a)
	return err
}

func runTimeout(a payload.Value) (time.Duration, error) {
	given := a.Get("timeout")
	if !given.Exists() {
		return defaultRunTimeout, nil
	}
	d, err := time.ParseDuration(given.Text())
	if err != nil || d <= 0 || d > maxRunTimeout {
		return 0, fmt.Errorf("timeout is %.50q, want one like 30s, at most %v", given.Text(), maxRunTimeout)
	}
	return d, nil
}

// run runs a program: {exit_code, stdout, stderr}, signal if one ended it, and cut, the number of
// bytes left out of long outputs. Another exit code than 0 is a failure. What a program that ran out
// of time, or was cancelled, did until then is done: its status says how it ended, not that it did
// nothing.
func (r *Registry) run(ctx context.Context, _ string, a payload.Value) result {
	dir, err := r.folder(a.Get("cwd").Text())
	if err != nil {
		return failure(operation.Failed, err)
	}
	timeout, err := runTimeout(a)
	if err != nil {
		return failure(operation.Failed, err)
	}
	exit, err := r.opts.Runner.Run(ctx, tool.Command{
		Argv: a.Get("argv").Strings(), Dir: dir, Env: tool.Environment(r.opts.Env...), Timeout: timeout, Limit: maxRunOutput,
	})
	fields := []payload.Field{text("stdout", exit.Stdout.String()), text("stderr", exit.Stderr.String())}
	if n := exit.Stdout.Cut + exit.Stderr.Cut; n > 0 {
		fields = append(fields, integer("cut", n))
	}
	switch {
	case errors.Is(err, tool.ErrNotStarted) && errors.Is(err, tool.ErrCancelled):
		return failure(operation.Cancelled, errors.New("cancelled before it began"))
	case errors.Is(err, tool.ErrNotStarted):
		return failure(operation.Failed, errors.New(short(err.Error())))
	case errors.Is(err, tool.ErrCancelled):
		return failure(operation.Cancelled, errors.New("cancelled while it ran: what it did until then is done"), fields...)
	case err != nil:
		return failure(operation.Failed, fmt.Errorf("it was still running after %v and was ended: what it did until then is done", timeout), fields...)
	}
	fields = append([]payload.Field{integer("exit_code", int64(exit.Code))}, fields...)
	switch {
	case exit.Signal != "":
		return failure(operation.Failed, fmt.Errorf("it was ended by %s", exit.Signal), append(fields, text("signal", exit.Signal))...)
	case exit.Code != 0:
		return failure(operation.Failed, fmt.Errorf("it ended with exit code %d", exit.Code), fields...)
	}
	return success(fields...)
}

// folder is a folder of the workspace, links resolved.
func (r *Registry) folder(cwd string) (string, error) {
	if r.opts.Workspace == "" {
		return "", errors.New("there is no workspace")
	}
	top, err := filepath.EvalSymlinks(r.opts.Workspace)
	if err != nil {
		return "", errors.New("the workspace can't be opened")
	}
	if cwd == "" {
		return top, nil
	}
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(top, cwd)
	}
	dir, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", fmt.Errorf("cwd %.200q can't be opened", cwd)
	}
	if rel, err := filepath.Rel(top, dir); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("cwd %.200q is outside of the workspace", cwd)
	}
	return dir, nil
}
