package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// another is a build of agentd that says of itself what AGENTD_ENGINE says.
var another = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentd-another-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "agentd")
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
	dir, err := os.MkdirTemp("", "agentd-hook-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "agentd-hook")
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
