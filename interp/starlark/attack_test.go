package starlark

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"

	"go.starlark.net/starlark"
)

var ending = regexp.MustCompile(`(?m)^# ends: (fine|budget|error (".*"))$`)

// TestAttacksEndTheSameEachTime runs scripts that a step limit doesn't stop. Each must end as it says,
// with the same words after the same fuel and bytes, however often it runs.
func TestAttacksEndTheSameEachTime(t *testing.T) {
	files, err := filepath.Glob("testdata/attacks/*.star")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		for _, c := range readChunks(t, file) {
			t.Run(strings.TrimSuffix(c.file, ".star")+"/"+c.name(), func(t *testing.T) {
				m := ending.FindStringSubmatch(c.text)
				if m == nil {
					t.Fatal("it doesn't say how it ends")
				}
				first, err := attack(c)
				for range 2 {
					if again, _ := attack(c); again != first {
						t.Fatalf("it ended in two ways:\n%s\n%s", first, again)
					}
				}
				switch {
				case m[1] == "fine" && err != nil, m[1] == "budget" && !errors.Is(err, hookpoints.ErrBudget):
					t.Errorf("got %s", first)
				case m[2] != "":
					pattern, _ := strconv.Unquote(m[2])
					if !errors.Is(err, hookpoints.ErrHookFailed) || !regexp.MustCompile(pattern).MatchString(err.Error()) {
						t.Errorf("got %s", first)
					}
				}
			})
		}
	}
}

// attack loads a chunk, calls attack() and converts what it returns, as respond does.
func attack(c chunk) (string, error) {
	limits := meter.Limits{Fuel: 100_000, Bytes: 16 << 20}
	r := newRun(context.Background(), limits)
	src := interp.Source{Name: c.file, Text: []byte(c.text)}
	r.loading = newLoading(testEnvironment(), src, nil, limits)
	globals, err := r.loadMain(src)
	if err == nil {
		r = newRun(context.Background(), limits)
		fn := globals["attack"].(*starlark.Function)
		var out starlark.Value
		if out, err = r.invoke(fn, nil); err == nil {
			if _, err = r.tree(out, hookpoints.MaxResultDepth); err != nil {
				err = r.fault(err, fn.Position())
			}
		}
	}
	return fmt.Sprintf("%v %+v", err, r.usage()), err
}
