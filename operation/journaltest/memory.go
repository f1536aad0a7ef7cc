package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// ErrFull is what a Memory fails with where a test gives no error of its own.
var ErrFull = errors.New("journaltest: no space left")

// Memory is a journal in memory, for tests. Rows go through the codec both ways, so what a store
// would lose is lost here too. It may be used by several goroutines.
type Memory struct {
	mu      sync.Mutex
	rows    []stored
	at      map[operation.Key]int // place in rows
	order   []string              // operations by their first row
	ops     map[string]operation.Summary
	blobs   map[string][]byte
	cells   map[cellKey]storedCell
	log     [][]operation.Key
	commits int
	faults  map[int]fault
}

type stored struct {
	key  operation.Key
	body []byte
}

type cellKey struct{ session, name string }

type storedCell struct {
	value   []byte
	version int64
}

type fault struct {
	err  error
	kept bool
}

var _ operation.Journal = (*Memory)(nil)

// NewMemory makes an empty journal.
func NewMemory() *Memory {
	return &Memory{at: map[operation.Key]int{}, ops: map[string]operation.Summary{}, blobs: map[string][]byte{}, cells: map[cellKey]storedCell{}, faults: map[int]fault{}}
}

// FailAt makes the n-th call of Commit, counted from 1 since the journal was made, fail and write
// nothing, like a full disk. A nil err is ErrFull.
func (m *Memory) FailAt(n int, err error) { m.fault(n, err, false) }

// fault makes the n-th call of Commit fail. With kept it writes everything all the same, like a process
// that dies before it hears of the sync.
func (m *Memory) fault(n int, err error, kept bool) {
	if err == nil {
		err = ErrFull
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[n] = fault{err, kept}
}

// Commits is the number of calls of Commit so far, with those that failed.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// Log lists what each commit added, in order. Commits that failed or added no row aren't in it.
func (m *Memory) Log() [][]operation.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([][]operation.Key, len(m.log))
	for i, keys := range m.log {
		out[i] = slices.Clone(keys)
	}
	return out
}

// Size is the number of bytes that rows and large values take.
func (m *Memory) Size() (rows, blobs int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		rows += len(r.body)
	}
	for _, text := range m.blobs {
		blobs += len(text)
	}
	return rows, blobs
}

// Commit implements operation.Journal.
func (m *Memory) Commit(ctx context.Context, c operation.Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	if err := ctx.Err(); err != nil {
		return err
	}
	f, failing := m.faults[m.commits]
	if failing && !f.kept {
		return f.err
	}
	fresh, blobs, err := m.encode(c.Rows)
	if err != nil {
		return err
	}
	for _, cell := range c.Cells {
		if v := cell.Value; v.Exists() && !v.IsSource() && v.Depth(payload.MaxDepth) > payload.MaxDepth {
			return fmt.Errorf("journaltest: the state %q is nested too deep", cell.Name)
		}
	}
	writes := len(fresh) > 0 || len(c.Rows) == 0
	if err := m.refuse(c.Cells); err != nil && writes {
		return err
	}
	if err := m.write(fresh, blobs); err != nil {
		return err
	}
	if writes {
		m.set(c.Cells)
	}
	if failing {
		return f.err
	}
	return nil
}

// encode returns the rows that aren't there yet.
func (m *Memory) encode(rows []operation.Row) (fresh []stored, blobs []operation.Blob, err error) {
	here := map[operation.Key][]byte{}
	for _, r := range rows {
		e, err := operation.EncodeRow(r)
		if err != nil {
			return nil, nil, err
		}
		was, there := here[e.Key]
		if i, ok := m.at[e.Key]; ok {
			was, there = m.rows[i].body, true
		}
		switch {
		case !there:
			here[e.Key] = e.Body
			fresh, blobs = append(fresh, stored{e.Key, e.Body}), append(blobs, e.Blobs...)
		case !bytes.Equal(was, e.Body):
			return nil, nil, fmt.Errorf("%w: %+v", operation.ErrConflict, e.Key)
		}
	}
	return fresh, blobs, nil
}

func (m *Memory) write(fresh []stored, blobs []operation.Blob) error {
	rows := make([]operation.Row, len(fresh))
	for i, r := range fresh {
		var err error
		if rows[i], err = operation.DecodeRow(r.key, r.body, nil); err != nil {
			return err
		}
	}
	var keys []operation.Key
	for i, r := range fresh {
		m.at[r.key] = len(m.rows)
		m.rows, keys = append(m.rows, r), append(keys, r.key)
		sum, known := m.ops[r.key.Op]
		if !known {
			m.order = append(m.order, r.key.Op)
		}
		m.ops[r.key.Op] = sum.Advance(rows[i])
	}
	for _, b := range blobs {
		m.blobs[b.Hash] = bytes.Clone(b.Text)
	}
	if keys != nil {
		m.log = append(m.log, keys)
	}
	return nil
}

// refuse compares the cells of the project with what they were computed from. One that stands twice in
// a commit meets itself.
func (m *Memory) refuse(cells []operation.Cell) error {
	now := map[string]int64{}
	for _, c := range cells {
		if c.Session != "" {
			continue
		}
		if _, seen := now[c.Name]; !seen {
			now[c.Name] = m.cells[cellKey{"", c.Name}].version
		}
		if now[c.Name] != c.Version {
			return fmt.Errorf("%w: %s", operation.ErrStale, c.Name)
		}
		if c.Value.Exists() {
			now[c.Name]++
		}
	}
	return nil
}

func (m *Memory) set(cells []operation.Cell) {
	for _, c := range cells {
		k := cellKey{c.Session, c.Name}
		if !c.Value.Exists() {
			if c.Session != "" {
				delete(m.cells, k)
			}
			continue
		}
		m.cells[k] = storedCell{c.Value.JSON(), m.cells[k].version + 1}
	}
}

// Committed lists all rows without their contents, in commit order. No time passes in a Memory.
func (m *Memory) Committed(context.Context) (list []operation.Committed, err error) {
	for i, keys := range m.Log() {
		for _, k := range keys {
			list = append(list, operation.Committed{Key: k, Commit: int64(i)})
		}
	}
	return list, nil
}

// Rows implements operation.Journal.
func (m *Memory) Rows(ctx context.Context, op string) ([]operation.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decode(ctx, func(k operation.Key) bool { return k.Op == op })
}

// RunRows implements operation.Journal.
func (m *Memory) RunRows(ctx context.Context, run string) ([]operation.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decode(ctx, func(k operation.Key) bool { return run != "" && m.ops[k.Op].Head.RunID == run })
}

// Open implements operation.Journal.
func (m *Memory) Open(ctx context.Context) (heads []operation.Head, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.order {
		if s := m.ops[id]; !s.Done() {
			s.Head.ID = id
			heads = append(heads, s.Head)
		}
	}
	return heads, ctx.Err()
}

// Cells implements operation.Journal.
func (m *Memory) Cells(ctx context.Context, session string) (map[string]operation.Cell, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]operation.Cell{}
	for _, of := range []string{"", session} { // the session's own wins
		for k, c := range m.cells {
			if k.session != of {
				continue
			}
			v, err := payload.Parse(c.value)
			if err != nil {
				return nil, err
			}
			out[k.name] = operation.Cell{Session: k.session, Name: k.name, Value: v, Version: c.version}
		}
	}
	return out, nil
}

func (m *Memory) decode(ctx context.Context, want func(operation.Key) bool) (out []operation.Row, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, s := range m.rows {
		if !want(s.key) {
			continue
		}
		row, err := operation.DecodeRow(s.key, s.body, m.fetch)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

func (m *Memory) fetch(hash string) ([]byte, error) {
	text, ok := m.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("journaltest: the blob %s is missing", hash)
	}
	return text, nil
}
