package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// startedByOthers reports whether the configuration of another client still starts the program, whatever the book says
// about it: a book may be lost, and most clients let a call run where its hook isn't there.
func (q Request) startedByOthers() bool {
	for _, c := range Clients {
		other := q
		if other.Client = c; other.file() == q.file() {
			continue
		}
		text, err := os.ReadFile(other.file())
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case err != nil:
			return true // nobody knows
		default:
			for _, form := range []string{q.program(), Line([]string{q.program()})} {
				if bytes.Contains(text, []byte(strings.Trim(quoted(form), `"`))) {
					return true
				}
			}
		}
	}
	return false
}
