package starlark

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"go.starlark.net/syntax"

	"agentd/interp"
)

const (
	// maxOperands is how many operands a call that rewriting puts in gets one by one. The interpreter
	// takes 255 in a call; longer displays are handed over as a tuple.
	maxOperands = 200
	// maxSpine is how many operators may follow one another, as in a + b + c, and how deep blocks and
	// branches may nest together.
	maxSpine = 1000
	// largeFrame is the number of slots above which a function pays for its frame.
	largeFrame = 256
	// maxFunctions bounds the functions of a file and its modules: each call looks at those around it.
	maxFunctions = 2000
	// cheapText is the longest literal that a comparison with it leaves to the interpreter.
	cheapText = 64
)

// file is what rewriting knows of a file.
type file struct {
	env       *environment
	path      string
	bound     map[string]bool // names that the file binds anywhere
	top       map[string]bool // names that it binds at the top
	used      map[string]bool // names of the environment that it needs
	temps     int
	depth     int
	functions int
	slots     int // that the statement which is being rewritten may need
	frame     int // that the function may need for one of its statements
	locals    int // of the function
	err       error
}

// rewrite makes everything in a parsed file that may cost more than a step a call of a metered
// builtin. What it needs becomes a global of the file, assigned before everything else: a global is
// an index away, a predeclared name is a search. It returns the names that the file itself binds at
// the top.
func rewrite(l *loading, f *syntax.File) (own map[string]bool, err error) {
	w := &file{env: l.env, path: f.Path, bound: map[string]bool{}, top: map[string]bool{}, used: map[string]bool{}}
	w.collect(f)
	if l.functions += w.functions; l.functions > maxFunctions {
		w.fail(syntax.MakePosition(&f.Path, 1, 1), "the file and its modules have %d functions, at most %d are allowed", l.functions, maxFunctions)
	}
	if w.err != nil {
		return nil, w.err
	}
	stmts := w.stmts(f.Stmts)
	if w.err != nil {
		return nil, w.err
	}
	start := syntax.MakePosition(&f.Path, 1, 1)
	var prologue []syntax.Stmt
	for _, name := range slices.Sorted(maps.Keys(w.used)) {
		prologue = append(prologue, &syntax.AssignStmt{
			OpPos: start, Op: syntax.EQ, LHS: ident(name, start), RHS: ident(predeclared(name), start),
		})
	}
	f.Stmts = append(prologue, stmts...)
	return w.top, nil
}

// predeclared is the name in the interpreter's environment of what a script calls name.
func predeclared(name string) string { return "@" + name }

// fail records the first fault.
func (w *file) fail(at syntax.Position, format string, args ...any) {
	if w.err == nil {
		w.err = syntax.Error{Pos: at, Msg: fmt.Sprintf(format, args...)}
	}
}

// use is a reference to something of the environment.
func (w *file) use(name string, at syntax.Position) *syntax.Ident {
	w.used[name] = true
	return ident(name, at)
}

func (w *file) call(name string, at syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: w.use(name, at), Lparen: at, Args: args, Rparen: at}
}

func ident(name string, at syntax.Position) *syntax.Ident {
	return &syntax.Ident{NamePos: at, Name: name}
}

func textLiteral(s string, at syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: at, Raw: `""`, Value: s}
}

func intLiteral(n int, at syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.INT, TokenPos: at, Raw: "0", Value: int64(n)}
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return s != ""
}

// collect gathers the names that a file binds, and refuses those that it may not.
func (w *file) collect(f *syntax.File) {
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			w.targets(s.LHS, w.top)
		case *syntax.DefStmt:
			w.top[s.Name.Name] = true
		case *syntax.LoadStmt:
			w.loads(s)
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			w.targets(n.LHS, w.bound)
		case *syntax.DefStmt:
			w.bind(n.Name, w.bound)
			w.functions++
			w.params(n.Params)
		case *syntax.LambdaExpr:
			w.functions++
			w.params(n.Params)
		case *syntax.ForStmt:
			w.targets(n.Vars, w.bound)
		case *syntax.ForClause:
			w.targets(n.Vars, w.bound)
		case *syntax.Literal:
			if z, ok := n.Value.(*big.Int); ok && z.BitLen() > maxIntBits {
				w.fail(n.TokenPos, "%v", errIntTooLarge)
			}
		}
		return true
	})
	for name := range w.top {
		w.bound[name] = true
	}
}

func (w *file) bind(id *syntax.Ident, names map[string]bool) {
	switch id.Name {
	case "None", "True", "False":
		w.fail(id.NamePos, "%s is a reserved name", id.Name)
	}
	names[id.Name] = true
}

func (w *file) targets(e syntax.Expr, names map[string]bool) {
	switch e := e.(type) {
	case *syntax.Ident:
		w.bind(e, names)
	case *syntax.ParenExpr:
		w.targets(e.X, names)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			w.targets(x, names)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			w.targets(x, names)
		}
	}
}

func (w *file) params(list []syntax.Expr) {
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.Ident:
			w.bind(p, w.bound)
		case *syntax.BinaryExpr:
			w.bind(p.X.(*syntax.Ident), w.bound)
		case *syntax.UnaryExpr:
			if id, ok := p.X.(*syntax.Ident); ok {
				w.bind(id, w.bound)
			}
		}
	}
}

// loads checks names that the parser took out of strings.
func (w *file) loads(s *syntax.LoadStmt) {
	for i, to := range s.To {
		for _, id := range []*syntax.Ident{to, s.From[i]} {
			if !isIdentifier(id.Name) {
				w.fail(id.NamePos, "%q is no name", id.Name)
			}
		}
		w.bind(to, w.top)
	}
}

// scan refuses text that is too long, or nests deeper than the parser should be asked to look.
func scan(src interp.Source) error {
	if n := len(src.Text); n > interp.MaxSource {
		return fmt.Errorf("the file has %d bytes, at most %d are allowed", n, interp.MaxSource)
	}
	line, depth, start := 1, 0, true
	indents := []int{0}
	for i := 0; i < len(src.Text); i++ {
		switch c := src.Text[i]; {
		case c == '\n':
			line, start = line+1, true
		case start && depth == 0:
			n := leadingBlanks(src.Text[i:])
			i += n
			if start = false; i < len(src.Text) && !strings.ContainsRune("\r\n#", rune(src.Text[i])) {
				for indents[len(indents)-1] > n {
					indents = indents[:len(indents)-1]
				}
				if indents[len(indents)-1] < n {
					indents = append(indents, n)
				}
			}
			i-- // look at it again, as something that starts no line
		case c == '#':
			for i+1 < len(src.Text) && src.Text[i+1] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			end := stringEnd(src.Text, i)
			line += strings.Count(string(src.Text[i:end]), "\n")
			i = end - 1
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth = max(depth-1, 0)
		}
		if depth+len(indents) > interp.MaxNesting {
			return syntax.Error{Pos: syntax.MakePosition(&src.Name, int32(line), 1), Msg: fmt.Sprintf("nested deeper than %d levels", interp.MaxNesting)}
		}
	}
	return nil
}

func leadingBlanks(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return n
}

// stringEnd returns the place after the string literal that starts at i.
func stringEnd(b []byte, i int) int {
	quote := string(b[i])
	if strings.HasPrefix(string(b[i:min(i+3, len(b))]), strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(b); i++ {
		switch {
		case b[i] == '\\':
			i++
		case b[i] == '\n' && len(quote) == 1:
			return i // the parser will say it
		case b[i] == quote[0] && strings.HasPrefix(string(b[i:min(i+3, len(b))]), quote):
			return i + len(quote)
		}
	}
	return len(b)
}
