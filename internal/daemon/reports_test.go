package daemon

import "testing"

// TestPublicReportsDoNotHappenHere: faults of hooks that people reported of other programs.
func TestPublicReportsDoNotHappenHere(t *testing.T) { dialogues(t, "reports.txtar") }
