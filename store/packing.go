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

// The forms of a text, the column "packed".
const (
	plain = iota
	packed
)

// packing compresses and decompresses, for several goroutines. It starts none.
type packing struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newPacking() (packing, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return packing{}, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxText))
	return packing{enc, dec}, err
}

// pack returns what to store, which may be text itself.
func (p packing) pack(text []byte) ([]byte, int) {
	if len(text) > packAbove {
		if short := p.enc.EncodeAll(text, make([]byte, 0, len(text)/2)); len(short) < len(text) {
			return short, packed
		}
	}
	if text == nil {
		text = []byte{} // nil would be NULL
	}
	return text, plain
}

func (p packing) unpack(body []byte, form int) ([]byte, error) {
	switch form {
	case plain:
		return body, nil
	case packed:
		text, err := p.dec.DecodeAll(body, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: a compressed text can't be read: %w", ErrDamaged, err)
		}
		return text, nil
	}
	return nil, fmt.Errorf("%w: a text is stored in the unknown form %d", ErrDamaged, form)
}

func (p packing) close() {
	_ = p.enc.Close() // it writes nowhere
	p.dec.Close()
}
