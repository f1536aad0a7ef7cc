package shell

import "mvdan.cc/sh/v3/syntax"

func (w *walker) ifClause(c *syntax.IfClause, st *state, cx context) *state {
	var after *state
	for c != nil && !w.spent {
		if len(c.Cond) == 0 { // else
			return w.join(after, w.all(c.Then, st, cx))
		}
		succ, fail := w.list(c.Cond, st, cx)
		if succ == fail {
			fail = fail.fork()
		}
		after = w.join(after, w.all(c.Then, succ, cx))
		c, st = c.Else, fail
	}
	return w.join(after, st)
}

// loop walks a body again until it does nothing that a walk before hasn't seen.
func (w *walker) loop(st *state, body func(*state) *state) *state {
	for round := 0; ; round++ {
		commands, reasons, isKnown, failed := len(w.out.Commands), len(w.out.Reasons), w.out.Known, w.out.Error
		later := len(w.later)
		start := st.fork()
		end := body(st.fork())
		w.spend(start.vars.len() + end.vars.len() + start.funcs.len() + end.funcs.len())
		if w.spent || covers(start, end) {
			return w.join(start, end)
		}
		if round == maxRounds {
			w.unknown("a loop changes too much")
			end.forget()
			return end
		}
		for _, r := range w.out.Reasons[reasons:] {
			delete(w.said, r)
		}
		w.out.Commands, w.out.Reasons, w.out.Known, w.out.Error = w.out.Commands[:commands], w.out.Reasons[:reasons], isKnown, failed
		w.later = w.later[:later]
		st = w.join(start, end)
		if st == start {
			st = end
		}
	}
}

func (w *walker) forClause(c *syntax.ForClause, st *state, cx context) *state {
	cx = cx.in("loop")
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		w.arithmetic(l.Init, true, st, cx)
		return w.loop(st, func(st *state) *state {
			w.arithmetic(l.Cond, true, st, cx)
			st = w.all(c.Do, st, cx)
			w.arithmetic(l.Post, true, st, cx)
			return st
		})
	case *syntax.WordIter:
		var v value
		if l.InPos.IsValid() {
			v = anyOf(w.words(l.Items, st, cx))
		}
		return w.loop(st, func(st *state) *state {
			skip := st.fork()
			if c.Select {
				w.setVar(st, "REPLY", variable{})
				v = value{}
			}
			if syntax.ValidName(l.Name.Value) {
				w.assignValue(st, l.Name.Value, v)
				w.sensitive(st, l.Name.Value, field{}, st.lookup(l.Name.Value).export)
			} else {
				w.unknown("the variable of a loop isn't understood")
			}
			return w.join(w.all(c.Do, st, cx), skip)
		})
	}
	w.unknown("a loop isn't understood")
	return st
}

// anyOf is what is known of any one of the fields.
func anyOf(list []field) value {
	var v value
	for i, f := range list {
		var x value
		switch {
		case f.known:
			x = known(f.text)
		case f.number && !f.many:
			x = value{kind: number}
		}
		if i == 0 {
			v = x
		} else {
			v = either(v, x)
		}
	}
	return v
}

func (w *walker) caseClause(c *syntax.CaseClause, st *state, cx context) *state {
	w.word(c.Word, st, cx)
	after := st.fork() // nothing matched
	var through *state // from the item before
	for _, item := range c.Items {
		if !w.spend(1) {
			break
		}
		for _, p := range item.Patterns {
			w.perhaps(st, func(st *state) { w.word(p, st, cx) })
		}
		after = w.join(after, st.fork())
		start := w.join(st.fork(), through)
		end := w.all(item.Stmts, start.fork(), cx)
		after = w.join(after, end)
		through = nil
		if item.Op != syntax.Break {
			through = end
		}
	}
	return after
}
