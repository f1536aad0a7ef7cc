package lua

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"agentd/hookpoints"
	"agentd/interp"
)

// maxTrace bounds the calls that a backtrace names.
const maxTrace = 20

// frame is a place in a script.
type frame struct {
	file string
	line int
	name string
}

// noTrace stands where the interpreter would write a backtrace of its own.
const noTrace = "-"

// raise is what a state does with an error, which lies on its stack. Where it happened is only looked
// up when no protected call will catch it.
func raise(L *lua.LState) {
	r := running(L)
	if len(r.trace) == 0 && (r.guarded == 0 || r.over()) {
		r.trace = scriptFrames(L)
	}
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: L.Get(-1), StackTrace: noTrace})
}

// scriptFrames are the calls of Lua functions that are running, the innermost first.
func scriptFrames(L *lua.LState) []frame {
	var out []frame
	for level := 0; len(out) < maxTrace && level <= maxCalls; level++ {
		d, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("Sln", d, lua.LNil); err != nil || d.CurrentLine < 1 || d.Source == "" {
			continue
		}
		out = append(out, frame{d.Source, d.CurrentLine, calledName(d)})
	}
	return out
}

func calledName(d *lua.Debug) string {
	switch {
	case d.LineDefined == 0:
		return "<toplevel>"
	case d.Name == "" || d.Name == "main chunk" || strings.HasPrefix(d.Name, "@") || strings.HasPrefix(d.Name, "<"):
		return fmt.Sprintf("the function of line %d", d.LineDefined)
	}
	return d.Name
}

// origin is where a function begins.
func origin(f *lua.LFunction) frame {
	if f.IsG {
		return frame{}
	}
	return frame{file: f.Proto.SourceName, line: f.Proto.LineDefined}
}

// fault makes the error that a script's author sees. The position is where the script was, or else the
// one given.
func (r *run) fault(err error, at frame) error {
	var done *interp.Error
	if errors.As(err, &done) {
		return done
	}
	if l := r.loading; l != nil && l.fault != nil && strings.HasSuffix(errorText(err), l.fault.Error()) {
		return l.fault
	}
	e := &interp.Error{File: at.file, Line: at.line}
	if r.loading != nil {
		e.HookID = r.loading.Refused
	}
	if len(r.trace) > 0 {
		e.File, e.Line, e.Backtrace = r.trace[0].file, r.trace[0].line, backtrace(r.trace)
	}
	e.Message = strings.TrimPrefix(errorText(err), fmt.Sprintf("%s:%d: ", e.File, e.Line))
	r.why().Say(e)
	if r.broken != nil {
		e.Message = hookpoints.Cut(r.broken.Error(), interp.MaxMessage)
	}
	return e
}

// errorText is what an error says, without where.
func errorText(err error) string {
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return err.Error()
	}
	switch v := api.Object.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return numberText(v)
	case nil:
		return "the interpreter failed"
	default:
		return "error object is a " + kindName(v) + " value"
	}
}

// backtrace shows the innermost call last.
func backtrace(frames []frame) string {
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n")
	for i := len(frames) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "  %s:%d: in %s\n", frames[i].file, frames[i].line, frames[i].name)
	}
	return b.String()
}

// lineError is a fault in the text of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

// sourceError makes the error of text that doesn't parse or compile.
func (r *run) sourceError(src interp.Source, err error) error {
	e := &interp.Error{File: src.Name, Message: err.Error()}
	var syntax *parse.Error
	var compile *lua.CompileError
	var line *lineError
	switch {
	case errors.As(err, &syntax):
		e.Line, e.Message = max(syntax.Pos.Line, 0), syntax.Message
		if syntax.Token != "" {
			e.Message += " near " + shortened(syntax.Token)
		}
		if syntax.Pos.Line == parse.EOF {
			e.Line = 1 + bytes.Count(bytes.TrimRight(src.Text, " \t\r\n"), []byte("\n"))
			e.Message += " at the end of the file"
		}
	case errors.As(err, &compile):
		e.Line, e.Message = compile.Line, compile.Message
	case errors.As(err, &line):
		e.Line, e.Message = line.line, line.text
	}
	return r.why().Say(e)
}
