//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// builds is where program is built, until the last test has run.
var builds string

// program builds agentd-hook as make build does.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builds, "agentd-hook")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "agentd-hook-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builds = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// instead is what stands in for agentd: it says how it was called and what it read.
const instead = "#!/bin/sh\necho \"agentd $*\" | sed 's/--within=[0-9.]*m*s/--within=T/'\ncat\n"

// place is a state folder with the program in it.
func place(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "hook") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Link(path, filepath.Join(dir, "agentd-hook")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "instead"), []byte(instead), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve answers on the socket of a folder with raw bytes, after reading a request and doing something. Without an
// answer it hangs until the other side goes away.
func serve(t *testing.T, dir, answer string, first ...func()) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "agentd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				got := make([]byte, 1<<10)
				n, _ := c.Read(got)
				if answer == "" {
					_, _ = io.Copy(io.Discard, c)
					return
				}
				for _, do := range first {
					do()
				}
				line, _, _ := strings.Cut(string(got[:n]), "\r\n")
				_, _ = io.WriteString(c, strings.ReplaceAll(answer, "REQUEST", line))
				_ = c.(*net.UnixConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
}

// start runs the program in a folder.
func start(t *testing.T, cmd *exec.Cmd, stdin []byte) (stdout, stderr string, code int) {
	t.Helper()
	var out, talk bytes.Buffer
	if cmd.Stdin == nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), talk.String(), cmd.ProcessState.ExitCode()
}

func TestAnswersAreHandedThroughAndEverythingElseIsAgentds(t *testing.T) {
	a, err := txtar.ParseFile("testdata/calls.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			given, want, _ := strings.Cut(string(f.Data), "want:\n")
			in := map[string]string{}
			for line := range strings.Lines(given) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				in[name] = value
			}
			dir := place(t)
			serving, cwd := dir, dir
			if in["at"] != "" {
				serving, cwd = filepath.Join(dir, in["at"]), filepath.Join(dir, in["cwd"])
				if err := errors.Join(os.MkdirAll(serving, 0o700), os.MkdirAll(cwd, 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			if answer, ok := in["answer"]; ok {
				raw, err := unquote(answer)
				if err != nil {
					t.Fatal(err)
				}
				serve(t, serving, raw)
			}
			if argv := in["argv"]; argv != "" {
				text := strings.ReplaceAll(strings.ReplaceAll(argv, "DIR", dir), " ", "\n") + "\n"
				if err := os.WriteFile(filepath.Join(dir, "agentd-hook.argv"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(dir, "agentd-hook"), strings.Fields(in["args"])...)
			cmd.Dir = cwd
			cmd.Env = append(os.Environ(), "AGENTD_STATE=", "AGENTD_PROJECT=")
			if env := in["env"]; env != "" {
				cmd.Env = append(cmd.Env, strings.ReplaceAll(env, "=DIR", "="+dir))
			}
			if text, ok := in["endless"]; ok { // standard input that nobody closes
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				defer w.Close()
				if _, err := w.WriteString(text); err != nil {
					t.Fatal(err)
				}
				cmd.Stdin = r
			}
			if name := in["file"]; name != "" {
				f, err := os.Open(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				cmd.Stdin = f
			}
			out, talk, code := start(t, cmd, []byte(in["stdin"]))
			got := fmt.Sprintf("exit %d\n", code)
			for _, said := range []struct{ where, text string }{{"stdout", out}, {"stderr", talk}} {
				for line := range strings.Lines(said.text) {
					got += said.where + ": " + strings.TrimSuffix(strings.ReplaceAll(line, dir, "DIR"), "\n") + "\n"
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func unquote(s string) (raw string, err error) {
	if s == "" {
		return "", nil
	}
	return raw, json.Unmarshal([]byte(s), &raw)
}

// TestLargeEventsArriveWhole: by the socket, and where no daemon answers.
func TestLargeEventsArriveWhole(t *testing.T) {
	for _, size := range []int{0, 1, room, 16<<10 - room, 16 << 10, 1 << 20, 5 << 20, largest, largest + 1} {
		event := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dir := place(t)
			if err := os.WriteFile(filepath.Join(dir, "agentd-hook.argv"), []byte("/bin/sh\n-c\nexec cat\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := func() *exec.Cmd {
				return exec.Command(filepath.Join(dir, "agentd-hook"), "gemini", "--event=BeforeTool", "--timeout=60", "--closed")
			}
			out, talk, code := start(t, cmd(), event)
			if code != 0 || talk != "" || out != string(event) {
				t.Errorf("agentd got %d bytes, exit %d, %s", len(out), code, talk)
			}
			var got []byte
			s := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
				w.Header().Set("Agentd-Exit", "7")
				w.Header().Set("Content-Length", fmt.Sprint(len(got)))
				_, _ = w.Write(got)
			})}
			l, err := net.Listen("unix", filepath.Join(dir, "agentd.sock"))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = s.Serve(l) }()
			out, talk, code = start(t, cmd(), event)
			s.Close()
			<-ended
			if wantCode := map[bool]int{true: 7, false: 0}[size <= largest]; code != wantCode || talk != "" || out != string(event) {
				t.Errorf("the daemon got %d bytes and %d came back, exit %d, %s", len(got), len(out), code, talk)
			}
		})
	}
}

// TestAnAnswerThatCanNotBeWrittenIsNoneOrARefusal: at the end of a turn code 2 would send the agent on.
func TestAnAnswerThatCanNotBeWrittenIsNoneOrARefusal(t *testing.T) {
	dir := place(t)
	serve(t, dir, "HTTP/1.1 200 OK\r\nAgentd-Exit: 0\r\nContent-Length: 2\r\n\r\n{}")
	for _, c := range []struct {
		args, said string
		code       int
	}{
		{"claude --event=PreToolUse --timeout=60 --closed", "agentd can't decide this: the answer can't be written: broken pipe; see agentd doctor claude\n", 2},
		{"claude --event=Stop --timeout=60", "", 0},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var talk bytes.Buffer
		cmd := exec.Command(filepath.Join(dir, "agentd-hook"), strings.Fields(c.args)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("{}"), w, &talk
		_ = cmd.Run()
		w.Close()
		if code := cmd.ProcessState.ExitCode(); code != c.code || talk.String() != c.said {
			t.Errorf("%s: exit %d, %q", c.args, code, talk.String())
		}
	}
}

// TestWhoeverDoesNotReadIsNotWaitedFor: an answer that nobody takes is none, and so is the reason for a refusal, whose
// exit code is there all the same.
func TestWhoeverDoesNotReadIsNotWaitedFor(t *testing.T) {
	dir, nobody := place(t), place(t)
	serve(t, dir, "HTTP/1.1 200 OK\r\nAgentd-Exit: 0\r\nContent-Length: 200000\r\n\r\n"+strings.Repeat("x", 200000))
	for _, c := range []struct {
		dir, args string
		code      int
	}{
		{dir, "claude --event=PreToolUse --timeout=1 --closed", 2},
		{dir, "claude --event=Stop --timeout=1", 0},
		{nobody, "claude --event=PreToolUse --timeout=1 --closed", 2},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fillUp(t, w)
		cmd := exec.Command(filepath.Join(c.dir, "agentd-hook"), strings.Fields(c.args)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("{}"), w, w
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit %d, want %d", c.args, code, c.code)
		}
		w.Close()
		r.Close()
	}
}

// TestWhoReadsSlowlyGetsAllOfIt: also through a pipe that somebody else has made one that doesn't block.
func TestWhoReadsSlowlyGetsAllOfIt(t *testing.T) {
	for _, nonblocking := range []bool{false, true} {
		dir := place(t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		fd := int(w.Fd())
		serve(t, dir, "HTTP/1.1 200 OK\r\nAgentd-Exit: 7\r\nContent-Length: 1000000\r\n\r\n"+strings.Repeat("0123456789", 100000), func() {
			if err := syscall.SetNonblock(fd, nonblocking); err != nil {
				t.Error(err)
			}
		})
		cmd := exec.Command(filepath.Join(dir, "agentd-hook"), "claude", "--event=PreToolUse", "--timeout=60", "--closed")
		cmd.Stdin, cmd.Stdout = strings.NewReader("{}"), w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait(); w.Close() }()
		got, err := io.ReadAll(iotest.OneByteReader(bufio.NewReader(r)))
		<-ended
		if code := cmd.ProcessState.ExitCode(); err != nil || len(got) != 1000000 || code != 7 {
			t.Errorf("nonblocking %v: %d bytes, exit %d, %v", nonblocking, len(got), code, err)
		}
		r.Close()
	}
}

// TestWaitsThatEndTooLateEndInTime: each an eighth and a moment later than it was to.
func TestWaitsThatEndTooLateEndInTime(t *testing.T) {
	const moment = 10 * time.Millisecond
	for _, all := range []time.Duration{0, time.Millisecond, 900 * time.Millisecond, 18 * time.Second, 54 * time.Second, 9 * time.Minute, longest * time.Second * 9 / 10} {
		left, waits := all, 0
		for ; left > 0; waits++ {
			wait := atATime(left)
			if wait <= 0 {
				t.Fatalf("of %v with %v left nothing is waited for", all, left)
			}
			left -= wait + wait/8 + moment/10
		}
		if left < -moment || waits > 40 {
			t.Errorf("%v is exceeded by %v after %d waits", all, -left, waits)
		}
	}
}

// fillUp leaves no room in a pipe.
func fillUp(t *testing.T, w *os.File) {
	t.Helper()
	fd := int(w.Fd())
	err := syscall.SetNonblock(fd, true)
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 1<<10))
	}
	if err != syscall.EAGAIN {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// TestStartCostsLittle: what it brings along is named, as each package has its share in every start.
func TestStartCostsLittle(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 2<<20 {
		t.Errorf("the program has %d bytes", st.Size())
	}
	cmd := exec.Command(path, "gemini")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, _ := cmd.CombinedOutput() // nobody answers, and what it would start isn't there
	var got []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "init" && !strings.HasPrefix(f[1], "internal/") && !strings.HasPrefix(f[1], "runtime") {
			got = append(got, f[1])
		}
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"errors", "io/fs", "iter", "main", "os", "path/filepath", "sync", "syscall", "time", "unicode"}, got); d != "" {
		t.Error(d)
	}
}
