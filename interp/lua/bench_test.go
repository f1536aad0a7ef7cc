package lua

import (
	"context"
	"testing"
)

func BenchmarkClamp(b *testing.B) {
	d := load(b, clampText)[0]
	call := callOf(b, scriptPayload)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.Hook.Decide(context.Background(), call); err != nil {
			b.Fatal(err)
		}
	}
}
