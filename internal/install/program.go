package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoProgram: this agentd has no agentd-hook to install.
var ErrNoProgram = errors.New("this agentd was built without agentd-hook, which clients start")

// Program is agentd-hook as this agentd brings it: built into it by make build, else the file beside it.
func Program(agentd string) ([]byte, error) {
	if len(embedded) > 0 {
		return embedded, nil
	}
	path := filepath.Join(filepath.Dir(agentd), programName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; make build makes one that has it, or build ./cmd/agentd-hook to %s", ErrNoProgram, path)
	}
	return text, err
}

const (
	programName = "agentd-hook"      // in the state folder
	argvName    = "agentd-hook.argv" // beside it: what it becomes where no daemon answers, an argument a line
)
