package revision

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrSignature: a revision isn't signed as the user's configuration wants it.
var ErrSignature = errors.New("the signature isn't accepted")

// A signature is text: the public key and what it says about the manifest's bytes, both in base64 with a
// colon between them.

// Sign signs a manifest.
func Sign(manifest []byte, key ed25519.PrivateKey) string {
	return PublicKey(key) + ":" + base64.StdEncoding.EncodeToString(ed25519.Sign(key, manifest))
}

// PublicKey is what require_signature wants of a key.
func PublicKey(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// ReadKey reads a private key as openssl genpkey -algorithm ed25519 writes it.
func ReadKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("the key file has no PRIVATE KEY; make one with openssl genpkey -algorithm ed25519")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key file: %w", err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key file has another kind of key (%T); make one with openssl genpkey -algorithm ed25519", key)
	}
	return private, nil
}

// CheckKey says what is wrong with a public key of require_signature.
func CheckKey(text string) error {
	if raw, err := base64.StdEncoding.Strict().DecodeString(text); err != nil || len(raw) != ed25519.PublicKeySize {
		return fmt.Errorf("%.60q is no public key; agentd publish --sign prints the right one", text)
	}
	return nil
}

// CheckSignature holds a manifest's signature to the keys that may sign; none asks for no signature.
func CheckSignature(manifest []byte, signature string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if signature == "" {
		return fmt.Errorf("%w: it isn't signed, and require_signature wants it to be; publish it with --sign", ErrSignature)
	}
	key, err := Signer(manifest, signature)
	if err != nil {
		return err
	}
	if !slices.Contains(keys, key) {
		return fmt.Errorf("%w: the key %s isn't one of require_signature", ErrSignature, key)
	}
	return nil
}

// Signer is the public key that a signature was made with; an error if it isn't about this manifest.
func Signer(manifest []byte, signature string) (string, error) {
	key, value, _ := strings.Cut(signature, ":")
	sig, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil || CheckKey(key) != nil || len(sig) != ed25519.SignatureSize {
		return "", fmt.Errorf("%w: it is none", ErrSignature)
	}
	public, _ := base64.StdEncoding.DecodeString(key) // it was checked
	if !ed25519.Verify(public, manifest, sig) {
		return "", fmt.Errorf("%w: it isn't about these bytes", ErrSignature)
	}
	return key, nil
}
