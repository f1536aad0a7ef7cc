package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
)

// seat is what stays the same of a hook's calls. A worker is told once, and knows it by its number then.
type seat struct {
	hook    *hook
	binding *hookpoints.Binding
	point   *hookpoints.Point
}

// appendSeats sees to it that a worker knows the hooks of a trip, and appends what it has to be told yet.
func (p *process) appendSeats(ctx context.Context, dst []byte, hooks []*hook, calls []*hookpoints.Call) ([]byte, error) {
	for i, c := range calls {
		s := seat{hooks[i], c.Binding, c.Point}
		if _, known := p.seats[s]; known {
			continue
		}
		if err := s.hook.script.know(ctx, p); err != nil {
			return dst, err
		}
		number := len(p.seats)
		p.seats[s] = number
		from := len(dst)
		dst = appendNumber(begin(dst, seated), int64(number))
		dst = appendNumber(appendText(dst, s.hook.script.key), int64(s.hook.index))
		dst = appendValue(appendText(appendText(dst, s.point.Name), s.binding.BindingID), s.binding.Config)
		var err error
		if dst, err = end(dst, from); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendTrip appends the question: what all of a trip see alike, and then of each hook what it sees alone.
func (p *process) appendTrip(dst []byte, kind byte, hooks []*hook, calls []*hookpoints.Call) ([]byte, error) {
	from, first := len(dst), calls[0]
	dst = binary.AppendVarint(begin(dst, kind), first.Now.Unix())
	dst = appendText(appendNumber(dst, int64(first.Now.Nanosecond())), first.Seed)
	dst = appendValue(appendValue(dst, first.Scope.Value), first.Payload)
	dst = appendNumber(dst, int64(len(calls)))
	for i, c := range calls {
		dst = appendNumber(dst, int64(p.seats[seat{hooks[i], c.Binding, c.Point}]))
		dst = appendNumber(appendNumber(dst, c.Spent.Fuel), c.Spent.Bytes)
		dst = appendValue(appendValue(dst, c.Facts), c.Missing)
		if c.State.Len() > 0 {
			dst = appendValue(dst, c.State)
		} else {
			dst = append(dst, 0)
		}
	}
	return end(dst, from)
}

// travel asks a worker, in one write and one read.
func (p *process) travel(ctx context.Context, kind byte, hooks []*hook, calls []*hookpoints.Call) ([]result, error) {
	out, err := p.appendSeats(ctx, p.out[:0], hooks, calls)
	if err == nil {
		out, err = p.appendTrip(out, kind, hooks, calls)
	}
	if p.out = out[:0]; cap(out) > maxKept {
		p.out = nil
	}
	if err != nil {
		if errors.Is(err, errLong) {
			err = fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)
		}
		return nil, err
	}
	if err := p.send(ctx, out); err != nil {
		return nil, err
	}
	body, err := p.receive(ctx, said)
	if err != nil {
		return nil, err
	}
	return readResults(body, kind, hooks)
}

// maxKept is the largest buffer that a process keeps for the next trip.
const maxKept = 1 << 20

// readResults reads what came of a trip as if somebody hostile had written it. What follows one that
// failed, or that changed what the next would see, can't have been asked for.
func readResults(body []byte, kind byte, hooks []*hook) ([]result, error) {
	c := &cursor{left: body}
	n := c.count()
	if n == 0 || n > len(hooks) {
		return nil, errLies
	}
	out := make([]result, 0, n)
	for i := range n {
		r := readResult(c, hooks[i].script.limits)
		switch {
		case c.fault, kind == facts && r.decisions != nil, kind == decides && r.keys != nil:
			return nil, errLies
		case i < n-1 && (r.err != nil || changes(r.decisions)):
			return nil, errLies
		}
		out = append(out, r)
	}
	if !c.end() {
		return nil, errLies
	}
	return out, nil
}

// around reads what all of a trip see alike.
func (c *cursor) around(a *hookpoints.Around) {
	seconds, size := binary.Varint(c.left)
	if size <= 0 {
		c.fail()
		return
	}
	c.left = c.left[size:]
	a.Now, a.Seed = time.Unix(seconds, c.number()).UTC(), c.text()
	a.Scope = hookpoints.Scope{Value: c.believed()} // the host has checked it, and here nothing is matched
}
