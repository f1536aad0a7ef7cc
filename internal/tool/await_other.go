//go:build !linux

package tool

import "os/exec"

// awaitExit waits for the end of a program.
func awaitExit(cmd *exec.Cmd) (reaped bool) {
	cmd.Wait()
	return true
}
