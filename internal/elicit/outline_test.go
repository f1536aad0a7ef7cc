package elicit_test

import (
	"testing"

	"agentd/internal/elicit"
)

func TestAnOutlineSaysWhatAnAnswerLooksLike(t *testing.T) {
	for question, want := range map[string]string{
		`{"kind":"text","prompt":"why?"}`:                                       "a text",
		`{"kind":"choice","prompt":"which?","options":["main","dev"]}`:          `one of "main", "dev"`,
		`{"kind":"multi","prompt":"which?","options":["a","b"]}`:                `a list of "a", "b"`,
		`{"kind":"confirmation","prompt":"sure?"}`:                              "true or false",
		`{"kind":"secret","prompt":"token?"}`:                                   "a secret, on a terminal or on standard input",
		`{"kind":"validated","prompt":"how many?","schema":{"type":"integer"}}`: `a value that fits {"type":"integer"}`,
		`{"kind":"form","prompt":"who?","fields":[{"name":"user","kind":"text","required":true},{"name":"to","kind":"choice","prompt":"where to","options":["a"]}]}`: "an object with\n  user: a text\n  to: one of \"a\" (where to), or nothing",
	} {
		q, err := elicit.Parse(parsed(t, question))
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		if got := q.Outline(); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}
