package store

import "agentd/operation"

// group is operations that stay or go together.
type group struct {
	up         *group // another one that it is part of
	ops        []int64
	sessions   map[string]bool
	runs       int
	last       int64 // when it changed, in microseconds
	unfinished bool
}

func (x *group) root() *group {
	for x.up != nil {
		if x.up.up != nil {
			x.up = x.up.up
		}
		x = x.up
	}
	return x
}

// groups finds what belongs together: the operations of a session, of a run, and an operation with its
// parts.
func (g *collecting) groups() ([]*group, error) {
	byName, all := map[string]*group{}, []*group{}
	named := func(name string) *group {
		x := byName[name]
		if x == nil {
			x = &group{sessions: map[string]bool{}}
			byName[name] = x
			all = append(all, x)
		}
		return x.root()
	}
	err := each(g.ctx, g.conn, func(row scanner) error {
		op := &tracked{}
		if err := op.scan(row); err != nil {
			return err
		}
		h := op.head()
		x := named("operation " + op.id)
		for prefix, name := range map[string]string{"session ": h.SessionID, "run ": h.RunID, "operation ": h.Parent} {
			if name != "" {
				x = joined(x, named(prefix+name))
			}
		}
		x.add(op)
		return nil
	}, `SELECT `+opColumns+` FROM operations`)
	var roots []*group
	for _, x := range all {
		if x.up == nil {
			roots = append(roots, x)
		}
	}
	return roots, err
}

func (x *group) add(op *tracked) {
	h := op.head()
	x.ops = append(x.ops, op.seq)
	x.last = max(x.last, op.updated)
	if h.SessionID != "" {
		x.sessions[h.SessionID] = true
	}
	if h.Kind == "run" {
		x.runs++
	}
	switch op.sum.State {
	case operation.NotStarted, operation.Waiting, operation.Running, operation.Unknown:
		x.unfinished = true
	default:
		x.unfinished = x.unfinished || !op.sum.Done()
	}
}

// joined makes two groups one, the smaller part of the larger.
func joined(a, b *group) *group {
	if a == b {
		return a
	}
	if len(a.ops) < len(b.ops) {
		a, b = b, a
	}
	b.up = a
	a.ops = append(a.ops, b.ops...)
	for s := range b.sessions {
		a.sessions[s] = true
	}
	a.runs, a.last, a.unfinished = a.runs+b.runs, max(a.last, b.last), a.unfinished || b.unfinished
	b.ops, b.sessions = nil, nil
	return a
}
