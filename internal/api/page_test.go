package api

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestThePageListsEachPath holds docs/cli.md to the paths that there are.
func TestThePageListsEachPath(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:GET|POST) /v1/[^`?]*)").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	names := strings.NewReplacer("{id...}", "ID", "{client}", "CLIENT", "revisions/{id}", "revisions/R", "{id}", "ID")
	for pattern := range (&server{}).routes() {
		path := names.Replace(pattern)
		if path == "POST /v1/operations/ID" { // ids have slashes, so the pattern takes all that follows
			path += "/reconcile"
		}
		if !listed[path] {
			t.Errorf("docs/cli.md doesn't list %s", path)
		}
		delete(listed, path)
	}
	for path := range listed {
		t.Errorf("docs/cli.md lists %s, which there isn't", path)
	}
}
