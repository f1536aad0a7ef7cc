package starlark

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/interp"
)

// fault makes the error that a script's author sees, from whatever the interpreter returned. The
// position is where the script was, or else the one given.
func (r *run) fault(err error, at syntax.Position) error {
	var done *interp.Error
	if errors.As(err, &done) {
		return done
	}
	e := &interp.Error{File: at.Filename(), Line: int(at.Line), Message: err.Error()}
	if r.loading != nil {
		e.HookID = r.loading.Refused
	}
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		e.Message = eval.Msg
		if frames := scriptFrames(eval.CallStack); len(frames) > 0 {
			last := frames[len(frames)-1].Pos
			e.File, e.Line = last.Filename(), int(last.Line)
			e.Backtrace = backtrace(frames)
		}
	}
	return r.why().Say(e)
}

// scriptFrames leaves out the builtins, those that rewriting put in among them.
func scriptFrames(stack starlark.CallStack) []starlark.CallFrame {
	var out []starlark.CallFrame
	for _, f := range stack {
		if f.Pos.Filename() != "<builtin>" {
			out = append(out, f)
		}
	}
	return out
}

func backtrace(frames []starlark.CallFrame) string {
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n")
	for _, f := range frames {
		fmt.Fprintf(&b, "  %s: in %s\n", f.Pos, f.Name)
	}
	return b.String()
}

// sourceError makes the error of text that doesn't parse or resolve.
func (r *run) sourceError(file string, err error) error {
	e := &interp.Error{File: file, Message: err.Error()}
	var syn syntax.Error
	var names resolve.ErrorList
	switch {
	case errors.As(err, &syn):
		e.Line, e.Message = int(syn.Pos.Line), syn.Msg
	case errors.As(err, &names):
		e.Line, e.Message = int(names[0].Pos.Line), withoutOddHint(names[0].Msg)
		if n := len(names) - 1; n > 0 {
			e.Message += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return r.why().Say(e)
}

// withoutOddHint drops a spelling hint that names something no script can write.
func withoutOddHint(msg string) string {
	head, hint, ok := strings.Cut(msg, " (did you mean ")
	if ok && !isIdentifier(strings.TrimSuffix(hint, "?)")) {
		return head
	}
	return msg
}
