package interptest

import (
	"errors"
	"io/fs"

	"agentd/interp"
)

// ErrNoModule is what is said of a module that there is none of.
var ErrNoModule = errors.New("there is no such module in hooks/")

// ModulesIn are the files of a folder.
func ModulesIn(files fs.FS) interp.Module {
	return func(name string) (interp.Source, error) {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return interp.Source{}, ErrNoModule
		}
		return interp.Source{Name: name, Text: text}, nil
	}
}

// Modules are texts by name.
func Modules(texts map[string]string) interp.Module {
	return func(name string) (interp.Source, error) {
		text, ok := texts[name]
		if !ok {
			return interp.Source{}, ErrNoModule
		}
		return interp.Source{Name: name, Text: []byte(text)}, nil
	}
}
