package elicit_test

import (
	"strings"
	"testing"

	"agentd/internal/elicit"
)

// TestDialogs reads testdata/dialogs.txt: ? is a question, < a line that is typed, ! a part of why the line
// before was refused, [hidden] that the line before wasn't shown, = the answer.
func TestDialogs(t *testing.T) {
	var d *elicit.Dialog
	var refused error
	done, hidden, n := false, false, 0
	for _, c := range cases(t, "testdata/dialogs.txt") {
		sign, rest, _ := strings.Cut(c.left, " ")
		switch sign {
		case "?":
			q, err := elicit.Parse(parsed(t, rest))
			if err != nil {
				t.Fatalf("%s: %v", rest, err)
			}
			d, done, refused = elicit.NewDialog(q), false, nil
		case "<":
			if refused != nil {
				t.Errorf("%v, before %q", refused, rest)
			}
			_, hidden = d.Next()
			done, refused = d.Take(rest)
		case "!":
			if refused == nil || !strings.Contains(refused.Error(), rest) {
				t.Errorf("%v, want %s", refused, rest)
			}
			refused = nil
		case "[hidden]":
			if !hidden {
				t.Errorf("the line before %s is shown", c.left)
			}
		case "=":
			if n++; !done || d.Answer().String() != rest {
				t.Errorf("the answer is %s (done %v), want %s", d.Answer(), done, rest)
			}
		default:
			t.Fatalf("what is %q", c.left)
		}
	}
	if n < 12 {
		t.Errorf("only %d dialogs", n)
	}
}

func TestDeclined(t *testing.T) {
	for line, want := range map[string]string{"/no": "yes ", " /no  not today ": "yes not today", "no": "no", "/nope": "no", "": "no"} {
		reason, ok := elicit.Declined(line)
		if got := map[bool]string{true: "yes " + reason, false: "no"}[ok]; got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
}

func TestNothingThatIsShownMovesTheCursor(t *testing.T) {
	q := elicit.Question{Kind: elicit.Form, Prompt: "a\x1b[2Jb\n\u202ec\r", Fields: []elicit.Field{{Name: "x", Kind: elicit.Text, Prompt: "p\x07"}}}
	d := elicit.NewDialog(q)
	show, _ := d.Next()
	if got := d.Intro() + "|" + show; strings.ContainsAny(got, "\x1b\x07\r\u202e") || !strings.HasPrefix(got, "a\uFFFD[2Jb\n\uFFFDc\uFFFD|1 of 1: p\uFFFD\n") {
		t.Errorf("%q", got)
	}
}
