package replay

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"agentd/operation"
)

// play replays the rows of one commit.
func (p *player) play(ctx context.Context, commit []operation.Committed) error {
	for _, c := range p.inCallOrder(commit) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o := p.ops[c.Op]; o.known {
			if err := p.session(o.head.SessionID).row(ctx, o, c.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// inCallOrder is a commit with the first rows of the calls of one reply in the order in which they were
// decided. A call that is rejected is written at once, but one that runs only when its turn comes.
func (p *player) inCallOrder(commit []operation.Committed) []operation.Committed {
	var places []int
	var calls []operation.Committed
	seen := map[string]bool{}
	for i, c := range commit {
		o := p.ops[c.Op]
		if o.began || seen[c.Op] || o.head.Kind != "tool" || o.head.Foreign || !decides(c.Stage) {
			continue
		}
		seen[c.Op] = true
		if len(calls) > 0 && p.ops[calls[0].Op].head.Parent != o.head.Parent {
			continue // of another session
		}
		places, calls = append(places, i), append(calls, c)
	}
	if len(calls) < 2 {
		return commit
	}
	slices.SortStableFunc(calls, func(a, b operation.Committed) int { return natural(a.Op, b.Op) })
	out := slices.Clone(commit)
	for i, at := range places {
		out[at] = calls[i]
	}
	return out
}

// decides reports whether a row of this stage says what was decided before an action.
func decides(s operation.Stage) bool {
	return s == operation.StReady || s == operation.StWaiting || s == operation.StIntent
}

// natural compares ids by their numbers where they have some: c2 comes before c10.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, errA := strconv.ParseUint(a[:x], 10, 64)
			n, errB := strconv.ParseUint(b[:y], 10, 64)
			if by := cmp.Compare(m, n); errA == nil && errB == nil && by != 0 {
				return by
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits counts those that s begins with.
func digits(s string) (n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
