package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWorkers does something to the workers of the daemon of the project in the current folder, and waits
// until it is so:
//
//	workers stop   none of them runs any more, though each is there
//	workers kill   they are dead
//	workers asked  the daemon waits for one of them
func cmdWorkers(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: workers stop, kill or asked")
	}
	var daemon string
	var workers []string
	until := func(so func() bool) {
		for end := time.Now().Add(time.Minute); !so(); runtime.Gosched() {
			if time.Now().After(end) {
				ts.Fatalf("workers %s: it isn't so after a minute; the workers of %s are %v", args[0], daemon, workers)
			}
		}
	}
	starting := false
	settled := 0
	until(func() bool { // the spare, too, is there and waits to be asked
		daemon, workers, starting = processes(ts)
		if settled++; args[0] == "stop" && (starting || len(workers) < 2 || waitsForAWorker(daemon)) {
			settled = 0
		}
		return settled > 50 || settled > 0 && args[0] != "stop"
	})
	do := map[string]struct {
		signal syscall.Signal
		so     func() bool
	}{
		"stop":  {syscall.SIGSTOP, func() bool { return all(workers, stands) }},
		"kill":  {syscall.SIGKILL, func() bool { return all(workers, dead) }},
		"asked": {0, func() bool { return waitsForAWorker(daemon) }},
	}[args[0]]
	if do.so == nil {
		ts.Fatalf("usage: workers stop, kill or asked")
	}
	for _, w := range workers {
		pid, err := strconv.Atoi(w)
		ts.Check(err)
		ts.Check(syscall.Kill(pid, do.signal))
	}
	until(do.so)
}

// processes finds the daemon that was started in the current folder, and its workers. Starting: one of them
// isn't confined yet.
func processes(ts *testscript.TestScript) (daemon string, workers []string, starting bool) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	ts.Check(err)
	parents, confined := map[string]string{}, map[string]bool{}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil { // it is gone
			continue
		}
		words := strings.Split(string(line), "\x00")
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		switch {
		case len(words) < 2:
		case words[1] == "serve" && cwd == ts.MkAbs("."):
			daemon = filepath.Base(dir)
		case words[1] == "_worker-confined", words[1] == "_worker":
			if f := statOf(dir); len(f) > 1 {
				parents[filepath.Base(dir)] = f[1]
				confined[filepath.Base(dir)] = words[1] != "_worker"
			}
		}
	}
	for worker, parent := range parents {
		switch {
		case parent != daemon:
		case confined[worker]:
			workers = append(workers, worker)
		default:
			starting = true
		}
	}
	return daemon, workers, starting
}

// statOf is what the kernel says of a process from its state on: state, parent ...
func statOf(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

func all(list []string, is func(string) bool) bool {
	for _, x := range list {
		if !is(x) {
			return false
		}
	}
	return true
}

func dead(pid string) bool {
	f := statOf("/proc/" + pid)
	return len(f) == 0 || f[0] == "Z" || f[0] == "X"
}

func stands(pid string) bool {
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*")
	return all(tasks, func(dir string) bool {
		f := statOf(dir)
		return len(f) > 0 && f[0] == "T"
	})
}

// waitsForAWorker reports whether a thread of a daemon reads from a socket and blocks: it does so with its
// workers only.
func waitsForAWorker(daemon string) bool {
	tasks, _ := filepath.Glob("/proc/" + daemon + "/task/*/syscall")
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		f := strings.Fields(string(text))
		if err != nil || len(f) < 2 || f[0] != strconv.Itoa(syscall.SYS_READ) {
			continue
		}
		fd, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64)
		if err != nil {
			continue
		}
		if what, err := os.Readlink(fmt.Sprintf("/proc/%s/fd/%d", daemon, fd)); err == nil && strings.HasPrefix(what, "socket:") {
			return true
		}
	}
	return false
}
