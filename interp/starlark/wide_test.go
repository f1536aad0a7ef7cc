package starlark

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints"
)

// TestWhatACallCostsBeforeItsFirstStepIsPaidFor: frames are as large as a function's largest
// statement, and named arguments are looked for among all parameters, whatever the call then does.
func TestWhatACallCostsBeforeItsFirstStepIsPaidFor(t *testing.T) {
	list := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") }
	numbered := func(n int, format string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return strings.Join(items, ", ")
	}
	long := strings.Repeat("x", 150)
	for name, c := range map[string]struct {
		text  string
		calls int // that a budget must not allow
	}{
		"a display in a branch not taken": {"def f(x):\n    if x:\n        return [" + list(20000, "1") + "]\n", 1000},
		"nested calls not made":           {"def f(x):\n    return x and (" + strings.Repeat("f(", 60) + "1" + strings.Repeat(", 1)", 60) + ", " + list(20000, "x") + ")\n", 1000},
		"a lambda's":                      {"f = lambda x: [" + list(20000, "1") + "] if x else None\n", 1000},
		"locals never assigned":           {"def f(x):\n    if x:\n" + strings.ReplaceAll(numbered(8000, "        y%d = 1"), ", ", "\n") + "\n", 1500},
		"parameters with long names": {"def g(" + numbered(200, long+"%03d = 1") + "):\n    pass\n" +
			"def f(x):\n    g(" + numbered(200, long+"%03d = 2") + ")\n", 1000},
		"parameters of a lambda with long names": {"g = lambda " + numbered(200, long+"%03d = 1") + ": 1\n" +
			"def f(x):\n    g(" + numbered(200, long+"%03d = 2") + ")\n", 1000},
	} {
		t.Run(name, func(t *testing.T) {
			loop := func(n int) string {
				return fmt.Sprintf("%sdef loop():\n    for i in range(%d):\n        f(0)\nloop()\n", c.text, n)
			}
			if _, err := load(loop(10), meter.Default); err != nil {
				t.Fatal(err)
			}
			if _, err := load(loop(c.calls), meter.Default); !errors.Is(err, hookpoints.ErrBudget) {
				t.Errorf("%d calls: got %v, want a spent budget", c.calls, err)
			}
		})
	}
}

func TestLoopsDoNotRunBelowManyCalls(t *testing.T) {
	var b strings.Builder
	b.WriteString("def f0(x):\n    for i in range(x):\n        pass\n")
	for i := 1; i < 400; i++ {
		fmt.Fprintf(&b, "def f%d(x): f%d(x)\n", i, i-1)
	}
	if _, err := load(b.String()+"f150(3)\n", meter.Default); err != nil {
		t.Error(err)
	}
	if _, err := load(b.String()+"f399(3)\n", meter.Default); err == nil || !strings.Contains(err.Error(), "calls nest deeper than 200") {
		t.Errorf("got %v", err)
	}
}
