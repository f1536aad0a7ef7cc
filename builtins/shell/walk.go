package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker follows a script as a shell would run it, down every way at once.
type walker struct {
	out     *Script
	said    map[string]bool // reasons
	work    int
	parse   int  // bytes that may still be parsed
	spent   bool // nothing is followed any further
	extra   int  // commands that were made after that
	src     *source
	unit    int // of src, which is read before it is run
	dialect Dialect

	ever  map[string]function // every function that was defined anywhere
	later []deferred

	aliased map[string]bool // names that are aliases at some time
	trapped []string        // programs that traps can start at any time
	closed  bool            // a descriptor was closed, so that its copies can fail

	gitRan      bool
	gitTouched  bool // its files were changed, or its configuration
	loginRan    bool // a shell that reads its startup files
	homeTouched bool // those files were changed
}

// deferred is code that runs at some time that isn't known: a trap.
type deferred struct {
	text string
	stmt *syntax.Stmt // if there is no text
	src  *source
	st   *state
	cx   context
	at   Dialect
}

// context is how a place of the script is reached.
type context struct {
	chain  *link
	depth  int
	shells int
	frame  *frame // of the function, nil outside
	stdin  stdin  // of what is around
	out    *stdin // takes what the command prints, for the next one of a pipe; nil if nobody does
	inner  bool   // within a compound command or a function: it was read before it runs
}

type link struct {
	name   string
	parent *link
	length int
	weight int // of what it takes to copy, in units of work
}

// frame is a call of a function.
type frame struct {
	depth  int
	locals map[string]variable // as they were before
}

// stdin is what a command would read.
type stdin struct {
	known bool
	text  string
}

// in is the context of something reached by one more step.
func (cx context) in(step string) context {
	l := &link{name: step, parent: cx.chain, length: 1, weight: 1 + len(step)/16}
	if cx.chain != nil {
		l.length += cx.chain.length
		l.weight += cx.chain.weight
	}
	cx.chain = l
	return cx
}

func (cx context) steps() []string {
	if cx.chain == nil {
		return nil
	}
	out := make([]string, cx.chain.length)
	for l, i := cx.chain, len(out)-1; l != nil; l, i = l.parent, i-1 {
		out[i] = l.name
	}
	return out
}

// deeper goes one level down, unless that is too deep.
func (w *walker) deeper(cx *context) bool {
	if cx.depth++; cx.depth > maxDepth {
		w.unknown("the line nests too deep")
		return false
	}
	return !w.spent
}

// unknown says that the script is not all known.
func (w *walker) unknown(reason string) {
	w.out.Known = false
	reason = short(reason)
	if !w.said[reason] && len(w.out.Reasons) < maxReasons {
		if w.said == nil {
			w.said = map[string]bool{}
		}
		w.said[reason] = true
		w.out.Reasons = append(w.out.Reasons, reason)
	}
}

// text parses and walks a text of shell code. It returns the state after it.
func (w *walker) text(code string, d Dialect, st *state, cx context) (succ, fail *state) {
	if !w.deeper(&cx) {
		return st, st
	}
	if len(code) > w.parse {
		w.unknown("there is too much code to read")
		return st, st
	}
	w.parse -= len(code)
	src, units, err := parse(code, d)
	if err != nil {
		w.unknown("the syntax has an error: " + err.Error())
		if w.out.Error == "" {
			w.out.Error = short(err.Error())
		}
	}
	st.dash = d == Dash
	oldSrc, oldUnit, oldDialect := w.src, w.unit, w.dialect
	w.src, w.dialect = src, d
	cx.inner, cx.out = false, nil
	succ, fail = st, st
	for i, u := range units {
		w.unit = i
		succ, fail = w.list(u, w.join(succ, fail), cx)
	}
	w.src, w.unit, w.dialect = oldSrc, oldUnit, oldDialect
	return succ, fail
}

// list walks statements one after another.
func (w *walker) list(list []*syntax.Stmt, st *state, cx context) (succ, fail *state) {
	succ, fail = st, st
	for _, s := range list {
		if w.spent {
			break
		}
		succ, fail = w.stmt(s, w.join(succ, fail), cx)
	}
	return succ, fail
}

// all walks statements and returns the state after them, whatever they gave.
func (w *walker) all(list []*syntax.Stmt, st *state, cx context) *state {
	return w.join(w.list(list, st, cx))
}

// substitution walks statements, which end at a place, in a copy of the shell.
func (w *walker) substitution(list []*syntax.Stmt, end syntax.Pos, step string, st *state, cx context) {
	if !w.deeper(&cx) {
		return
	}
	if strings.Contains(w.src.text, "<<") && w.documentBehind(list, end) {
		w.unknown("a here document stands behind the substitution that it belongs to")
	}
	cx.inner, cx.stdin, cx.out = true, stdin{}, nil
	w.all(list, st.fork(), cx.in(step))
}

// stmt walks one statement, and returns the states after success and failure.
func (w *walker) stmt(s *syntax.Stmt, st *state, cx context) (succ, fail *state) {
	if s == nil || !w.spend(1) || !w.deeper(&cx) {
		return st, st
	}
	if s.Negated || s.Background {
		cx.out = nil
	}
	if s.Background || s.Coprocess || s.Disown {
		w.command(s, st.fork(), cx.in("background"))
		return st, st
	}
	succ, fail = w.command(s, st, cx)
	if s.Negated {
		succ, fail = fail, succ
	}
	return succ, fail
}

// command walks a statement. One whose redirections fail isn't run, and changes nothing.
func (w *walker) command(s *syntax.Stmt, st *state, cx context) (succ, fail *state) {
	if !slices.ContainsFunc(s.Redirs, w.canFail) {
		return w.perform(s, st, cx)
	}
	before := st.fork()
	succ, fail = w.perform(s, st, cx)
	return succ, w.join(fail, before)
}

func (w *walker) perform(s *syntax.Stmt, st *state, cx context) (succ, fail *state) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.call(call, s.Redirs, st, cx)
	}
	if decl, ok := s.Cmd.(*syntax.DeclClause); ok {
		return w.declClause(decl, s.Redirs, st, cx)
	}
	if fn, ok := s.Cmd.(*syntax.FuncDecl); ok && len(s.Redirs) == 0 {
		w.define(fn, st, cx)
		return st, st
	}
	cx.inner, cx.stdin, cx.out = true, stdin{}, nil
	if len(s.Redirs) > 0 || s.Cmd == nil {
		redirects, _ := w.redirects(s.Redirs, st, cx)
		w.emit(st, cx, Command{Redirects: redirects, Builtin: true, Known: true})
	}
	switch c := s.Cmd.(type) {
	case nil:
		return st, st
	case *syntax.BinaryCmd:
		return w.chain(s, st, cx)
	case *syntax.Block:
		return w.list(c.Stmts, st, cx)
	case *syntax.Subshell:
		w.all(c.Stmts, st.fork(), cx.in("subshell"))
		return st, st
	case *syntax.IfClause:
		st = w.ifClause(c, st, cx)
	case *syntax.WhileClause:
		st = w.loop(st, func(st *state) *state {
			succ, fail := w.list(c.Cond, st, cx.in("loop"))
			enter, leave := succ, fail
			if c.Until {
				enter, leave = fail, succ
			}
			if enter == leave {
				leave = leave.fork()
			}
			return w.join(w.all(c.Do, enter, cx.in("loop")), leave)
		})
	case *syntax.ForClause:
		st = w.forClause(c, st, cx)
	case *syntax.CaseClause:
		st = w.caseClause(c, st, cx)
	case *syntax.ArithmCmd:
		w.arithmetic(c.X, true, st, cx)
	case *syntax.TestClause:
		w.condition(c.X, st, cx)
	case *syntax.LetClause:
		if _, ok := st.funcs.get("let"); ok {
			w.unknown("let is a function here")
		}
		for _, x := range c.Exprs {
			if !plainLet(x) {
				w.unknown("what let gets may be more than an expression")
			}
			w.arithmetic(x, false, st, cx)
		}
	case *syntax.TimeClause:
		return w.timeClause(c, st, cx)
	case *syntax.CoprocClause:
		w.stmt(c.Stmt, st.fork(), cx.in("background"))
		w.coprocess(c, st)
	case *syntax.FuncDecl:
		w.define(c, st, cx)
	default:
		w.unknown("a command isn't understood")
	}
	return st, st
}

// chain walks commands joined by |, && and ||. The tree leans to the left and can be very deep.
func (w *walker) chain(s *syntax.Stmt, st *state, cx context) (succ, fail *state) {
	type step struct {
		op      syntax.BinCmdOperator
		stmt    *syntax.Stmt
		negated bool // the result up to here, this one included
	}
	var steps []step
	negated := false
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || len(steps) > 0 && (len(s.Redirs) > 0 || s.Background) {
			break
		}
		steps = append(steps, step{b.Op, b.Y, negated})
		s, negated = b.X, b.X.Negated
		if !w.spend(1) {
			return st, st
		}
	}
	slices.Reverse(steps)
	var printed stdin
	if op := steps[0].op; op == syntax.Pipe || op == syntax.PipeAll {
		printed = w.piped(s, st, cx, nil)
		succ, fail = st, st
	} else {
		succ, fail = w.stmt(s, st, cx)
	}
	for _, next := range steps {
		switch next.op {
		case syntax.Pipe, syntax.PipeAll:
			printed = w.piped(next.stmt, st, cx, &printed)
			succ, fail = st, st
		case syntax.AndStmt:
			from := succ
			if from == fail {
				fail = fail.fork()
			}
			s2, f2 := w.stmt(next.stmt, from, cx.in("and"))
			succ, fail = s2, w.join(fail, f2)
		case syntax.OrStmt:
			from := fail
			if from == succ {
				succ = succ.fork()
			}
			s2, f2 := w.stmt(next.stmt, from, cx.in("or"))
			succ, fail = w.join(succ, s2), f2
		}
		if next.negated {
			succ, fail = fail, succ
		}
		if w.spent {
			break
		}
	}
	return succ, fail
}

// piped walks one command of a pipe, which has a shell of its own, and returns what it prints. in is what
// it reads, nil for the first one.
func (w *walker) piped(s *syntax.Stmt, st *state, cx context, in *stdin) stdin {
	if _, ok := s.Cmd.(*syntax.TimeClause); ok && in != nil {
		w.unknown("time stands within a pipe, where it is a program")
	}
	if in != nil {
		cx.stdin = *in
	}
	var printed stdin
	cx.out, cx.inner = &printed, true
	w.stmt(s, st.fork(), cx.in("pipe"))
	return printed
}

// timeClause walks what time is put before. The parser takes -- for the command.
func (w *walker) timeClause(c *syntax.TimeClause, st *state, cx context) (succ, fail *state) {
	if c.Stmt == nil {
		return st, st
	}
	first := c.Stmt
	for {
		b, ok := first.Cmd.(*syntax.BinaryCmd)
		if !ok || !w.spend(1) {
			break
		}
		first = b.X
	}
	if call, ok := first.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
		w.unknown("an option stands after time")
	}
	return w.stmt(c.Stmt, st, cx.in("time"))
}

// coprocess notes the variables of a coprocess.
func (w *walker) coprocess(c *syntax.CoprocClause, st *state) {
	name := "COPROC"
	if c.Name != nil {
		name = c.Name.Lit()
	}
	if !syntax.ValidName(name) {
		w.unknown("the name of a coprocess isn't understood")
		return
	}
	for _, v := range []string{name, name + "_PID"} {
		w.setVar(st, v, variable{opaque: true})
		w.sensitive(st, v, field{}, false)
	}
}
