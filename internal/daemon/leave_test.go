package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// TestAnEventThatWasLetInIsAnswered, also one that comes only when nobody else is let in any more.
func TestAnEventThatWasLetInIsAnswered(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	path, err := l.places.Socket()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h.cancel()
	for open := true; open; {
		open = false
		for _, name := range []string{path, filepath.Join(l.places.StateDir, ".sock", "s")} {
			if c, err := net.Dial("unix", name); err == nil {
				open = true
				c.Close()
			}
		}
	}
	event := `{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"t","tool_input":{}}`
	if _, err := fmt.Fprintf(conn, "POST /v1/hook/gemini?event=BeforeTool HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(event), event); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "{}\n" {
		t.Errorf("it is told %s, %q, %v", res.Status, body, err)
	}
}
