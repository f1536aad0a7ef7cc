package daemon

import (
	"strings"
	"testing"

	"agentd/internal/worker"
)

func TestTheDoctorNamesTheWallsThatAreMissing(t *testing.T) {
	for _, c := range []struct {
		walls  []worker.Wall
		open   bool
		level  string
		what   string
		advice string
	}{
		{nil, false, LevelOK, "all its walls", ""},
		{nil, true, LevelOK, "all its walls", ""},
		{[]worker.Wall{worker.Files}, false, LevelWarning, "[landlock], so hooks that aren't trusted, or say isolate, are refused", "allow_unconfined"},
		{[]worker.Wall{worker.Files, worker.Calls}, true, LevelWarning, "[landlock seccomp], and hooks that aren't trusted, or say isolate, run without", "take allow_unconfined out"},
	} {
		var up checkup
		up.missing(c.walls, c.open)
		f := up.findings[0]
		if len(up.findings) != 1 || f.Level != c.level || !strings.Contains(f.What, c.what) || !strings.Contains(f.Fix, c.advice) {
			t.Errorf("%+v: %+v", c, up.findings)
		}
	}
}
