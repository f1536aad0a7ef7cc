package agentd

import (
	"context"
	"errors"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/elicit"
	"agentd/internal/secret"
	"agentd/operation"
)

// Vault keeps secrets in memory; what everybody else gets is a handle. Tools open handles where they
// act.
type Vault = secret.Vault

// NewVault makes an empty vault. A host gives it to the runtime, and owns it.
func NewVault() *Vault { return secret.New(nil) }

// ErrNoVault: a secret was asked for, and the runtime was opened without a vault.
var ErrNoVault = errors.New("this runtime has no vault to keep a secret in")

// Vault is what the runtime was opened with, nil if it keeps no secrets.
func (r *Runtime) Vault() *Vault { return r.vault }

// SealAnswer checks what a person answered and keeps its secrets: the answer that it returns holds
// their handles, and is what may be saved and told. The error is operation.ErrAnswer where the answer
// doesn't fit.
func (r *Runtime) SealAnswer(session string, q Question, v payload.Value) (payload.Value, error) {
	if q.Sensitive() && r.vault == nil {
		return payload.Value{}, ErrNoVault
	}
	var kept []string
	sealed, err := q.Seal(v, func(name, value string) (string, error) {
		handle, err := r.vault.Put(session, name, value)
		kept = append(kept, handle)
		return handle, err
	})
	if err != nil && kept != nil {
		r.vault.Forget(kept...)
	}
	if errors.Is(err, elicit.ErrAnswer) {
		err = fmt.Errorf("%w: %w", operation.ErrAnswer, err)
	}
	return sealed, err
}

// CheckAnswer says whether a sealed answer fits a question, and whether its secrets can still be opened.
func (r *Runtime) CheckAnswer(session string, q Question, sealed payload.Value) error {
	return q.CheckSealed(sealed, func(handle string) bool { return r.vault != nil && r.vault.Opens(session, handle) })
}

// masked puts handles in the place of what the vault holds wherever something comes in from the world
// that is recorded. Tools mask by themselves.
func masked(o Options) Options {
	if o.Facts != nil {
		o.Facts = maskedFacts{o.Facts, o.Vault}
	}
	if o.Effects != nil {
		o.Effects = maskedEffects{o.Effects, o.Vault}
	}
	return o
}

// maskedEffects are effects that show handles in what they give back. They get no values: only tools do.
type maskedEffects struct {
	operation.Effects
	vault *Vault
}

// Do implements operation.Effects.
func (e maskedEffects) Do(ctx context.Context, h operation.Head, name string, arguments payload.Value) (payload.Value, string) {
	value, status := e.Effects.Do(ctx, h, name, arguments)
	return e.vault.MaskValue(value), status
}

// maskedFacts are facts in which handles stand for what the vault holds.
type maskedFacts struct {
	operation.Facts
	vault *Vault
}

// Open implements operation.Facts.
func (f maskedFacts) Open(h operation.Head, point string, uncommitted operation.Uncommitted) hookpoints.FactSource {
	return maskedSource{f.Facts.Open(h, point, uncommitted), f.vault}
}

type maskedSource struct {
	hookpoints.FactSource
	vault *Vault
}

// Fact implements hookpoints.FactSource.
func (s maskedSource) Fact(ctx context.Context, key string) hookpoints.Fact {
	f := s.FactSource.Fact(ctx, key)
	f.Value, f.Absent = s.vault.MaskValue(f.Value), s.vault.Mask(f.Absent)
	return f
}
