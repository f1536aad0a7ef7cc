package tool

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	var lines strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&lines, "line %05d\n", i+1)
	}
	numbers := lines.String()
	dir := files(t, map[string]string{
		"three": "one\ntwo\nthree\n", "open": "one\ntwo", "empty": "", "dir/x": "", "nul": "a\x00b", "late": strings.Repeat("x", 9000) + "\n\x00",
		"latin": "caf\xe9\n", "numbers": numbers, "crlf": "a\r\nb\r\n",
		"wide": "first\n" + strings.Repeat("é", 200<<10) + "\nlast\n", "widest": strings.Repeat("é", 200<<10), "odd": "x" + strings.Repeat("é", 200<<10),
	})
	s := open(t, dir, Options{})
	for _, c := range []struct{ arguments, want string }{
		{`{"path":"three"}`, `{"path":"three","content":"one\ntwo\nthree\n","first_line":1,"last_line":3}`},
		{`{"path":"three","offset":2}`, `{"path":"three","content":"two\nthree\n","first_line":2,"last_line":3}`},
		{`{"path":"three","offset":3.0,"limit":1}`, `{"path":"three","content":"three\n","first_line":3,"last_line":3}`},
		{`{"path":"three","limit":2}`, `{"path":"three","content":"one\ntwo\n","first_line":1,"last_line":2,"next_offset":3,"note":"the file goes on: read on with offset 3"}`},
		{`{"path":"open","offset":2,"limit":1}`, `{"path":"open","content":"two","first_line":2,"last_line":2}`},
		{`{"path":"crlf","limit":1}`, `{"path":"crlf","content":"a\r\n","first_line":1,"last_line":1,"next_offset":2,"note":"the file goes on: read on with offset 2"}`},
		{`{"path":"empty"}`, `{"path":"empty","content":"","first_line":1,"last_line":0}`},
		{`{"path":"latin"}`, `{"path":"latin","content":"caf�\n","first_line":1,"last_line":1,"note":"the file isn't UTF-8: the bytes that aren't are shown as �"}`},
		{`{"path":"empty","offset":2}`, "~empty can't be read: it has only 0 lines"},
		{`{"path":"three","offset":4}`, "~three can't be read: it has only 3 lines"},
		{`{"path":"open","offset":99}`, "~open can't be read: it has only 2 lines"},
		{`{"path":"nul"}`, "~nul can't be read: it isn't text"},
		{`{"path":"late"}`, "~late can't be read: it isn't text"},
		{`{"path":"none"}`, "~none doesn't exist"},
		{`{"path":"three/x"}`, "~three/x can't be used: not a directory"},
		{`{"path":"dir"}`, "~dir is a folder: list_files"},
		{`{"path":"../x"}`, "~outside of the workspace"},
	} {
		status := Succeeded
		if strings.HasPrefix(c.want, "~") {
			status = Failed
		}
		want(t, call(t, s, "read_file", c.arguments), status, c.want)
	}
	t.Run("in parts", func(t *testing.T) {
		all, parts := "", 0
		for offset := int64(1); offset > 0; parts++ {
			got := call(t, s, "read_file", fmt.Sprintf(`{"path":"numbers","offset":%d}`, offset))
			text := got.Value.Get("content").Text()
			if len(text) > maxRead || !strings.HasSuffix(text, "\n") {
				t.Fatalf("a part of %d bytes", len(text))
			}
			all += text
			offset, _ = got.Value.Get("next_offset").Int64()
		}
		if all != numbers || parts != 3 {
			t.Errorf("%d parts don't make up the file", parts)
		}
	})
	t.Run("a line that is too long", func(t *testing.T) {
		got := call(t, s, "read_file", `{"path":"wide"}`).Value
		if got.Get("content").Text() != "first\n" || got.Get("next_offset").Text() != "2" {
			t.Errorf("got %.200v", got)
		}
		got = call(t, s, "read_file", `{"path":"wide","offset":2}`).Value
		if got.Get("content").Text() != strings.Repeat("é", 128<<10) || got.Get("note").Text() != "line 2 is cut after 256 KiB; the file goes on: read on with offset 3" {
			t.Errorf("got %.200v", got)
		}
		got = call(t, s, "read_file", `{"path":"widest"}`).Value
		if got.Get("note").Text() != "line 1 is cut after 256 KiB" || got.Get("next_offset").Exists() {
			t.Errorf("got %.200v", got)
		}
		got = call(t, s, "read_file", `{"path":"odd"}`).Value
		if text := got.Get("content").Text(); len(text) != maxRead-1 || strings.Contains(got.Get("note").Text(), "UTF-8") {
			t.Errorf("%d bytes: %v", len(text), got.Get("note"))
		}
	})
}
