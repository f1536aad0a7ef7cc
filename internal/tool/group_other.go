//go:build !unix

package tool

import (
	"os"
	"os/exec"
)

// Where there are no process groups, the daemon isn't offered; this serves short commands only.

func ownGroup(*exec.Cmd) {}

func endGroup(leader *os.Process) { leader.Kill() }

func killGroup(leader *os.Process) { leader.Kill() }

func endedBy(*os.ProcessState) (int, string) { return 0, "" }

func readReady(*os.File, func([]byte)) {}
