package payload_test

import (
	"testing"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func TestAgainIsTheSameTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, err := payload.ParseString(jsonText(4).Draw(t, "json"))
		if err != nil {
			t.Fatal(err)
		}
		again := payload.Again(first.JSON(), first.Depth(payload.MaxDepth))
		if err := same(again, decoder(first.JSON())); err != nil {
			t.Fatal(err)
		}
		if again.Kind() != first.Kind() || again.Size() != first.Size() || again.Depth(payload.MaxDepth) != first.Depth(payload.MaxDepth) || again.String() != first.String() {
			t.Fatalf("%s comes again as %s", first, again)
		}
	})
}
