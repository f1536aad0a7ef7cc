package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// builder runs the tests with a folder for the programs that they build.
type builder struct{ *testing.M }

// builds is that folder, until the last test has run.
var builds string

func (b builder) Run() (code int) {
	dir, err := os.MkdirTemp("", "agentd-builds-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builds = dir
	return b.M.Run()
}

// another is a build of agentd that says of itself what AGENTD_ENGINE says.
var another = sync.OnceValues(func() (string, error) {
	program := filepath.Join(builds, "agentd")
	out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", program, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

// cmdAnother keeps the path of such a build as $ANOTHER.
func cmdAnother(ts *testscript.TestScript, _ bool, _ []string) {
	program, err := another()
	ts.Check(err)
	ts.Setenv("ANOTHER", program)
}

// hookProgram is agentd-hook.
var hookProgram = sync.OnceValues(func() (text []byte, err error) {
	path := filepath.Join(builds, "agentd-hook")
	cmd := exec.Command("go", "build", "-o", path, "../agentd-hook")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(path)
})

// cmdBeside puts agentd-hook beside agentd, where install finds it: the program that runs here has none built
// in. $BESIDE is the folder of both.
func cmdBeside(ts *testscript.TestScript, _ bool, _ []string) {
	text, err := hookProgram()
	ts.Check(err)
	bin := filepath.Join(ts.Getenv("WORK"), "bin")
	ts.Check(os.MkdirAll(bin, 0o755))
	self, err := os.Executable()
	ts.Check(err)
	if os.Link(self, filepath.Join(bin, "agentd")) != nil { // on another disk
		agentd, err := os.ReadFile(self)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(bin, "agentd"), agentd, 0o755))
	}
	ts.Check(os.WriteFile(filepath.Join(bin, "agentd-hook"), text, 0o755))
	ts.Setenv("BESIDE", bin)
}
