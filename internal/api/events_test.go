package api

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestStreamIsReadEventByEvent(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []Event
	}{
		"nothing":             {"", nil},
		"only a comment":      {": agentd\n\n", nil},
		"two":                 {"id: 1\nevent: a\ndata: {}\n\nid: 2\nevent: b\ndata: {\"x\":\": \"}\n\n", []Event{{ID: "1", Type: "a", Data: []byte("{}")}, {ID: "2", Type: "b", Data: []byte(`{"x":": "}`)}}},
		"windows line ends":   {"event: a\r\ndata: {}\r\n\r\n", []Event{{Type: "a", Data: []byte("{}")}}},
		"unknown fields":      {"retry: 10\nevent: a\nfoo\ndata: {}\n\n", []Event{{Type: "a", Data: []byte("{}")}}},
		"cut off in an event": {"event: a\ndata: {}\n\nevent: b\ndata: {", []Event{{Type: "a", Data: []byte("{}")}}},
		"large":               {"event: a\ndata: " + strings.Repeat("x", 1<<16) + "\n\n", []Event{{Type: "a", Data: []byte(strings.Repeat("x", 1<<16))}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
				var got []Event
				if err := readEvents(r, func(e Event) bool { got = append(got, e); return true }); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
	broken := errors.New("broken")
	err := readEvents(io.MultiReader(strings.NewReader("data: {}\n\n"), iotest.ErrReader(broken)), func(Event) bool { return true })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	seen := 0
	if err := readEvents(strings.NewReader("data: 1\n\ndata: 2\n\n"), func(Event) bool { seen++; return false }); err != nil || seen != 1 {
		t.Errorf("%d, %v", seen, err)
	}
}

func TestErrorsSayOnlyWhatTheyAreTold(t *testing.T) {
	cause := errors.New("cause")
	err := Errorf(ErrNotFound, "there is no run %s: %w", "x", cause)
	if err.Error() != "there is no run x: cause" || !errors.Is(err, ErrNotFound) || !errors.Is(err, cause) || errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestRunsEndWithTheirLastEvent(t *testing.T) {
	for kind, want := range map[string]bool{"run.completed": true, "run.waiting": true, "run.cancelled": true, "run.started": false, "run.resumed": false, "tool.completed": false, "": false} {
		if Ends(kind) != want {
			t.Errorf("%s ends a run: %v", kind, !want)
		}
	}
}
