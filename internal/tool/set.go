package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints/payload"
)

var (
	// ErrNoTool is wrapped by errors about a name that no tool has.
	ErrNoTool = errors.New("there is no such tool")

	// ErrArguments is wrapped by errors about arguments that don't fit a tool's schema.
	ErrArguments = errors.New("the arguments don't fit")
)

// Options shape a [Set]. The zero value is usable.
type Options struct {
	// Protected are folders and files of the workspace that write_file and edit_file leave alone,
	// slash-separated. Nil means .agentd.
	Protected []string

	// Private are those that no file tool shows. Nil means .agentd/state.
	Private []string

	// Env is added to the few variables that commands get; entries are NAME=value.
	Env []string

	// Timeout ends a command that names no timeout of its own. Default 120 s.
	Timeout time.Duration

	// Grace is how long a command that must end may clean up before it is killed. Default 2 s.
	Grace time.Duration

	// Extra are tools of others, offered under their own names beside those that names lists.
	Extra []Tool
}

// Set is the tools of one agent, over one workspace. It may be used by several goroutines.
type Set struct {
	ws    *workspace
	tools []Tool
	by    map[string]entry
}

type entry struct {
	tool   Tool
	schema *Schema
}

// builders makes each tool of this package.
var builders = map[string]func(*workspace, Options) Tool{
	"read_file":    func(ws *workspace, _ Options) Tool { return &readFile{ws} },
	"write_file":   func(ws *workspace, _ Options) Tool { return &writeFile{ws} },
	"edit_file":    func(ws *workspace, _ Options) Tool { return &editFile{ws} },
	"list_files":   func(ws *workspace, _ Options) Tool { return &listFiles{ws} },
	"search_files": func(ws *workspace, _ Options) Tool { return &searchFiles{ws} },
	"ask":          func(*workspace, Options) Tool { return ask{} },
	"shell":        func(ws *workspace, o Options) Tool { return newShell(ws, o) },
}

// Names lists the tools of this package, sorted.
func Names() []string {
	var out []string
	for name := range builders {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// New opens a workspace and makes the named tools over it. The Set must be closed.
func New(dir string, names []string, opts Options) (*Set, error) {
	ws, err := openWorkspace(dir, opts)
	if err != nil {
		return nil, err
	}
	s := &Set{ws: ws, by: map[string]entry{}}
	for _, name := range names {
		build := builders[name]
		if build == nil {
			ws.Close()
			return nil, fmt.Errorf("%w as %q: agentd has %s", ErrNoTool, name, strings.Join(Names(), ", "))
		}
		err = errors.Join(err, s.add(build(ws, opts)))
	}
	for _, t := range opts.Extra {
		err = errors.Join(err, s.add(t))
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	return s, nil
}

func (s *Set) add(t Tool) error {
	spec := t.Spec()
	if _, twice := s.by[spec.Name]; twice {
		return fmt.Errorf("the tool %q is listed twice", spec.Name)
	}
	schema, err := NewSchema(spec.Name, spec.Parameters)
	if err != nil {
		return err
	}
	s.tools = append(s.tools, t)
	s.by[spec.Name] = entry{t, schema}
	return nil
}

// Close gives the workspace up. No call may be running.
func (s *Set) Close() error { return s.ws.Close() }

// Tools are in the order of their names as given to [New], then the extra ones.
func (s *Set) Tools() []Tool { return slices.Clone(s.tools) }

// Tool finds one by its name.
func (s *Set) Tool(name string) (Tool, bool) {
	e, ok := s.by[name]
	return e.tool, ok
}

// Schema is the parameters of a tool, absent if there is none of that name.
func (s *Set) Schema(name string) payload.Value {
	if e, ok := s.by[name]; ok {
		return e.tool.Spec().Parameters
	}
	return payload.Value{}
}

// Validate checks arguments against the schema of a tool. It wraps ErrNoTool or ErrArguments.
func (s *Set) Validate(name string, arguments payload.Value) error {
	e, ok := s.by[name]
	if !ok {
		return fmt.Errorf("%w as %q", ErrNoTool, name)
	}
	return e.schema.Validate(arguments)
}

// callWriter is Call for a [Writer].
func callWriter(ctx context.Context, t Writer, call Invocation) Result {
	w, err := t.Prepare(ctx, call.Arguments)
	if err != nil {
		return failure(Failed, err)
	}
	return t.Commit(ctx, w)
}
