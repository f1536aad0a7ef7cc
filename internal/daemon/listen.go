package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"agentd/internal/api"
)

// endpoint is an address that the API answers on.
type endpoint struct {
	net.Listener
	token string // that every request must carry; "" where the system keeps others out
}

// listen opens the socket, and a port where one is wanted. After an error nothing is left open.
func (d *Daemon) listen() ([]endpoint, error) {
	path, err := d.o.Places.Socket()
	if err != nil {
		return nil, err
	}
	unix, err := listenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	address := d.o.Listen
	if address == "" {
		address = d.live.Listen
	}
	if address == "" {
		return []endpoint{{unix, ""}}, nil
	}
	tcp, err := listenTCP(address, filepath.Join(d.o.Places.StateDir, "token"))
	if err != nil {
		return nil, errors.Join(err, unix.Close())
	}
	return []endpoint{{unix, ""}, tcp}, nil
}

// listenUnix opens a socket that only its owner can reach. It is bound in a folder that nobody else
// can enter and moved out when it has its mode. The caller holds the writer's lock, so a socket that
// is there was left behind and is replaced.
func listenUnix(path string) (*socket, error) {
	s := &socket{path: path, room: filepath.Join(filepath.Dir(path), ".sock")}
	if err := os.RemoveAll(s.room); err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.room, 0o700); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.inside(), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	s.Listener = l
	if err := errors.Join(os.Chmod(s.inside(), 0o600), os.Rename(s.inside(), path)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// socket is a listener that removes its name when it closes.
type socket struct {
	net.Listener
	path string
	room string
}

// inside is the name in the room: shorter than the path, so that one that just fits isn't too long
// before.
func (s *socket) inside() string { return filepath.Join(s.room, "s") }

// retire takes the name away and returns once everybody who found it before is let in: closing the
// listener would cut off those who wait. They have to be served meanwhile.
func (s *socket) retire(ctx context.Context) error {
	if err := os.Rename(s.path, s.inside()); err != nil {
		return err
	}
	last := api.NewClient(s.inside(), "")
	defer last.Close()
	_, err := last.Status(ctx) // who waits is let in in order
	return err
}

// Close implements net.Listener.
func (s *socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) { // the name may be another's by now
		return err
	}
	if rm := os.Remove(s.path); !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return errors.Join(err, os.RemoveAll(s.room))
}

// Addr implements net.Listener.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// listenTCP opens a port of this machine, whose callers show the token in a file.
func listenTCP(address, tokenFile string) (endpoint, error) {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return endpoint{}, fmt.Errorf("listen is %q, want 127.0.0.1:PORT: agentd serves this machine only", address)
	}
	token, err := readToken(tokenFile)
	if err != nil {
		return endpoint{}, fmt.Errorf("the token for %s: %w", address, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{l, token}, nil
}

// readToken reads the token, which is made at first use. One that others could have read or written
// is no secret and refused.
func readToken(path string) (string, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeToken(path)
	case err != nil:
		return "", err
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s is open to others (%v); remove it, and a new one is made", path, st.Mode())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 32 {
		return "", fmt.Errorf("%s holds no token; remove it, and a new one is made", path)
	}
	return token, nil
}

// makeToken writes a new token: whoever sees the file sees all of it.
func makeToken(path string) (string, error) {
	var b [24]byte
	rand.Read(b[:]) // it never fails
	token := hex.EncodeToString(b[:])
	f, err := os.CreateTemp(filepath.Dir(path), ".token-") // 0600 from the start
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return token, nil
}
