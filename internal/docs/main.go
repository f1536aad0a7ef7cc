// Command docs writes the parts of docs/ that follow from the program: what the catalogue of points and
// the builtins say of themselves. Run it at the top of the repository: go run ./internal/docs
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// pages are the files that are generated, by name.
var pages = map[string]func() string{"points.md": points, "builtins.md": shared, "install.md": installs, "client-events.md": clients}

// notice stands at the top of each page.
const notice = "<!-- Written by go run ./internal/docs. Change the program instead. -->\n\n"

func main() {
	dir := flag.String("dir", "docs", "the folder to write to")
	flag.Parse()
	for name, write := range pages {
		if err := os.WriteFile(filepath.Join(*dir, name), []byte(write()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
