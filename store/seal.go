package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"agentd/operation"
)

// seal encrypts the texts of one database, and names its large values. The zero seal does neither: it
// is a plain database's. What is encrypted is everything that goes through pack, so nothing that is
// stored in a column "packed" can be forgotten.
type seal struct {
	aead  cipher.AEAD
	names []byte
}

// The entry of meta that says what key a database has: a salt, and a value that only this key gives.
const (
	keyEntry  = "key"
	saltBytes = 16
)

// newSeal derives what a key is in a database, and the check value.
func newSeal(k *Key, salt []byte) (s seal, check []byte, err error) {
	secret, err := k.derive(salt, "texts")
	if err != nil {
		return seal{}, nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return seal{}, nil, err
	}
	if s.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return seal{}, nil, err
	}
	if s.names, err = k.derive(salt, "names"); err != nil {
		return seal{}, nil, err
	}
	check, err = k.derive(salt, "check")
	return s, check, err
}

// freshSeal is a seal with a salt of its own, and the entry that makes it a database's.
func freshSeal(k *Key) (s seal, entry []byte, err error) {
	if k == nil {
		return seal{}, nil, nil
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // it never fails
	s, check, err := newSeal(k, salt)
	return s, append(salt, check...), err
}

// openSeal finds the seal of a database, or says why the key doesn't open it.
func openSeal(ctx context.Context, q querier, path string, k *Key) (seal, error) {
	var entry []byte
	err := q.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, keyEntry).Scan(&entry)
	switch {
	case errors.Is(err, sql.ErrNoRows) && k == nil:
		return seal{}, nil
	case errors.Is(err, sql.ErrNoRows):
		return seal{}, fmt.Errorf("%w: %s isn't encrypted yet, and a key is set; encrypt it with agentd store rekey", ErrKey, path)
	case err != nil:
		return seal{}, explained(path, err)
	case k == nil:
		return seal{}, fmt.Errorf("%w: %s is encrypted; name its key file in store.key_file, or decrypt it with agentd store rekey --from FILE", ErrKey, path)
	case len(entry) != saltBytes+KeySize:
		return seal{}, fmt.Errorf("%w: %s: what it says of its key has %d bytes", ErrDamaged, path, len(entry))
	}
	s, check, err := newSeal(k, entry[:saltBytes])
	if err == nil && !hmac.Equal(check, entry[saltBytes:]) {
		err = fmt.Errorf("%w: %s was encrypted under another key; put its key file back in store.key_file, or change the key with agentd store rekey --from OLDFILE", ErrKey, path)
	}
	if err != nil {
		return seal{}, err
	}
	return s, nil
}

// on reports whether there is a key.
func (s seal) on() bool { return s.aead != nil }

// name is what a large value is stored under: the SHA-256 of its text, and under a key a hash that
// only the key gives. Otherwise whoever has the file could try which short texts are in it.
func (s seal) name(h blobHash) blobHash {
	if !s.on() {
		return h
	}
	mac := hmac.New(sha256.New, s.names)
	mac.Write(h[:])
	return blobHash(mac.Sum(nil))
}

// origin says which text of the database one is. It is authenticated with the text, so that nobody
// can put one in the place of another.
type origin struct {
	table, name, part string
	n                 int
}

func originOfRow(k operation.Key) origin { return origin{"rows", k.Op, string(k.Stage), k.N} }

func originOfBlob(name blobHash) origin { return origin{table: "blobs", name: string(name[:])} }

func originOfCell(session, name string) origin {
	return origin{table: "cells", name: session, part: name}
}

func originOfRevision(id string) origin { return origin{table: "revisions", name: id} }

// bytes tells any two origins apart.
func (o origin) bytes() []byte {
	b := make([]byte, 0, 64+len(o.name)+len(o.part))
	for _, s := range []string{o.table, o.name, o.part} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return binary.AppendVarint(b, int64(o.n))
}

func (s seal) close(o origin, text []byte) []byte { return s.aead.Seal(nil, nil, text, o.bytes()) }

func (s seal) open(o origin, body []byte) ([]byte, error) {
	text, err := s.aead.Open(nil, nil, body, o.bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: an encrypted text of %s doesn't open: it was changed, or the key was", ErrDamaged, o.table)
	}
	return text, nil
}
