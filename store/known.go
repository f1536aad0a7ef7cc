package store

import (
	"crypto/sha256"
	"sync"
)

type blobHash [sha256.Size]byte

// knownLimit is how many hashes one generation of a known holds, 2 MB.
const knownLimit = 32768

// known remembers blobs that are stored, so that a conversation isn't compressed and offered again
// with each of its calls. It forgets the older half when it is full.
type known struct {
	mu    sync.Mutex
	young map[blobHash]struct{}
	old   map[blobHash]struct{}
}

func newKnown() *known { return &known{young: map[blobHash]struct{}{}} }

func (k *known) has(h blobHash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.young[h]; ok {
		return true
	}
	_, ok := k.old[h]
	if ok {
		k.put(h)
	}
	return ok
}

func (k *known) add(hashes []blobHash) {
	if len(hashes) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range hashes {
		k.put(h)
	}
}

func (k *known) put(h blobHash) {
	if len(k.young) >= knownLimit {
		k.old, k.young = k.young, make(map[blobHash]struct{}, knownLimit)
	}
	k.young[h] = struct{}{}
}
