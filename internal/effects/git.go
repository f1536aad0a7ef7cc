package effects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"agentd/internal/tool"
	"agentd/operation"
)

const (
	maxGitOutput = 8 << 20
	lookTimeout  = 30 * time.Second // for looking how far a git came that was ended
)

// repository is the work tree that the workspace lies in.
type repository struct {
	*Registry
	dir    string // the workspace, where git runs
	top    string // of the work tree
	prefix string // of the workspace in it, "" or ending in a slash
	env    []string
}

// gitError is what git said when it failed.
type gitError struct {
	verb, said string
	code       int
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s failed: %s", e.verb, e.said) }

// quiet keeps what a repository's settings would start from running, for commands that nobody expects
// to run hooks.
var quiet = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}

// git runs git; what it writes must fit in memory.
func (g *repository) git(ctx context.Context, stdin []byte, args ...string) (string, error) {
	argv := append([]string{"git", "--no-pager", "-c", "core.quotePath=false", "-c", "submodule.recurse=false", "-c", "log.showSignature=false", "-c", "advice.addEmbeddedRepo=false"}, args...)
	exit, err := g.opts.Runner.Run(ctx, tool.Command{
		Argv: argv, Dir: g.dir, Stdin: stdin, Limit: maxGitOutput,
		Env: append(append(tool.Environment(g.opts.Env...), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true"), g.env...),
	})
	verb := args[0]
	for i := 0; i+2 < len(args) && args[i] == "-c"; i += 2 {
		verb = args[i+2]
	}
	switch {
	case errors.Is(err, tool.ErrNotStarted) && ctx.Err() == nil:
		return "", errors.New("git can't be started")
	case err != nil:
		return "", err
	case exit.Code != 0:
		said := exit.Stderr.String()
		if strings.TrimSpace(said) == "" {
			said = exit.Stdout.String()
		}
		return "", &gitError{verb, short(strings.TrimPrefix(said, "fatal: ")), exit.Code}
	case exit.Stdout.Cut > 0:
		return "", fmt.Errorf("git %s says more than %d bytes", verb, maxGitOutput)
	}
	return string(exit.Stdout.Head) + string(exit.Stdout.Tail), nil
}

func (g *repository) plumb(ctx context.Context, args ...string) (string, error) {
	return g.git(ctx, nil, append(append([]string{}, quiet...), args...)...)
}

// line is plumb for an answer of one line.
func (g *repository) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.plumb(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// inRepository does something in the repository, alone.
func (r *Registry) inRepository(ctx context.Context, do func(ctx context.Context, g *repository) result) result {
	select {
	case r.git <- struct{}{}:
		defer func() { <-r.git }()
	case <-ctx.Done():
		return failure(operation.Cancelled, errors.New("cancelled before it began"))
	}
	ctx, cancel := r.within(ctx, defaultTimeout)
	defer cancel()
	dir, err := r.folder("")
	if err != nil {
		return failure(operation.Failed, err)
	}
	g := &repository{Registry: r, dir: dir}
	inside, err := g.line(ctx, "rev-parse", "--is-inside-work-tree")
	var said *gitError
	if errors.As(err, &said) && strings.Contains(said.said, "not a git repository") || err == nil && inside != "true" {
		return failure(operation.Failed, errors.New("the workspace is in no work tree of git; make one with git init"))
	}
	if err == nil {
		g.top, err = g.line(ctx, "rev-parse", "--show-toplevel")
	}
	if err == nil {
		g.prefix, err = g.line(ctx, "rev-parse", "--show-prefix")
	}
	if err != nil {
		return ended(ctx, err)
	}
	return do(ctx, g)
}

// ended is a git that failed, or was ended, before it changed anything.
func ended(ctx context.Context, err error) result {
	switch {
	case errors.Is(err, tool.ErrCancelled) || ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(operation.Cancelled, errors.New("cancelled before it was done: nothing changed"))
	case errors.Is(err, tool.ErrTimeout):
		return failure(operation.Failed, errors.New("git took too long and was ended: nothing changed"))
	}
	return failure(operation.Failed, err)
}

// look is a context for seeing how far something came whose own has ended.
func look(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
}

// head is the commit at HEAD, "" before the first one.
func (g *repository) head(ctx context.Context) (string, error) {
	return g.resolve(ctx, "HEAD^{commit}")
}

// resolve finds an object, "" if there is none.
func (g *repository) resolve(ctx context.Context, name string) (string, error) {
	out, err := g.line(ctx, "rev-parse", "--verify", "--quiet", name)
	var said *gitError
	if errors.As(err, &said) && said.code == 1 {
		return "", nil
	}
	return out, err
}

// without are pathspecs that leave out what no commit may hold.
func (g *repository) without() (specs []string) {
	for _, p := range g.private() {
		specs = append(specs, ":(exclude,literal)"+p)
	}
	return specs
}

func (g *repository) private() (clean []string) {
	for _, p := range g.opts.Private {
		clean = append(clean, path.Clean(filepath.ToSlash(p)))
	}
	return clean
}
