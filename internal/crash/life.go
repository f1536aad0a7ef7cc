package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lifetime bounds one process: one that hangs is a fault.
const lifetime = 2 * time.Minute

// life is one process of the program, from its start to its end.
type life struct {
	args   []string
	stdout []byte
	stderr string
	code   int
	killed bool
	places []string // that it passed, if it tells
}

// command is the program with some arguments, in the project.
func (t *trial) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Dir = t.project()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(t.dir, "home"), "MODEL_KEY=key", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid"}
	return cmd
}

// places is the file in which a process notes the places that it passes.
func (t *trial) places() string { return filepath.Join(t.dir, "places") }

// mortal lets a process note the places that it passes, and perhaps die at one.
func (t *trial) mortal(cmd *exec.Cmd) {
	os.Remove(t.places())
	cmd.Env = append(cmd.Env, "AGENTD_CRASH_LOG="+t.places(), "AGENTD_CRASH_AT="+t.crashAt())
}

// live starts the program and waits for its end. Where a daemon serves, it is the one who may be killed.
func (t *trial) live(ctx context.Context, stdin string, args ...string) (life, error) {
	ctx, cancel := context.WithTimeout(ctx, lifetime)
	defer cancel()
	cmd := t.command(ctx, args)
	if t.daemon == nil {
		t.mortal(cmd)
	}
	if stdin != "" {
		f, err := os.Open(filepath.Join(t.dir, stdin))
		if err != nil {
			return life{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // what a killed process left behind may hold its pipes
	if err := cmd.Start(); err != nil {
		return life{}, err
	}
	if after, ok := t.moment(); ok && t.daemon == nil {
		timer := time.AfterFunc(after, func() { cmd.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	err := cmd.Wait()
	l := life{args: args, stdout: stdout.Bytes(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return l, fmt.Errorf("agentd %s didn't end\n%s", strings.Join(args, " "), stderr.String())
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return l, err
	}
	if t.daemon == nil {
		l.killed = killed(cmd)
		l.places = t.passedPlaces()
		t.lives++
	}
	return l, nil
}

func killed(cmd *exec.Cmd) bool {
	s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

func (t *trial) passedPlaces() []string {
	text, err := os.ReadFile(t.places())
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// moment is how long the next process may live, where moments are random.
func (t *trial) moment() (time.Duration, bool) {
	if t.kills > 0 || t.plan.after == 0 {
		return 0, false
	}
	return max(t.plan.after-time.Since(t.began), 0), true
}

// crashAt is the place where the next process dies, "" for none.
func (t *trial) crashAt() string {
	switch {
	case t.kills == 0 && t.plan.place != "" && t.lives == t.plan.life:
		return fmt.Sprintf("%s:%d", t.plan.place, t.plan.n)
	case t.kills == 1 && t.plan.again != "":
		return t.plan.again
	}
	return ""
}
