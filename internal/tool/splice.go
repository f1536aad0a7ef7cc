package tool

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agentd/internal/secret"
)

// variable is what holds the value of a handle in a command's environment.
const variable = "AGENTD_SECRET_"

// errPlace: a value would be read as something else than a text there.
var errPlace = errors.New("a secret can't be put in safely there: let it stand alone, or in double quotes, as an argument of a program or the value of a variable")

// splice puts variables in the place of the handles of a command line, each quoted as its place
// demands, and gives the environment that they stand for. Where a value would be read as code, or the
// line can't be read, it refuses.
func splice(line string, found []secret.Handle, bash bool) (spliced string, env []string, err error) {
	if found == nil {
		return line, nil, nil
	}
	f, err := parseLine(line, bash)
	if err != nil {
		return "", nil, fmt.Errorf("the command line can't be read, so no secret is put into it: %w", err)
	}
	places := placesOf(f)
	names := map[string]string{}
	var b strings.Builder
	at := 0
	for _, h := range found {
		p := placeOf(places, h)
		if p == nil {
			return "", nil, errPlace
		}
		name, known := names[h.Value]
		if !known {
			name = fmt.Sprint(variable, len(names)+1)
		}
		put, uses, err := p.put(line, h, name)
		if err != nil {
			return "", nil, err
		}
		if uses && !known {
			names[h.Value] = name
			env = append(env, name+"="+h.Value)
		}
		b.WriteString(line[at:h.Start])
		b.WriteString(put)
		at = h.End
	}
	b.WriteString(line[at:])
	if _, err := parseLine(b.String(), bash); err != nil {
		return "", nil, errPlace
	}
	return b.String(), env, nil
}

func parseLine(line string, bash bool) (*syntax.File, error) {
	variant := syntax.LangPOSIX
	if bash {
		variant = syntax.LangBash
	}
	return syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
}

// place is a piece of a command line in which a value means a text.
type place struct {
	start, end  int
	open, close string // what stands around the variable
	raw         bool   // nothing is expanded: the value itself
	comment     bool
	escapes     bool   // a backslash before it means something
	delimiter   string // of a document that isn't expanded
}

func placeOf(places []place, h secret.Handle) *place {
	for i := range places {
		if p := &places[i]; p.start <= h.Start && h.End <= p.end {
			return p
		}
	}
	return nil
}

// put is what stands for a handle; uses says whether that is the variable.
func (p *place) put(line string, h secret.Handle, name string) (text string, uses bool, err error) {
	before := line[p.start:h.Start]
	slashes := len(before) - len(strings.TrimRight(before, `\`))
	switch {
	case p.comment:
		return line[h.Start:h.End], false, nil
	case p.escapes && slashes%2 == 1:
		return "", false, errPlace
	case p.raw && (strings.ContainsAny(h.Value, "\r\n") || strings.Contains(p.delimiter, h.Value)):
		return "", false, errPlace
	case p.raw:
		return h.Value, false, nil
	}
	return p.open + "${" + name + "}" + p.close, true, nil
}

// placesOf finds the places of a line, the inner ones first.
func placesOf(f *syntax.File) []place {
	var out []place
	var above []syntax.Node
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if p, ok := placeAt(n, above); ok {
			p.start, p.end = int(n.Pos().Offset()), int(n.End().Offset())
			out = append(out, p)
		}
		above = append(above, n)
		return true
	})
	return out
}

// placeAt tells what a value would be in a node, from the nodes above it.
func placeAt(n syntax.Node, above []syntax.Node) (place, bool) {
	up := func(i int) syntax.Node {
		if len(above) < i {
			return nil
		}
		return above[len(above)-i]
	}
	switch n := n.(type) {
	case *syntax.Comment:
		return place{comment: true}, true
	case *syntax.SglQuoted:
		p := place{open: `'"`, close: `"'`}
		if n.Dollar {
			p.close = `"$'`
			p.escapes = true
		}
		w, ok := up(1).(*syntax.Word)
		return p, ok && isText(w, up(2))
	case *syntax.Lit:
		switch parent := up(1).(type) {
		case *syntax.DblQuoted:
			w, ok := up(2).(*syntax.Word)
			return place{escapes: true}, ok && isText(w, up(3))
		case *syntax.Word:
			if r, ok := up(2).(*syntax.Redirect); ok && r.Hdoc == parent {
				return documentPlace(r), true
			}
			return place{open: `"`, close: `"`, escapes: true}, isText(parent, up(2))
		}
	}
	return place{}, false
}

// documentPlace is the text of a here-document.
func documentPlace(r *syntax.Redirect) place {
	delimiter, quoted := "", false
	for _, part := range r.Word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			delimiter += part.Value
			quoted = quoted || strings.Contains(part.Value, `\`)
		case *syntax.SglQuoted:
			delimiter, quoted = delimiter+part.Value, true
		case *syntax.DblQuoted:
			quoted = true
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					delimiter += lit.Value
				}
			}
		default:
			quoted = true
		}
	}
	return place{raw: quoted, escapes: !quoted, delimiter: delimiter}
}

// isText reports whether a word is taken as a text where it stands, and not as arithmetic, a pattern
// of an expansion, or the like.
func isText(w *syntax.Word, parent syntax.Node) bool {
	switch p := parent.(type) {
	case *syntax.CallExpr:
		return !readsCode(p)
	case *syntax.WordIter, *syntax.CaseClause, *syntax.CaseItem:
		return true
	case *syntax.Redirect:
		return p.Word == w && p.Hdoc == nil || p.Op == syntax.WordHdoc
	case *syntax.Assign:
		return p.Value == w
	case *syntax.ArrayElem:
		return p.Value == w
	}
	return false
}

// readsCode reports whether a command reads its arguments as shell: a value in them would be code.
func readsCode(c *syntax.CallExpr) bool {
	for i, w := range c.Args {
		switch lit := w.Lit(); {
		case i > 0 && strings.HasPrefix(lit, "-") && !strings.HasPrefix(lit, "--") && strings.Contains(lit, "c"):
			return true
		case i > 0:
		case lit == "eval" || lit == "let" || lit == "trap":
			return true
		case !slices.Contains(shells, path.Base(lit)):
			return false
		}
	}
	return false
}

// shells run what stands after -c.
var shells = []string{"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "su"}
