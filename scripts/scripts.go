// Package scripts holds the layer that ships: its agents, and its hooks with their tests.
package scripts

import (
	"embed"
	"io/fs"

	"agentd/revision"
)

//go:embed agentd.yaml
var files embed.FS

// Files are the files of the shipped layer.
func Files() ([]revision.File, error) {
	var out []revision.File
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		out = append(out, revision.File{Path: path, Text: text})
		return err
	})
	return out, err
}
