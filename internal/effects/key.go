package effects

import (
	"crypto/sha256"
	"encoding/hex"
)

const maxKey = 200

// headerKey is a key as it can stand in one line of plain text: itself, or else its digest.
func headerKey(key string) string {
	plain := key != "" && len(key) <= maxKey && key[0] != ' ' && key[len(key)-1] != ' '
	for i := range len(key) {
		plain = plain && key[i] >= ' ' && key[i] < 0x7f
	}
	if plain {
		return key
	}
	return digest(key)
}

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
