package agentd_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// order is how imports may point: a package may import only what stands later in the list, and, of
// its own line, only what stands under itself. "" is the root package.
var order = [][]string{
	{"cmd", "examples"},
	{"internal/demo", "internal/figures", "internal/docs", "internal/crash"},
	{"internal/daemon"},
	{"internal/install"},
	{"internal/api", "internal/agent", "internal/client"},
	{""},
	{"internal/facts", "internal/effects", "internal/worker", "internal/reload", "internal/config", "internal/replay", "internal/model", "internal/knowledge"},
	{"internal/tool"}, // its runner starts the processes of facts and effects
	{"internal/elicit", "internal/secret"},
	{"store"},
	{"scripts"},
	{"revision"},
	{"operation/journaltest"},
	{"operation"},
	{"interp/scripttest"},
	{"interp/starlark", "interp/lua"},
	{"interp/interptest"},
	{"interp"},
	{"builtins"},
	{"hookpoints"},
	{"builtins/meter", "builtins/shell"},
	{"hookpoints/contract"},
	{"hookpoints/payload"},
}

// rank is the line of a package, and the entry that it falls under.
func rank(pkg string) (line int, entry string) {
	line = -1
	for i, names := range order {
		for _, name := range names {
			if (pkg == name || name != "" && strings.HasPrefix(pkg, name+"/")) && (line < 0 || len(name) > len(entry)) {
				line, entry = i, name
			}
		}
	}
	return line, entry
}

// forTests are the packages that only tests import.
var forTests = []string{"interp/interptest", "operation/journaltest"}

// forbidden is what some packages may not import, and why.
var forbidden = []struct {
	under   []string
	imports []string
	why     string
}{
	{[]string{"hookpoints", "builtins", "interp"}, []string{"os/exec", "net", "net/http", "os", "log", "log/slog"}, "hooks are hermetic"},
	{[]string{"hookpoints/payload"}, []string{"agentd/", "go.starlark.net/", "github.com/yuin/"}, "the payload is the lowest package"},
	{[]string{"hookpoints", "builtins", "operation", "store"}, []string{"go.starlark.net/", "github.com/yuin/"}, "only interp knows interpreters"},
	{[]string{"operation"}, []string{"agentd/store", "database/sql"}, "operations know a journal, not a database"},
	{[]string{"internal/client"}, []string{"agentd/internal/agent"}, "clients have their own agent"},
}

// starters are the only packages that start processes; internal/crash starts and kills the whole program,
// internal/figures starts it as a client would.
var starters = []string{"internal/tool", "internal/worker", "internal/crash", "internal/figures"}

func TestImportsPointOneWay(t *testing.T) {
	eachFile(t, func(pkg, file string, imports []string) {
		line, entry := rank(pkg)
		if line < 0 {
			t.Errorf("%s has no place in the order of packages", pkg)
			return
		}
		for _, path := range imports {
			if path == "os/exec" && !slices.Contains(starters, pkg) {
				t.Errorf("%s starts processes; only %s may", file, strings.Join(starters, " and "))
			}
			if path != "agentd" && !strings.HasPrefix(path, "agentd/") {
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(path, "agentd"), "/")
			if slices.Contains(forTests, to) {
				t.Errorf("%s imports %s, which is for tests only", file, to)
			}
			if toLine, toEntry := rank(to); toLine < line || toLine == line && toEntry != entry {
				t.Errorf("%s imports upwards or sideways: %s", file, path)
			}
		}
	})
}

func TestPackagesStayWithinTheirBorders(t *testing.T) {
	eachFile(t, func(pkg, file string, imports []string) {
		for _, rule := range forbidden {
			if !slices.ContainsFunc(rule.under, func(u string) bool { return pkg == u || strings.HasPrefix(pkg, u+"/") }) {
				continue
			}
			for _, path := range imports {
				for _, no := range rule.imports {
					if path == "os" && slices.Contains(forTests, pkg) {
						continue // they read what they hold hooks against
					}
					if path == no || strings.HasSuffix(no, "/") && strings.HasPrefix(path, no) {
						t.Errorf("%s imports %s: %s", file, path, rule.why)
					}
				}
			}
		}
	})
}

// TestHooksHaveNoClock looks for calls: package time is welcome there for durations.
func TestHooksHaveNoClock(t *testing.T) {
	calls := []string{"time.Now(", "time.Since(", "time.Until(", "time.After(", "time.AfterFunc(", "time.NewTimer(", "time.NewTicker(", "time.Sleep(", "time.Tick("}
	eachFile(t, func(pkg, file string, _ []string) {
		top, _, _ := strings.Cut(pkg, "/")
		if top != "hookpoints" && top != "builtins" && top != "interp" {
			return
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s); deadlines come in contexts", file, call)
			}
		}
	})
}

func TestTheCoreBuildsWithoutC(t *testing.T) {
	cmd := exec.Command("go", "build", "./hookpoints/...", "./builtins/...", "./interp/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// eachFile visits the product's Go files, less the tests.
func eachFile(t *testing.T, visit func(pkg, file string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, im := range f.Imports {
			imports = append(imports, strings.Trim(im.Path.Value, `"`))
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		visit(pkg, path, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
