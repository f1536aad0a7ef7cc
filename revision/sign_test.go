package revision_test

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"agentd/revision"
)

type bytesOf struct{ *rand.ChaCha8 }

func keyFrom(t *testing.T, seed byte) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(bytesOf{rand.NewChaCha8([32]byte{seed})})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestASignatureIsAboutAManifestAndAKey(t *testing.T) {
	mine, other := keyFrom(t, 1), keyFrom(t, 2)
	manifest := []byte(`{"a":1}`)
	good := revision.Sign(manifest, mine)
	key, sig, _ := strings.Cut(good, ":")
	for name, c := range map[string]struct {
		manifest, signature string
		keys                []string
		want                string
	}{
		"mine":                {string(manifest), good, []string{revision.PublicKey(other), revision.PublicKey(mine)}, ""},
		"nobody asks":         {string(manifest), "", nil, ""},
		"missing":             {string(manifest), "", []string{key}, "isn't signed"},
		"another key's":       {string(manifest), revision.Sign(manifest, other), []string{key}, "isn't one of require_signature"},
		"another manifest's":  {`{"a":2}`, good, []string{key}, "isn't about these bytes"},
		"under a wrong name":  {string(manifest), revision.PublicKey(other) + ":" + sig, []string{revision.PublicKey(other)}, "isn't about these bytes"},
		"cut":                 {string(manifest), good[:len(good)-4], []string{key}, "it is none"},
		"no base64":           {string(manifest), key + ":!!", []string{key}, "it is none"},
		"no key":              {string(manifest), ":" + sig, []string{""}, "it is none"},
		"a byte more of text": {string(manifest), good + "A", []string{key}, "it is none"},
	} {
		err := revision.CheckSignature([]byte(c.manifest), c.signature, c.keys)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, revision.ErrSignature) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAKeyFileIsOneOfOpenSSL(t *testing.T) {
	key := keyFrom(t, 3)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := revision.ReadKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil || !got.Equal(key) {
		t.Error(err)
	}
	large, err := rsa.GenerateKey(bytesOf{rand.NewChaCha8([32]byte{4})}, 1024)
	if err != nil {
		t.Skip("this system makes no small keys: ", err)
	}
	if der, err = x509.MarshalPKCS8PrivateKey(large); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "no key": []byte("hello"), "a public one": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"damaged": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der[:40]}), "another kind": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		if _, err := revision.ReadKey(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
