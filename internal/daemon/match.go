package daemon

import (
	"context"
	"crypto/sha256"
	"sync"

	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
	"agentd/revision"
)

// match finds the open operation of an after event: by the input as it was answered, else as it was
// asked, oldest first. Clients write their inputs anew for each event, so what counts is what they say
// and not how they are spelled.
func (d *Daemon) match(ctx context.Context, e client.Event, session string) ([]operation.Row, error) {
	heads, err := d.store.OpenForeign(ctx, e.Client, session, e.ToolID)
	if err != nil {
		return nil, err
	}
	want := inputOf(e.Input)
	asked, first := "", ""
	for _, h := range heads {
		in, err := d.inputs.of(h.ID, func() ([]operation.Row, error) { return d.store.Rows(ctx, h.ID) })
		if err != nil {
			return nil, err
		}
		if in.answered == want {
			if !e.Second || in.same {
				return d.store.Rows(ctx, h.ID)
			}
			if first == "" { // unless the event before this one has an operation of its own
				first = h.ID
			}
		}
		if asked == "" && in.asked == want {
			asked = h.ID
		}
	}
	switch {
	case first != "":
		return d.store.Rows(ctx, first)
	case asked != "":
		return d.store.Rows(ctx, asked)
	}
	return nil, nil
}

// inputs remembers the inputs of operations that are open: some clients don't report the end of every call, and
// whoever looks for one among thousands can't read all of them each time. It forgets the older half when it is full.
type inputs struct {
	mu         sync.Mutex
	young, old map[string]input
}

// input is what an operation began with, by its digests.
type input struct {
	answered, asked [sha256.Size]byte
	same            bool // it was decided at its client's event before
}

// rememberedInputs is how many inputs one generation holds, about 1 MB.
const rememberedInputs = 8192

// of is the input of an operation, whose rows are read if it isn't known.
func (m *inputs) of(id string, read func() ([]operation.Row, error)) (input, error) {
	m.mu.Lock()
	in, known := m.young[id]
	if !known {
		in, known = m.old[id]
	}
	m.mu.Unlock()
	if !known {
		rows, err := read()
		if err != nil {
			return in, err
		}
		sum := operation.Summarise(rows)
		in = input{inputOf(sum.Final.Get("arguments")), inputOf(sum.Original.Get("arguments")), decidedOf(rows).Code == operation.SameAction}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= rememberedInputs {
		m.old, m.young = m.young, map[string]input{}
	}
	m.young[id] = in
	return in, nil
}

func inputOf(v payload.Value) [sha256.Size]byte { return sha256.Sum256([]byte(normal(v))) }

// normal is a value without the freedom that JSON has in writing it, where that can be had: numbers
// that a float64 would change stay as they are, and then so does all the rest.
func normal(v payload.Value) string {
	if !v.Exists() {
		return ""
	}
	if text, err := revision.Canonical(v); err == nil {
		return string(text)
	}
	return v.String()
}
