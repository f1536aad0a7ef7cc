package revision_test

import (
	"testing"

	"agentd/revision"
)

func TestIsTest(t *testing.T) {
	for name, want := range map[string]bool{"a_test.star": true, "a_test.lua": true, "a.lua": false, "lib/a_test.star": true, "a.star": false, "test.star": false} {
		if revision.IsTest(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
