package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// daemon is a process that serves while others ask it.
type daemon struct {
	args   []string
	cmd    *exec.Cmd
	life   int
	ended  chan struct{}
	stderr *strings.Builder // once it has ended
}

// serve starts a daemon and waits until it listens.
func (t *trial) serve(ctx context.Context, args []string) error {
	for range patience {
		d := &daemon{args: args, life: t.lives, ended: make(chan struct{}), stderr: &strings.Builder{}}
		d.cmd = t.command(ctx, append([]string{"serve"}, args...))
		t.mortal(d.cmd)
		t.lives++
		out, err := d.cmd.StderrPipe()
		if err != nil {
			return err
		}
		if err := d.cmd.Start(); err != nil {
			return err
		}
		t.daemon = d
		if after, ok := t.moment(); ok {
			timer := time.AfterFunc(after, func() { d.cmd.Process.Signal(syscall.SIGKILL) })
			go func() { <-d.ended; timer.Stop() }()
		}
		listens := make(chan struct{})
		go d.read(out, listens)
		select {
		case <-listens:
			return nil
		case <-d.ended:
		case <-time.After(lifetime):
			return fmt.Errorf("the daemon doesn't listen: %s", d.stop())
		}
		if !killed(d.cmd) {
			return fmt.Errorf("the daemon ended: %s", d.stderr)
		}
		t.kills++
		if err := t.over(ctx); err != nil {
			return err
		}
	}
	return errors.New("the daemon doesn't come up")
}

// read owns the process: it waits for it.
func (d *daemon) read(out io.Reader, listens chan struct{}) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "listening on ") {
			close(listens)
			listens = make(chan struct{})
		}
		fmt.Fprintln(d.stderr, lines.Text())
	}
	d.cmd.Wait()
	close(d.ended)
}

// dead tells whether it was killed. Whoever asked it and got no answer may know before the kernel says so.
func (d *daemon) dead(noAnswer bool) bool {
	if noAnswer {
		select {
		case <-d.ended:
		case <-time.After(time.Second):
		}
	}
	select {
	case <-d.ended:
		return killed(d.cmd)
	default:
		return false
	}
}

// stop ends it, and gives what it said.
func (d *daemon) stop() string {
	d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.ended
	return d.stderr.String()
}

// alive sees to it that the daemon serves, where one is wanted.
func (t *trial) alive(ctx context.Context) error {
	if t.daemon == nil || !t.daemon.dead(false) {
		return nil
	}
	d := t.daemon
	if err := t.over(ctx); err != nil {
		return err
	}
	return t.serve(ctx, d.args)
}

// over notes what a daemon passed that has ended.
func (t *trial) over(ctx context.Context) error {
	d := t.daemon
	t.daemon = nil
	t.pass(d.life, t.passedPlaces())
	return t.look(ctx, life{killed: killed(d.cmd)})
}

// ends stops the daemon.
func (t *trial) ends(ctx context.Context) error {
	d := t.daemon
	d.stop()
	if killed(d.cmd) {
		t.kills++
	}
	return t.over(ctx)
}
