package hookpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// BaseVector is the hash of the sixteen base points in contract version 1 or 2: SHA-256 over JSON
// with sorted keys, no spaces and ASCII only, which is not RFC 8785. Version 1 has no other use here.
func BaseVector(version int) (string, error) {
	if version != 1 && version != 2 {
		return "", fmt.Errorf("the base contract has versions 1 and 2, not %d", version)
	}
	var list []payload.Value
	for _, p := range basePoints() {
		c := p.Contract
		if version == 1 {
			c = firstVersion(p)
		}
		list = append(list, payload.NewObject(
			payload.Field{Name: "name", Value: payload.NewString(p.Name)},
			payload.Field{Name: "phase", Value: payload.NewString(string(p.Phase))},
			payload.Field{Name: "writable_fields", Value: payload.NewStrings(p.Writable)},
			payload.Field{Name: "allow_reject", Value: payload.NewBool(p.Reject)},
			payload.Field{Name: "observation_only", Value: payload.NewBool(p.Observation)},
			payload.Field{Name: "schema", Value: c.Schema(version == 2)}))
	}
	// Every text in it is ASCII and none needs HTML escapes, so encoding/json gives exactly this form.
	var plain any
	if err := json.Unmarshal(payload.NewArray(list).JSON(), &plain); err != nil {
		return "", err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// firstVersion undoes what version 2 changed in the fields of a point.
func firstVersion(p *Point) *contract.Contract {
	var fields []contract.Field
	for _, f := range p.Contract.Fields() {
		if f.Name != "outcome" {
			fields = append(fields, f)
		}
	}
	if p.Phase == Error || p.Phase == Finally {
		fields = append(fields, opt("operation", contract.Str), opt("status", contract.Status))
	}
	return contract.New(fields)
}
