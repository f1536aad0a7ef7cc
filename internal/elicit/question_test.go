package elicit_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/elicit"
)

func parsed(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestQuestions reads testdata/questions.txt: a line is a question, then => and a part of why it is refused,
// or nothing where it is good. A good one comes back the same through what the point shows, and fits it.
func TestQuestions(t *testing.T) {
	point := hookpoints.Standard().Point("elicit")
	good := 0
	for _, c := range cases(t, "testdata/questions.txt") {
		q, err := elicit.Parse(parsed(t, c.left))
		if c.right != "" {
			if err == nil || !errors.Is(err, elicit.ErrQuestion) || !strings.Contains(err.Error(), c.right) {
				t.Errorf("%s: %v, want %s", c.left, err, c.right)
			}
			continue
		}
		if good++; err != nil {
			t.Errorf("%s: %v", c.left, err)
			continue
		}
		shown := q.Payload()
		if err := point.Check(shown); err != nil {
			t.Error(err)
		}
		again, err := elicit.Parse(shown)
		if err != nil || again.Payload().String() != shown.String() || again.Sensitive() != q.Sensitive() {
			t.Errorf("%s comes back as %s, %v", shown, again.Payload(), err)
		}
	}
	if good < 10 {
		t.Errorf("only %d questions are good", good)
	}
}

// TestAnswers reads testdata/answers.txt: a line that begins with ? is a question, the others are answers to it.
func TestAnswers(t *testing.T) {
	var q elicit.Question
	n := 0
	for _, c := range cases(t, "testdata/answers.txt") {
		if text, ok := strings.CutPrefix(c.left, "? "); ok {
			var err error
			if q, err = elicit.Parse(parsed(t, text)); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			continue
		}
		n++
		err := q.CheckAnswer(parsed(t, c.left))
		if c.right == "" && err != nil || c.right != "" && (!errors.Is(err, elicit.ErrAnswer) || !strings.Contains(err.Error(), c.right)) {
			t.Errorf("%s to %s: %v, want %q", c.left, q.Payload(), err, c.right)
		}
	}
	if n < 40 {
		t.Errorf("only %d answers", n)
	}
}

type pair struct{ left, right string }

func cases(t *testing.T, file string) []pair {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []pair
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, right, _ := strings.Cut(line, " => ")
		out = append(out, pair{left, right})
	}
	return out
}

func TestErrorsNeverQuoteASecret(t *testing.T) {
	for _, text := range []string{`{"kind":"secret","prompt":"p"}`, `{"kind":"form","prompt":"p","fields":[{"name":"key","kind":"secret"},{"name":"n","kind":"text","required":true}]}`} {
		q, err := elicit.Parse(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{`"zq1"`, `["zq1-long-enough"]`, `{"key":"zq1-long-enough"}`, `{"key":["zq1-long-enough"],"n":"x"}`, `"zq1 long\u0000"`, `{"key":"zq1","n":"x"}`} {
			for _, err := range []error{q.CheckAnswer(parsed(t, answer)), q.CheckSealed(parsed(t, answer), func(string) bool { return false })} {
				if err == nil || strings.Contains(err.Error(), "zq1") {
					t.Errorf("%s: %v", answer, err)
				}
			}
		}
	}
}

func TestSecretsAreSealed(t *testing.T) {
	kept := map[string]string{}
	keep := func(name, value string) (string, error) {
		kept["handle of "+name] = value
		return "handle of " + name, nil
	}
	form, err := elicit.Parse(parsed(t, `{"kind":"form","prompt":"p","fields":[{"name":"user","kind":"text"},{"name":"key","kind":"secret"},{"name":"pin","kind":"secret"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := form.Seal(parsed(t, `{"key":"hunter22","user":"me"}`), keep)
	if err != nil || got.String() != `{"key":"handle of key","user":"me"}` {
		t.Errorf("%s, %v", got, err)
	}
	if err := form.CheckSealed(got, func(h string) bool { return kept[h] != "" }); err != nil {
		t.Error(err)
	}
	one := elicit.Question{Kind: elicit.Secret, Prompt: "p"}
	if got, err = one.Seal(parsed(t, `"hunter33"`), keep); err != nil || got.String() != `"handle of value"` {
		t.Errorf("%s, %v", got, err)
	}
	if d := cmp.Diff(map[string]string{"handle of key": "hunter22", "handle of value": "hunter33"}, kept); d != "" {
		t.Error(d)
	}
	if _, err := one.Seal(parsed(t, `"abc"`), keep); !errors.Is(err, elicit.ErrAnswer) {
		t.Error(err)
	}
}

// TestNoSchemaBreaksTheCheck throws made-up schemas and answers at the library.
func TestNoSchemaBreaksTheCheck(t *testing.T) {
	words := []string{"type", "properties", "items", "required", "minimum", "multipleOf", "pattern", "enum", "const", "not", "anyOf", "uniqueItems", "prefixItems", "additionalProperties", "format", "default", "minLength", "dependentRequired", "contains", "if", "then"}
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			kind := rapid.IntRange(0, 7).Draw(t, "kind")
			if depth == 0 && kind > 4 {
				kind -= 5
			}
			switch kind {
			case 0:
				return rapid.SampledFrom([]string{`"string"`, `"object"`, `"array"`, `"a"`, `"[a-z"`, `"^a+$"`}).Draw(t, "text")
			case 1:
				return rapid.SampledFrom([]string{`0`, `1`, `-1.5`, `1e308`, `1e999`, `123456789012345678901234567890`}).Draw(t, "number")
			case 2:
				return rapid.SampledFrom([]string{`true`, `false`}).Draw(t, "bool")
			case 3:
				return `null`
			case 5:
				return "[" + strings.Join(rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "items"), ",") + "]"
			}
			var members []string
			for _, w := range rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 4, rapid.ID).Draw(t, "names") {
				members = append(members, `"`+w+`":`+value(max(depth-1, 0)).Draw(t, w))
			}
			return "{" + strings.Join(members, ",") + "}"
		})
	}
	rapid.Check(t, func(rt *rapid.T) {
		schema, err := payload.ParseString(value(3).Draw(rt, "schema"))
		if err != nil {
			rt.Fatal(err)
		}
		q := elicit.Question{Kind: elicit.Validated, Prompt: "p", Schema: schema}
		if q.Check() != nil {
			return
		}
		answer, err := payload.ParseString(value(2).Draw(rt, "answer"))
		if err != nil {
			rt.Fatal(err)
		}
		_ = q.CheckAnswer(answer) // it says something
	})
}
