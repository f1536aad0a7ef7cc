package facts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/store"
)

// History is what a journal tells of a session; a [store.Reader] does.
type History interface {
	Trail(ctx context.Context, session string, n int) ([]store.TrailRow, error)
	Usage(ctx context.Context, session, run string) (ofRun, ofSession store.Usage, err error)
}

// ReaderOptions are those of a [Reader]. A fact whose source is nil is absent and says so.
type ReaderOptions struct {
	// Workspace is the folder that paths are relative to, absolute. Files are read in it only.
	Workspace string

	// Allow gives the patterns of facts.allow that count for an operation, see [CheckPattern].
	Allow func(h operation.Head) []string

	// Private are folders of the workspace that are never read, relative. Nil means .agentd/state.
	Private []string

	// Runner runs git. Without a Grace it has 100 ms.
	Runner tool.Runner

	// GitEnv is added to the environment of git, as NAME=value.
	GitEnv []string

	Getenv  func(name string) string
	Clock   operation.Clock
	History History

	// Budget is how many tokens configuration grants to the session of an operation. 0, or nil: it says
	// nothing.
	Budget func(h operation.Head) (tokens int64)

	// Timeout bounds one fact. Default 2 s.
	Timeout time.Duration

	// MaxBytes bounds the JSON text of one fact. Default 256 KiB.
	MaxBytes int
}

const (
	defaultTimeout  = 2 * time.Second
	defaultMaxBytes = 256 << 10
	gitGrace        = 100 * time.Millisecond
	maxKey          = 4096 // bytes
	maxKeys         = 256  // of one source
)

// Reader implements [operation.Facts]. It may be used by several goroutines, each source by one.
type Reader struct {
	opts  ReaderOptions
	globs sync.Map // pattern to func(string) bool
}

var _ operation.Facts = (*Reader)(nil)

// NewReader makes a reader.
func NewReader(o ReaderOptions) *Reader {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Runner.Grace <= 0 {
		o.Runner.Grace = gitGrace
	}
	if o.Private == nil {
		o.Private = []string{".agentd/state"}
	}
	return &Reader{opts: o}
}

// Open implements [operation.Facts].
func (r *Reader) Open(h operation.Head, _ string, uncommitted operation.Uncommitted) hookpoints.FactSource {
	return &source{Reader: r, head: h, uncommitted: uncommitted, known: map[string]hookpoints.Fact{}}
}

// source reads facts for one chain of one operation.
type source struct {
	*Reader
	head        operation.Head
	uncommitted operation.Uncommitted // nil: everything is in the journal
	patterns    []string              // set once asked
	asked       bool
	known       map[string]hookpoints.Fact
}

// absence is why a fact can't be had, in one sentence.
type absence string

func (a absence) Error() string { return string(a) }

func absent(format string, args ...any) error { return absence(fmt.Sprintf(format, args...)) }

// Fact implements [hookpoints.FactSource].
func (s *source) Fact(ctx context.Context, key string) hookpoints.Fact {
	if f, ok := s.known[key]; ok {
		return f
	}
	f := hookpoints.Fact{Key: key}
	switch {
	case len(s.known) >= maxKeys:
		f.Absent = fmt.Sprintf("one chain can ask for %d facts", maxKeys)
		return f // without a place among the known, which would grow
	case len(key) > maxKey:
		f.Absent = fmt.Sprintf("the key has more than %d bytes", maxKey)
		return f
	}
	v, err := s.read(ctx, key)
	if err != nil {
		f.Absent = s.why(ctx, err)
	} else {
		f.Value = v
	}
	s.known[key] = f
	return f
}

func (s *source) read(ctx context.Context, key string) (payload.Value, error) {
	name, arg, colon := strings.Cut(key, ":")
	k, ok := kinds[name]
	if ok && k.fixed {
		ok = !colon
	} else if name == "git.diff" {
		k, ok = kinds[key]
	} else {
		ok = ok && colon
	}
	if !ok {
		return payload.Value{}, absent("there is no fact %.100q; there are %s", key, kindNames)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	if !k.checks && !s.allowed(key) {
		return payload.Value{}, notAllowed(key)
	}
	v, err := k.read(s, ctx, arg)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return payload.Value{}, err
	}
	if n := v.Size(); n > s.opts.MaxBytes {
		return payload.Value{}, absent("it has %d bytes, and a fact at most %d", n, s.opts.MaxBytes)
	}
	return v, nil
}

// why words an error. Only an absence was written for this; others may quote what was read.
func (s *source) why(ctx context.Context, err error) string {
	var a absence
	switch {
	case ctx.Err() != nil:
		return "reading it was cancelled"
	case errors.As(err, &a):
		return strings.ToValidUTF8(string(a), string(utf8.RuneError))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, tool.ErrTimeout):
		return fmt.Sprintf("reading it took longer than %v", s.opts.Timeout)
	}
	return "it can't be read: " + short(err.Error())
}

// short is the first line of a text, bounded.
func short(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.ToValidUTF8(line, string(utf8.RuneError))
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return line
}

// kind is one sort of fact.
type kind struct {
	fixed  bool // the key is just the name
	checks bool // it asks by itself what is allowed
	read   func(s *source, ctx context.Context, arg string) (payload.Value, error)
}

const kindNames = "git.head, git.branch, git.status, git.diff:stat, file:PATH, stat:PATH, real:PATH, files:GLOB, env:NAME, cwd, clock, usage, budget and trail:N"

var kinds = map[string]kind{
	"git.head":      {fixed: true, read: (*source).gitHead},
	"git.branch":    {fixed: true, read: (*source).gitBranch},
	"git.status":    {fixed: true, read: (*source).gitStatus},
	"git.diff:stat": {read: (*source).gitDiffStat},
	"file":          {checks: true, read: (*source).file},
	"stat":          {checks: true, read: (*source).stat},
	"real":          {checks: true, read: (*source).real},
	"files":         {checks: true, read: (*source).files},
	"env":           {read: (*source).env},
	"cwd":           {fixed: true, read: (*source).cwd},
	"clock":         {fixed: true, read: (*source).clock},
	"usage":         {fixed: true, read: (*source).usage},
	"budget":        {fixed: true, read: (*source).budget},
	"trail":         {read: (*source).lastActions},
}

func (s *source) env(_ context.Context, name string) (payload.Value, error) {
	if s.opts.Getenv == nil {
		return payload.Value{}, absent("there is no environment to read")
	}
	v := s.opts.Getenv(name)
	switch {
	case v == "":
		return payload.Value{}, absent("%s isn't set", name)
	case !utf8.ValidString(v):
		return payload.Value{}, absent("%s holds no Unicode text", name)
	}
	return payload.NewString(v), nil
}

func (s *source) cwd(context.Context, string) (payload.Value, error) {
	if s.opts.Workspace == "" {
		return payload.Value{}, absent("there is no workspace")
	}
	return payload.NewString(strings.ToValidUTF8(s.opts.Workspace, string(utf8.RuneError))), nil
}

// clockForm is RFC 3339 with milliseconds, so that texts sort as times do.
const clockForm = "2006-01-02T15:04:05.000Z"

func (s *source) clock(context.Context, string) (payload.Value, error) {
	if s.opts.Clock == nil {
		return payload.Value{}, absent("there is no clock")
	}
	return payload.NewString(s.opts.Clock.Now().UTC().Format(clockForm)), nil
}

func (s *source) real(ctx context.Context, path string) (payload.Value, error) {
	if err := s.allowedPath("real", path); err != nil {
		return payload.Value{}, err
	}
	return Real(ctx, path, s.opts.Workspace, Options{Root: s.opts.Workspace}).Value(), nil
}

// count reads a whole number without signs and leading zeros.
func count(text string, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most && strconv.Itoa(n) == text
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }
func number(n int64) payload.Value                     { return payload.NewInt(n) }
func textOf(s string) payload.Value {
	return payload.NewString(strings.ToValidUTF8(s, string(utf8.RuneError)))
}
