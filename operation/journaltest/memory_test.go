package journaltest_test

import (
	"testing"

	"agentd/operation"
	"agentd/operation/journaltest"
)

func TestMemoryIsAJournal(t *testing.T) {
	journaltest.Run(t, func(*testing.T) operation.Journal { return journaltest.NewMemory() })
}
