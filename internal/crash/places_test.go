package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPlaceIsInTheDocumentation: where the program can die, a person is told what happens next.
func TestEveryPlaceIsInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/recovery.md")
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`\bat\("([a-z.]+)"`)
	found := 0
	for _, dir := range []string{"../../operation", "../../store"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range place.FindAllStringSubmatch(string(text), -1) {
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				found++
				if !strings.Contains(string(page), "`"+m[1]) {
					t.Errorf("%s: the place %q isn't in docs/recovery.md", name, m[1])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d places are found", found)
	}
}
