//go:build !unix

package store

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) {
	return false, errors.New("the daemon's state can't be written on this system")
}
