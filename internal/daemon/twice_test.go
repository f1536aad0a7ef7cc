package daemon

import (
	"strings"
	"testing"

	"agentd/interp/scripttest"
)

func TestWhatIsntTheSameTwiceFails(t *testing.T) {
	ok := func(fuel int64, output string) []scripttest.TestResult {
		return []scripttest.TestResult{{Name: "a", OK: true, Fuel: fuel, Output: output}}
	}
	said := []string{`{"fuel":1}`, `{"fuel":2}`}
	for what, c := range map[string]struct {
		again []scripttest.TestResult
		said  []string
		want  string
	}{
		"the same":          {ok(7, "x"), said, ""},
		"other fuel":        {ok(8, "x"), said, "twice"},
		"other output":      {ok(7, "y"), said, "twice"},
		"a failure":         {[]scripttest.TestResult{{Name: "a", Fuel: 7, Output: "x"}}, said, "twice"},
		"not there":         {nil, said, "twice"},
		"another decision":  {ok(7, "x"), []string{`{"fuel":1}`, `{"fuel":3}`}, "the one at 2"},
		"fewer decisions":   {ok(7, "x"), said[:1], "the one at 2"},
		"further decisions": {ok(7, "x"), append(said, "more"), "the one at 3"},
	} {
		got := ok(7, "x")
		compare(got, c.again, said, c.said)
		if got[0].OK != (c.want == "") || !strings.Contains(got[0].Message, c.want) {
			t.Errorf("%s: %+v", what, got[0])
		}
	}
}
