package agentd

import (
	"context"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// world gives back a text wherever it is asked.
type world string

// Idempotent and Do implement operation.Effects.
func (world) Idempotent(string) bool { return true }
func (w world) Do(context.Context, operation.Head, string, payload.Value) (payload.Value, string) {
	return payload.NewObject(payload.Field{Name: "stdout", Value: payload.NewString(string(w))}), operation.Succeeded
}

// Open and Fact implement operation.Facts.
func (w world) Open(operation.Head, string, operation.Uncommitted) hookpoints.FactSource { return w }
func (w world) Fact(_ context.Context, key string) hookpoints.Fact {
	if key == "absent" {
		return hookpoints.Fact{Key: key, Absent: string(w)}
	}
	return hookpoints.Fact{Key: key, Value: payload.NewStrings([]string{string(w)})}
}

func TestWhatComesInFromTheWorldShowsHandles(t *testing.T) {
	v := NewVault()
	h, err := v.Put("s", "key", "hunter22")
	if err != nil {
		t.Fatal(err)
	}
	o := masked(Options{Vault: v, Facts: world("key=hunter22"), Effects: world("key=hunter22")})
	source := o.Facts.Open(operation.Head{}, "tool.before", nil)
	value, status := o.Effects.Do(t.Context(), operation.Head{}, "run", payload.NewObject())
	for what, c := range map[string][2]string{
		"fact":         {source.Fact(t.Context(), "file:x").Value.String(), `["key=` + h + `"]`},
		"absent fact":  {source.Fact(t.Context(), "absent").Absent, "key=" + h},
		"effect":       {value.String(), `{"stdout":"key=` + h + `"}`},
		"its status":   {status, operation.Succeeded},
		"without them": {masked(Options{Vault: v}).Vault.Mask("hunter22"), h},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %s, want %s", what, c[0], c[1])
		}
	}
}
