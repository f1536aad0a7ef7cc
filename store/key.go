package store

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// KeySize is the bytes of a key.
const KeySize = 32

// Key is what a database is encrypted under. A nil key is none: the database is plain.
type Key struct{ secret [KeySize]byte }

// NewKey takes the bytes of a key.
func NewKey(secret []byte) (*Key, error) {
	if len(secret) != KeySize {
		return nil, fmt.Errorf("a key has %d bytes, not %d", KeySize, len(secret))
	}
	if bytes.Count(secret, secret[:1]) == len(secret) {
		return nil, errors.New("a key whose bytes are all the same is none")
	}
	return &Key{[KeySize]byte(secret)}, nil
}

// Format keeps a key out of logs, whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "a key") }

// derive makes a key for one purpose in one database, so that one file may serve many of them.
func (k *Key) derive(salt []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.secret[:], salt, "agentd store "+purpose, KeySize)
}

// ReadKey reads a key from a file: its 32 bytes as they are, or as 64 hexadecimal digits in a line.
// A file that others can read is refused.
func ReadKey(path string) (*Key, error) {
	f, err := openKey(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return nil, fmt.Errorf("%w: read the key file: %w", ErrKey, err)
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the key file %s: %w", ErrKey, path, err)
	}
	return k, nil
}

// openKey opens a key file. It looks before, as opening what isn't a file may wait for ever.
func openKey(path string) (*os.File, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the key file %s isn't there; put it back, or make one with agentd store rekey --make", path)
	case err != nil:
		return nil, fmt.Errorf("read the key file: %w", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("the key file %s is no file; name one that holds 32 bytes", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	if st, err = f.Stat(); err == nil && st.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("the key file %s is open to others (%v); allow only yourself, as chmod 600 does", path, st.Mode().Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func parseKey(text []byte) (*Key, error) {
	if len(text) == KeySize {
		return NewKey(text)
	}
	if digits := bytes.TrimSpace(text); len(digits) == 2*KeySize {
		secret := make([]byte, KeySize)
		if _, err := hex.Decode(secret, digits); err != nil {
			return nil, errors.New("it holds 64 characters that aren't all hexadecimal digits")
		}
		return NewKey(secret)
	}
	return nil, fmt.Errorf("it holds %s, want 32, or 64 hexadecimal digits", sizeOf(text))
}

func sizeOf(text []byte) string {
	if len(text) >= 1024 {
		return "1024 bytes or more"
	}
	return fmt.Sprintf("%d bytes", len(text))
}

// MakeKey writes a new key to a file that isn't there yet, for this user only, and returns when it is
// durable: what is encrypted under it is lost without it.
func MakeKey(path string) (*Key, error) {
	secret := make([]byte, KeySize)
	rand.Read(secret) // it never fails
	if err := makeKey(path, hex.EncodeToString(secret)+"\n"); err != nil {
		return nil, fmt.Errorf("make the key file: %w", err)
	}
	return NewKey(secret)
}

// makeKey shows the file under its name when all of it is there.
func makeKey(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".key-") // 0600 from the start
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), path) // fails if there is one
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
