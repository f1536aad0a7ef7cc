package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var redirectKinds = map[syntax.RedirOperator]string{
	syntax.RdrOut: "write", syntax.AppOut: "append", syntax.RdrIn: "read", syntax.RdrInOut: "readwrite",
	syntax.DplIn: "duplicate", syntax.DplOut: "duplicate", syntax.RdrClob: "write",
	syntax.Hdoc: "heredoc", syntax.DashHdoc: "heredoc", syntax.WordHdoc: "herestring",
	syntax.RdrAll: "write", syntax.AppAll: "append",
}

// redirects evaluates redirections, in order, and returns what standard input is then, nil if it is
// what it was.
func (w *walker) redirects(list []*syntax.Redirect, st *state, cx context) ([]Redirect, *stdin) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]Redirect, 0, len(list))
	var in *stdin
	for _, r := range list {
		if !w.spend(2) {
			break
		}
		kind := redirectKinds[r.Op]
		if kind == "" {
			w.unknown("a redirection isn't understood")
			continue
		}
		if r.N != nil && len(r.N.Value) > 1 && w.dialect == Dash {
			w.unknown("dash takes a number of several digits before a redirection for an argument")
		}
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			if name := strings.Trim(r.N.Value, "{}"); syntax.ValidName(name) {
				w.assign(st, name, field{number: true}, false)
			} else {
				w.unknown("a redirection sets an element of an array")
			}
		}
		var f field
		switch kind {
		case "heredoc":
			f = w.heredoc(r, st, cx)
		case "herestring":
			f = w.word(r.Word, st, cx)
			if f.known {
				f.text += "\n"
			}
		default:
			f = w.target(r.Word, st, cx)
		}
		if kind == "duplicate" && !isDescriptor(f) {
			switch {
			case f.known && r.Op == syntax.DplOut && w.dialect != Dash && (r.N == nil || r.N.Value == "1"):
				kind = "write" // >&file
			case f.known: // an error in both shells
			default:
				kind = "write"
				if r.Op == syntax.DplIn {
					kind = "read"
				}
			}
		}
		item := Redirect{Kind: kind, Target: f.text, Known: f.known, field: f}
		if item.writes() || kind == "read" {
			item.Known = f.pathKnown
			if f.pathKnown {
				item.Target = f.path
			}
		}
		if item.Known && w.dialect != Dash && hasPrefix(item.Target, []string{"/dev/tcp/", "/dev/udp/"}) {
			item.Kind = "network"
		}
		w.spend(itemCost + len(item.Target)/16)
		out = append(out, item)
		if reads := kind == "read" || kind == "readwrite" || kind == "heredoc" || kind == "herestring" || r.Op == syntax.DplIn; reads && (r.N == nil || r.N.Value == "0") || r.N != nil && r.N.Value == "0" {
			in = &stdin{}
			if (kind == "heredoc" || kind == "herestring") && f.known {
				in.known, in.text = true, f.text
			}
		}
	}
	return out, in
}

// canFail tells whether a redirection may find that it can't be done.
func (w *walker) canFail(r *syntax.Redirect) bool {
	target := ""
	if r.Word != nil {
		target = r.Word.Lit()
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return false
	case syntax.DplIn, syntax.DplOut:
		if strings.HasSuffix(target, "-") {
			w.closed = true
			return target != "-"
		}
		return w.closed || target != "0" && target != "1" && target != "2"
	}
	return target != "/dev/null"
}

// documentBehind tells whether a here document of some statements begins behind a place: shells differ
// in where they look for it.
func (w *walker) documentBehind(list []*syntax.Stmt, end syntax.Pos) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			if r, ok := n.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
				found = found || r.Hdoc == nil || !r.Hdoc.Pos().IsValid() || r.Hdoc.Pos().Offset() > end.Offset()
			}
			return w.spend(1)
		})
	}
	return found
}

// heredoc expands the body of a here document.
func (w *walker) heredoc(r *syntax.Redirect, st *state, cx context) field {
	if r.Hdoc == nil {
		return literal("")
	}
	quoted := false
	for _, p := range r.Word.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			quoted = true
		}
	}
	if quoted {
		var text strings.Builder
		for _, p := range r.Hdoc.Parts {
			lit, ok := p.(*syntax.Lit)
			if !ok {
				w.unknown("a here document isn't understood")
				return field{}
			}
			text.WriteString(w.src.plain(lit.Value))
		}
		w.spend(1 + text.Len()/16)
		return literal(text.String())
	}
	return w.document(r.Hdoc, st, cx)
}

// isDescriptor tells whether the word of a duplication can only be a file descriptor.
func isDescriptor(f field) bool {
	if f.number {
		return true
	}
	return f.known && (f.text == "-" || f.text != "" && strings.Trim(strings.TrimSuffix(f.text, "-"), "0123456789") == "")
}

func (r *Redirect) writes() bool {
	return r.Kind == "write" || r.Kind == "append" || r.Kind == "readwrite" || r.Kind == "network"
}
