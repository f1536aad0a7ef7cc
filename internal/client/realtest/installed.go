package realtest

import (
	"fmt"
	"os"
	"path/filepath"
)

// GeminiProgram is what Node starts, for Installed.
const GeminiProgram = "@google/gemini-cli/bundle/gemini.js"

// Installed is where make clients has put a client's program, or why there is none. A program is named by its
// path in node_modules, with slashes.
func Installed(program string) (string, error) {
	dir := os.Getenv("AGENTD_CLIENTS")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "agentd", "clients")
	}
	path := filepath.Join(dir, "node_modules", filepath.FromSlash(program))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s isn't there; make clients installs it", path)
	}
	return path, nil
}
