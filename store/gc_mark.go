package store

import (
	"encoding/hex"
	"fmt"

	"agentd/operation"
)

// marking finds the large values that are needed.
type marking struct {
	*collecting
	needed map[blobHash]bool // by name: all that are stored
	next   []blobHash        // that are needed and were not looked at
}

func (m *marking) mark() error {
	err := each(m.ctx, m.conn, func(row scanner) error {
		var name []byte
		err := row.Scan(&name)
		if err == nil && len(name) == len(blobHash{}) {
			m.need(blobHash(name))
		}
		return err
	}, `SELECT hash FROM revision_files`)
	if err != nil {
		return err
	}
	rows := 0
	err = each(m.ctx, m.conn, func(row scanner) error {
		var k operation.Key
		var form int
		var body []byte
		if err := row.Scan(&k.Op, &k.Stage, &k.N, &form, &body); err != nil {
			return err
		}
		rows++
		text, err := m.unpack(originOfRow(k), body, form)
		if err == nil {
			m.look(text)
		}
		return err
	}, `SELECT o.id, r.stage, r.n, r.packed, r.body FROM rows r JOIN operations o ON o.seq = r.op`)
	if err != nil {
		return err
	}
	var all int
	if err := m.conn.QueryRowContext(m.ctx, `SELECT count(*) FROM rows`).Scan(&all); err != nil {
		return err
	}
	if all != rows {
		return fmt.Errorf("%w: of %d rows %d belong to an operation; see agentd store check", ErrDamaged, all, rows)
	}
	return m.follow()
}

// follow looks at what is needed until nothing more is.
func (m *marking) follow() error {
	read, err := m.conn.PrepareContext(m.ctx, `SELECT packed, text FROM blobs WHERE hash = ?`)
	if err != nil {
		return err
	}
	defer read.Close()
	for len(m.next) > 0 {
		name := m.next[len(m.next)-1]
		m.next = m.next[:len(m.next)-1]
		var form int
		var body []byte
		if err := read.QueryRowContext(m.ctx, name[:]).Scan(&form, &body); err != nil {
			return err
		}
		text, err := m.unpack(originOfBlob(name), body, form)
		if err != nil {
			return err
		}
		m.look(text)
	}
	return nil
}

// look marks every large value whose hash stands in a text.
func (m *marking) look(text []byte) {
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'f') {
			i++
		}
		var hash blobHash
		if i-start != hex.EncodedLen(len(hash)) {
			continue
		}
		_, _ = hex.Decode(hash[:], text[start:i]) // they are hexadecimal digits
		m.need(m.seal.name(hash))
	}
}

// need marks a large value, if there is one of that name.
func (m *marking) need(name blobHash) {
	if needed, there := m.needed[name]; there && !needed {
		m.needed[name] = true
		m.next = append(m.next, name)
	}
}
