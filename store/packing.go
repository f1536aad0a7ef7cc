package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// packAbove is the size in bytes above which a text is compressed. Below it the pages that SQLite
// writes are the same.
const packAbove = 4096

// maxText is the largest text that is unpacked, so that a damaged length can't take all memory.
const maxText = 1 << 30

// The forms of a text, the column "packed": bits.
const (
	plain  = 0
	packed = 1 << 0 // compressed
	sealed = 1 << 1 // and then encrypted
)

// packing compresses and encrypts, and the inverse, for several goroutines. It starts none. Every
// text of the database that can hold payload data goes through it, and no other way.
type packing struct {
	enc  *zstd.Encoder
	dec  *zstd.Decoder
	seal seal
}

func newPacking() (packing, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return packing{}, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxText))
	return packing{enc: enc, dec: dec}, err
}

// under is the same with another seal.
func (p packing) under(s seal) packing {
	p.seal = s
	return p
}

// pack returns what to store, which may be text itself.
func (p packing) pack(o origin, text []byte) ([]byte, int) {
	form := plain
	if len(text) > packAbove {
		if short := p.enc.EncodeAll(text, make([]byte, 0, len(text)/2)); len(short) < len(text) {
			text, form = short, packed
		}
	}
	if p.seal.on() {
		return p.seal.close(o, text), form | sealed
	}
	if text == nil {
		text = []byte{} // nil would be NULL
	}
	return text, form
}

func (p packing) unpack(o origin, body []byte, form int) (text []byte, err error) {
	switch {
	case form&^(packed|sealed) != 0:
		return nil, fmt.Errorf("%w: a text is stored in the unknown form %d", ErrDamaged, form)
	case form&sealed == 0 && p.seal.on(): // or others could put texts of their own in
		return nil, fmt.Errorf("%w: a text of %s isn't encrypted as the others are", ErrDamaged, o.table)
	case form&sealed != 0 && !p.seal.on():
		return nil, fmt.Errorf("%w: a text of %s is encrypted, and the database says that none is", ErrDamaged, o.table)
	}
	if text = body; p.seal.on() {
		if text, err = p.seal.open(o, body); err != nil {
			return nil, err
		}
	}
	if form&packed != 0 {
		if text, err = p.dec.DecodeAll(text, nil); err != nil {
			return nil, fmt.Errorf("%w: a compressed text can't be read: %w", ErrDamaged, err)
		}
	}
	return text, nil
}

func (p packing) close() {
	_ = p.enc.Close() // it writes nowhere
	p.dec.Close()
}
