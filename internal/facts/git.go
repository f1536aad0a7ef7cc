package facts

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/internal/tool"
)

// git runs git in the workspace. What a repository's own settings would start is off as far as git
// lets it be: hooks, the file system monitor, external diffs; filters aren't.
//
// No is true where git says no by its exit code 1, which only some questions can be answered with.
func (s *source) git(ctx context.Context, args ...string) (out string, no bool, err error) {
	if s.opts.Workspace == "" {
		return "", false, absent("there is no workspace")
	}
	exit, err := s.opts.Runner.Run(ctx, tool.Command{
		Argv: append([]string{"git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=false"}, args...),
		Dir:  s.opts.Workspace,
		// The words of its messages are read.
		Env:   append(tool.Environment(s.opts.GitEnv...), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"),
		Limit: s.opts.MaxBytes,
	})
	switch {
	case errors.Is(err, tool.ErrNotStarted) && ctx.Err() == nil:
		return "", false, absent("git can't be started")
	case err != nil:
		return "", false, err
	case exit.Stdout.Cut > 0:
		return "", false, absent("git says more than the %d bytes that a fact may have", s.opts.MaxBytes)
	}
	// As bytes: names needn't be UTF-8, and are made so one by one.
	out = string(exit.Stdout.Head) + string(exit.Stdout.Tail)
	if exit.Code > 1 {
		said := exit.Stderr.String()
		if strings.Contains(said, "not a git repository") {
			return "", false, absent("the workspace is in no git repository")
		}
		if exit.Signal != "" {
			said = "it was ended by " + exit.Signal
		}
		return "", false, absent("git failed: %s", short(strings.TrimPrefix(said, "fatal: ")))
	}
	return out, exit.Code == 1, nil
}

// gitText is git for what can't be answered with no.
func (s *source) gitText(ctx context.Context, args ...string) (string, error) {
	out, no, err := s.git(ctx, args...)
	if no {
		err = absent("git failed")
	}
	return out, err
}

// headCommit is the commit at HEAD, "" before the first one.
func (s *source) headCommit(ctx context.Context) (string, error) {
	out, no, err := s.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil || no {
		return "", err
	}
	return strings.TrimSpace(out), nil
}

func (s *source) gitHead(ctx context.Context, _ string) (payload.Value, error) {
	commit, err := s.headCommit(ctx)
	if err == nil && commit == "" {
		err = absent("there is no commit yet")
	}
	return textOf(commit), err
}

func (s *source) gitBranch(ctx context.Context, _ string) (payload.Value, error) {
	out, no, err := s.git(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err == nil && no {
		err = absent("HEAD is detached")
	}
	return textOf(strings.TrimPrefix(strings.TrimSuffix(out, "\n"), "refs/heads/")), err
}

// gitStatus is what differs from HEAD in the workspace: a list of {path, status, staged, from}.
func (s *source) gitStatus(ctx context.Context, _ string) (payload.Value, error) {
	prefix, err := s.gitText(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return payload.Value{}, err
	}
	// Submodules are compared by their commits alone: their own settings aren't ours to run.
	out, err := s.gitText(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--", ".")
	if err != nil {
		return payload.Value{}, err
	}
	return parseStatus(out, strings.TrimSuffix(prefix, "\n"))
}

func parseStatus(out, prefix string) (payload.Value, error) {
	type change struct {
		path string
		v    payload.Value
	}
	var list []change
	for parts := strings.Split(out, "\x00"); len(parts) > 0 && parts[0] != ""; {
		line := parts[0]
		parts = parts[1:]
		if len(line) < 4 || line[2] != ' ' {
			return payload.Value{}, absent("git's status can't be understood")
		}
		x, y, name := line[0], line[1], inWorkspace(line[3:], prefix)
		fields := []payload.Field{field("path", textOf(name)), field("status", payload.NewString(statusWord(x, y))), field("staged", payload.NewBool(x != ' ' && x != '?' && x != 'U'))}
		if x == 'R' || x == 'C' || y == 'R' || y == 'C' {
			if len(parts) == 0 {
				return payload.Value{}, absent("git's status can't be understood")
			}
			fields = append(fields, field("from", textOf(inWorkspace(parts[0], prefix))))
			parts = parts[1:]
		}
		list = append(list, change{name, payload.NewObject(fields...)})
	}
	slices.SortStableFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	values := make([]payload.Value, len(list))
	for i, c := range list {
		values[i] = c.v
	}
	return payload.NewArray(values), nil
}

// inWorkspace is a name of the repository as the workspace has it, which may lie deeper.
func inWorkspace(name, prefix string) string {
	rest, ok := strings.CutPrefix(name, prefix)
	switch {
	case !ok:
		return strings.Repeat("../", strings.Count(prefix, "/")) + name
	case rest == "":
		return "./"
	}
	return rest
}

// statusWord says in a word how a file differs from HEAD, by what git says of index and work tree.
func statusWord(x, y byte) string {
	switch {
	case x == '?':
		return "untracked"
	case x == 'U' || y == 'U' || x == 'A' && y == 'A' || x == 'D' && y == 'D':
		return "conflicted"
	case y == 'D':
		return "deleted"
	case x == ' ':
		x = y
	}
	switch x {
	case 'A':
		return "added"
	case 'D':
		return "deleted"
	case 'R':
		return "renamed"
	case 'C':
		return "copied"
	case 'T':
		return "retyped"
	}
	return "modified"
}

// gitDiffStat counts the lines that differ from HEAD, staged or not: {files: [{path, added,
// deleted}], added, deleted}. Of binary files both are null. Untracked files aren't among them.
func (s *source) gitDiffStat(ctx context.Context, _ string) (payload.Value, error) {
	base, err := s.headCommit(ctx)
	if err != nil {
		return payload.Value{}, err
	}
	if base == "" { // before the first commit all is new
		if base, err = s.gitText(ctx, "hash-object", "-t", "tree", "--stdin"); err != nil {
			return payload.Value{}, err
		}
		base = strings.TrimSpace(base)
	}
	out, err := s.gitText(ctx, "diff", "--numstat", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty", "--relative", base, "--", ".")
	if err != nil {
		return payload.Value{}, err
	}
	return parseNumstat(out)
}

func parseNumstat(out string) (payload.Value, error) {
	var files []payload.Value
	var sum [2]int64
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 {
			return payload.Value{}, absent("git's diff can't be understood")
		}
		var counts [2]payload.Value
		for i := range counts {
			counts[i] = payload.NewNull()
			if parts[i] == "-" {
				continue
			}
			n, err := strconv.ParseInt(parts[i], 10, 64)
			if err != nil {
				return payload.Value{}, absent("git's diff can't be understood")
			}
			counts[i] = number(n)
			sum[i] += n
		}
		files = append(files, payload.NewObject(field("path", textOf(parts[2])), field("added", counts[0]), field("deleted", counts[1])))
	}
	return payload.NewObject(field("files", payload.NewArray(files)), field("added", number(sum[0])), field("deleted", number(sum[1]))), nil
}
