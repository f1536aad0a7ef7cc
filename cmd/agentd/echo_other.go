//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

// hideInput can't.
func hideInput(*os.File) (show func() error, err error) {
	return nil, errors.New("this terminal can't hide what is typed; use agentd answer ID --value -")
}
