// Package effects does what hooks ask the host for. Each effect is an action with a key of its own;
// what is journaled, granted and repeated is decided by who calls.
package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
	"agentd/internal/tool"
	"agentd/operation"
)

// Doer does effects; a [Registry] is one.
type Doer interface {
	// Do does an effect and returns when nothing of it runs any more. Key names the doing: an effect
	// that is done again after a crash has the same one. The value of one that didn't succeed has an
	// error, which says why in a sentence. The status is succeeded, failed, cancelled or, where
	// nobody can know whether it happened, unknown.
	Do(ctx context.Context, key, name string, arguments payload.Value) (value payload.Value, status string)
}

// Options are what effects need. An effect whose need is nil fails and says so.
type Options struct {
	// Workspace is where git works and programs run, absolute.
	Workspace string

	// Runner runs git and programs.
	Runner tool.Runner

	// Env is added to the environment of git and of programs, as NAME=value.
	Env []string

	// Private are folders of the workspace that no commit and no snapshot holds, and no restoring
	// touches, relative. Nil means .agentd/state.
	Private []string

	Notify     func(ctx context.Context, key string, n Notification) error
	Log        *slog.Logger
	Invalidate func(ctx context.Context, key string) error // of the context that key's session has

	// AllowURL says which URLs a webhook may send to.
	AllowURL func(ctx context.Context, u *url.URL) bool

	// Timeout bounds what has no timeout of its own. Default 2 minutes, of a webhook 10 s.
	Timeout time.Duration
}

// Notification is what a person should see.
type Notification struct{ Title, Message string }

const (
	defaultTimeout = 2 * time.Minute
	webhookTimeout = 10 * time.Second
	maxText        = 32 << 10 // of a message, in bytes
)

// Registry is the effects that there are. It may be used by several goroutines.
type Registry struct {
	opts Options
	git  chan struct{} // held by whoever changes the repository
}

var _ Doer = (*Registry)(nil)

// New makes a registry.
func New(o Options) *Registry {
	if o.Private == nil {
		o.Private = []string{".agentd/state"}
	}
	return &Registry{opts: o, git: make(chan struct{}, 1)}
}

// effect is one thing that can be asked for.
type effect struct {
	fields []contract.Field
	check  func(a payload.Value) error // beyond the schema; may be nil
	do     func(r *Registry, ctx context.Context, key string, a payload.Value) result
	again  bool // doing it again with the same key does no more than once
}

func required(name string, t contract.Type) contract.Field {
	return contract.Field{Name: name, Type: t, Required: true}
}

func optional(name string, t contract.Type) contract.Field {
	return contract.Field{Name: name, Type: t}
}

func some(t contract.Type) contract.Type {
	t.MinLength = 1
	return t
}

var catalogue = map[string]effect{
	"context.invalidate": {do: (*Registry).invalidate, again: true},
	"git.commit": {
		fields: []contract.Field{required("message", some(contract.Str)), optional("paths", contract.Strs), optional("all", contract.Bool)},
		check:  checkCommit, do: (*Registry).commit, again: true,
	},
	"log": {
		fields: []contract.Field{required("message", contract.Str), optional("level", contract.OneOf("debug", "info", "warn", "error"))},
		do:     (*Registry).log,
	},
	"notify": {
		fields: []contract.Field{required("message", some(contract.Str)), optional("title", contract.Str)},
		do:     (*Registry).notify,
	},
	"run": {
		fields: []contract.Field{required("argv", contract.Strs), optional("cwd", contract.Str), optional("timeout", contract.Str)},
		check:  checkRun, do: (*Registry).run,
	},
	"snapshot.create": {
		fields: []contract.Field{optional("label", contract.Str)}, // name is taken by effect(name, ...) itself
		do:     (*Registry).createSnapshot, again: true,
	},
	"snapshot.restore": {
		fields: []contract.Field{required("id", contract.Str)},
		check:  checkRestore, do: (*Registry).restoreSnapshot,
	},
	"webhook": {
		fields: []contract.Field{required("url", contract.Str), required("body", contract.Any)},
		check:  checkWebhook, do: (*Registry).webhook,
	},
}

var contracts = func() map[string]*contract.Contract {
	all := map[string]*contract.Contract{}
	for name, e := range catalogue {
		all[name] = contract.New(e.fields)
	}
	return all
}()

// Names are the effects, sorted.
func Names() []string {
	names := make([]string, 0, len(catalogue))
	for name := range catalogue {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Schema is the JSON Schema of an effect's arguments; absent if there is no such effect.
func Schema(name string) payload.Value {
	if c := contracts[name]; c != nil {
		return c.Schema(true)
	}
	return payload.Value{}
}

// Idempotent tells whether an effect whose outcome is unknown may be done again with its key.
func Idempotent(name string) bool { return catalogue[name].again }

// Check says what is wrong with an effect that is asked for, in a sentence: there is none of this
// name, or its arguments don't fit. It looks at nothing else, so it says the same everywhere. What
// Check takes can still fail when it is done.
func Check(name string, arguments payload.Value) error {
	e, ok := catalogue[name]
	if !ok {
		return fmt.Errorf("there is no effect %.100q; there are %s", name, strings.Join(Names(), ", "))
	}
	for k, v := range arguments.Members() {
		if !contracts[name].Has(k) {
			return fmt.Errorf("effect %s takes no %.100q", name, k)
		}
		if v.Kind() == payload.String && len(v.Text()) > maxText {
			return fmt.Errorf("effect %s: %s has %d bytes, and may have %d", name, k, len(v.Text()), maxText)
		}
	}
	if err := contracts[name].Check(arguments); err != nil {
		var f *contract.Fault
		if errors.As(err, &f) && f.Field != "" {
			return fmt.Errorf("effect %s: %s %s", name, f.Field, f.Message)
		}
		return fmt.Errorf("effect %s: the arguments are no object", name)
	}
	if e.check != nil {
		if err := e.check(arguments); err != nil {
			return fmt.Errorf("effect %s: %w", name, err)
		}
	}
	return nil
}

// Do implements [Doer].
func (r *Registry) Do(ctx context.Context, key, name string, arguments payload.Value) (payload.Value, string) {
	if err := Check(name, arguments); err != nil {
		return failure(operation.Failed, err).all()
	}
	if err := ctx.Err(); err != nil {
		return failure(operation.Cancelled, errors.New("cancelled before it began")).all()
	}
	return catalogue[name].do(r, ctx, key, arguments).all()
}

// result is how an effect ended.
type result struct {
	status string
	value  payload.Value
}

func (r result) all() (payload.Value, string) { return r.value, r.status }

func success(fields ...payload.Field) result {
	return result{operation.Succeeded, payload.NewObject(fields...)}
}

func failure(status string, err error, more ...payload.Field) result {
	return result{status, payload.NewObject(append(more, text("error", err.Error()))...)}
}

func text(name, s string) payload.Field {
	return payload.Field{Name: name, Value: payload.NewString(strings.ToValidUTF8(s, string(utf8.RuneError)))}
}

func flag(name string, b bool) payload.Field {
	return payload.Field{Name: name, Value: payload.NewBool(b)}
}

func integer(name string, n int64) payload.Field {
	return payload.Field{Name: name, Value: payload.NewInt(n)}
}

// within gives an effect its time.
func (r *Registry) within(ctx context.Context, otherwise time.Duration) (context.Context, context.CancelFunc) {
	if r.opts.Timeout > 0 {
		otherwise = r.opts.Timeout
	}
	return context.WithTimeout(ctx, otherwise)
}

// short is the beginning of a text that an error quotes.
func short(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), string(utf8.RuneError))
	if r := []rune(s); len(r) > 500 {
		return string(r[:500]) + "..."
	}
	return s
}
