package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Attended runs a program that a person works in, an editor say, on their terminal and with their
// environment, until they leave it.
func Attended(ctx context.Context, argv []string, stdin *os.File, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}
