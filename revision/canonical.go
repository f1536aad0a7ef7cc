package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"agentd/hookpoints/payload"
)

// Canonical is the text of v by RFC 8785. Numbers that this form would change are refused: integers
// beyond 2^53 and what no float64 holds.
func Canonical(v payload.Value) ([]byte, error) {
	if err := checkNumbers(v, "manifest"); err != nil {
		return nil, err
	}
	text := jsontext.Value(v.JSON())
	if err := text.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return text, nil
}

// ID is the name of a manifest.
func ID(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return hex.EncodeToString(sum[:])
}

// maxExact is the integer up to which a float64 holds all of them.
const maxExact = 1 << 53

// checkNumbers walks a value and names the first number that RFC 8785 would change.
func checkNumbers(v payload.Value, where string) error {
	switch v.Kind() {
	case payload.Number:
		if _, ok := v.Float64(); !ok {
			return fmt.Errorf("%s: the number %s is out of range", where, v.Text())
		}
		if i, ok := v.Int64(); !strings.ContainsAny(v.Text(), ".eE") && (!ok || i > maxExact || i < -maxExact) {
			return fmt.Errorf("%s: the integer %s is beyond 2^53", where, v.Text())
		}
	case payload.Object:
		for name, kid := range v.Members() {
			if err := checkNumbers(kid, where+"."+name); err != nil {
				return err
			}
		}
	case payload.Array:
		i := 0
		for kid := range v.Items() {
			if err := checkNumbers(kid, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}
