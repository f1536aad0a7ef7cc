package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestBothProgramsKnowWhereAClientWasStarted: agentd-hook is too small to import anything, so it has the variables
// once more, and a guard is lost where only one of the two knows one.
func TestBothProgramsKnowWhereAClientWasStarted(t *testing.T) {
	text, err := os.ReadFile("../agentd-hook/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for client, name := range folders {
		if !strings.Contains(string(text), fmt.Sprintf("%q: %q", client, name)) {
			t.Errorf("agentd-hook doesn't know %s of %s", name, client)
		}
	}
	if there := strings.Count(string(text), `_PROJECT_DIR"`); there != len(folders) {
		t.Errorf("agentd-hook knows %d variables, agentd %d", there, len(folders))
	}
}
