//go:build !linux || !(amd64 || arm64)

package worker

import "fmt"

// Missing lists the walls that this machine can't build.
func Missing() []Wall { return []Wall{Privileges, Files, Calls, Memory} }

func confineAndExec([]string) error { return fmt.Errorf("%w: this system has no walls", ErrNoWalls) }

func shut() error { return ErrNoWalls }
