package interptest

import (
	"io/fs"
	"regexp"
	"testing"
)

// Required is the version of a module in a go.mod.
func Required(t *testing.T, files fs.FS, module string) string {
	t.Helper()
	mod, err := fs.ReadFile(files, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(mod)
	if m == nil {
		t.Fatalf("go.mod doesn't name %s", module)
	}
	return string(m[1])
}
