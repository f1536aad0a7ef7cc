package worker

import (
	"encoding/binary"
	"fmt"
	"io"

	"agentd/hookpoints/payload"
)

// maxFrame bounds a message, in bytes: a payload, what goes with it, and some room.
const maxFrame = 32 << 20

// frame is a message with its length before it.
func frame(v payload.Value) ([]byte, error) {
	out := v.AppendJSON(make([]byte, 4, 512))
	if len(out)-4 > maxFrame {
		return nil, fmt.Errorf("a message to or from the worker has %d bytes, at most %d are taken", len(out)-4, maxFrame)
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	return out, nil
}

// read reads one message. The bytes aren't used again, as values point into them.
func read(r io.Reader) (payload.Value, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return payload.Value{}, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return payload.Value{}, fmt.Errorf("a message of %d bytes is announced, at most %d are taken", n, maxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return payload.Value{}, err
	}
	return payload.Parse(body)
}
