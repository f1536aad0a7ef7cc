package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentd/internal/api"
	"agentd/store"
)

func TestSocketIsItsOwnersAlone(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	for path, want := range map[string]fs.FileMode{
		l.places.StateDir: fs.ModeDir | 0o700,
		filepath.Join(l.places.StateDir, "agentd.sock"): fs.ModeSocket | 0o600,
		filepath.Join(l.places.StateDir, "agentd.db"):   0o600,
	} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, st.Mode(), want)
		}
	}
	if len(h.addresses) != 1 || h.addresses[0] != "unix:"+filepath.Join(l.places.StateDir, "agentd.sock") {
		t.Errorf("it says that it listens on %v", h.addresses)
	}
	h.stop()
	left, err := filepath.Glob(filepath.Join(l.places.StateDir, "*sock*"))
	if err != nil || len(left) > 0 {
		t.Errorf("after the end %v is left (%v)", left, err)
	}
}

func TestSocketThatWasLeftBehindIsReplaced(t *testing.T) {
	l := newLab(t)
	l.mkdir(filepath.Join(l.places.StateDir, ".sock"))
	l.put(filepath.Join(l.places.StateDir, ".sock", "s"), "")
	path, err := l.places.Socket()
	if err != nil {
		t.Fatal(err)
	}
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.serve(l.options()).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSocketPathThatJustFitsWorks(t *testing.T) {
	l := newLab(t)
	dir := l.dir + "/"
	dir += strings.Repeat("s", 107-len(dir)-len("/agentd.sock"))
	o := l.options()
	o.Places.StateDir = dir
	if path, err := o.Places.Socket(); err != nil || len(path) != 107 {
		t.Fatalf("%d bytes: %v", len(path), err)
	}
	if _, err := l.serve(o).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSecondDaemonFindsTheStateInUse(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	if _, err := Open(t.Context(), l.options()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	h.stop()
	d, err := Open(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestConnectBecomesTheDaemonThatOthersFind(t *testing.T) {
	l := newLab(t)
	first, err := Connect(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	second, err := Connect(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	if !first.Own || second.Own {
		t.Errorf("own: %v and %v", first.Own, second.Own)
	}
	if s, err := second.Status(t.Context()); err != nil || !s.Daemon {
		t.Errorf("the second is told %+v, %v", s, err)
	}
	if err := errors.Join(second.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	if _, err := api.Dial(t.Context(), filepath.Join(l.places.StateDir, "agentd.sock")); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("after both are gone: %v", err)
	}
}

// A daemon that lives for one verb would take the runs of others with it when it goes.
func TestDaemonOfOneVerbTakesNoRunsOfOthers(t *testing.T) {
	l := newLab(t)
	own, err := Connect(t.Context(), l.options())
	if err != nil {
		t.Fatal(err)
	}
	path, _ := l.places.Socket()
	other := api.NewClient(path, "")
	defer other.Close()
	err = other.StartRun(t.Context(), api.StartRun{Task: "x"}, func(api.Event) {})
	if !errors.Is(err, api.ErrClosing) || !strings.Contains(err.Error(), "run agentd serve") {
		t.Errorf("a run of another: %v", err)
	}
	ended := ""
	if err := own.StartRun(t.Context(), api.StartRun{Task: "x"}, func(e api.Event) { ended = e.Type }); err != nil || ended != "run.completed" {
		t.Errorf("its own run: %s, %v", ended, err)
	}
	// Whoever asked again and again gets its turn when the verb is done.
	done := make(chan error, 1)
	tried := make(chan struct{}, 100)
	go func() {
		for {
			err := Do(t.Context(), l.options(), func(c *Connection) error {
				tried <- struct{}{}
				return c.StartRun(t.Context(), api.StartRun{Task: "x"}, func(api.Event) {})
			})
			// Caught by the very end, nobody can prove that it wasn't taken: it is told, and asks again.
			if !errors.Is(err, api.ErrLost) {
				done <- err
				return
			}
		}
	}()
	<-tried
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the run that waited: %v", err)
	}
}

func TestConnectSaysWhoDoesNotAnswer(t *testing.T) {
	l := newLab(t)
	d, err := Open(t.Context(), l.options()) // holds the lock and serves nothing
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = connect(t.Context(), ctx, l.options())
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "its socket doesn't answer") {
		t.Errorf("got %v", err)
	}
}

func TestListenAsksForATokenThatOnlyTheOwnerCanRead(t *testing.T) {
	l := newLab(t)
	o := l.options()
	o.Listen = "127.0.0.1:0"
	h := l.serve(o)
	address := "http://" + strings.TrimPrefix(h.addresses[1], "tcp:")
	file := filepath.Join(l.places.StateDir, "token")
	st, err := os.Stat(file)
	if err != nil || st.Mode() != 0o600 {
		t.Fatalf("the token's file: %v %v", st.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(text))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for bearer, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer wrong": 401, token: 401, "Basic " + token: 401, "Bearer " + token[1:]: 401,
		"Bearer " + token: 200, "bearer " + token: 200,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", address+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", bearer)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q gets %d, want %d", bearer, res.StatusCode, want)
		}
	}
	h.stop()
	l.serve(o)
	again, err := os.ReadFile(file)
	if err != nil || string(again) != string(text) {
		t.Errorf("the token changed from %q to %q (%v)", text, again, err)
	}
	if _, err := os.Stat(filepath.Join(l.places.StateDir, "agentd.sock")); err != nil {
		t.Error(err)
	}
}

func TestListenRefusesWhatIsNotThisMachineOrNotSecret(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		token   string
		mode    fs.FileMode
		want    string
	}{
		"every interface":     {"0.0.0.0:0", "", 0, "this machine only"},
		"no host":             {":0", "", 0, "this machine only"},
		"a name":              {"localhost:0", "", 0, "this machine only"},
		"another machine":     {"192.0.2.1:0", "", 0, "this machine only"},
		"no port":             {"127.0.0.1", "", 0, "this machine only"},
		"a token for all":     {"127.0.0.1:0", strings.Repeat("a", 48), 0o644, "is open to others"},
		"no token in it":      {"127.0.0.1:0", "x", 0o600, "holds no token"},
		"an empty token file": {"127.0.0.1:0", "\n", 0o600, "holds no token"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			if c.token != "" {
				l.put(filepath.Join(l.places.StateDir, "token"), c.token)
				if err := os.Chmod(filepath.Join(l.places.StateDir, "token"), c.mode); err != nil {
					t.Fatal(err)
				}
			}
			o := l.options()
			o.Listen = c.address
			d, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			err = d.Serve(t.Context(), func([]string) { t.Error("it serves") })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			// Nothing is left open: the next one can begin at once.
			if _, err := os.Stat(filepath.Join(l.places.StateDir, "agentd.sock")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket: %v", err)
			}
			l.serve(l.options())
		})
	}
}

func TestEndOfTheDaemonEndsWhatListens(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	listening, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- h.Events(context.Background(), func() { close(listening) }, func(api.Event) {}) }()
	<-listening
	h.stop()
	if err := <-ended; err != nil {
		t.Errorf("the stream of events ended with %v", err)
	}
	if _, err := h.Status(t.Context()); !errors.Is(err, api.ErrNoDaemon) {
		t.Errorf("a request after the end: %v", err)
	}
}

func TestDaemonWhoseSocketWasRemovedEndsCleanly(t *testing.T) {
	l := newLab(t)
	h := l.serve(l.options())
	path, err := l.places.Socket()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.stop() // fails the test if it ends with an error
}

// A client that connects and says nothing, or reads nothing, must not keep the daemon from ending.
func TestSilentClientsDoNotKeepTheDaemon(t *testing.T) {
	l := newLab(t)
	o := l.options()
	o.grace = 50 * time.Millisecond
	h := l.serve(o)
	path, err := l.places.Socket()
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"", "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n", "POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte(says)); err != nil {
			t.Fatal(err)
		}
	}
	h.stop()
}
