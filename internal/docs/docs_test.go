package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/builtins"
	"agentd/hookpoints"
)

func TestThePagesAreFresh(t *testing.T) {
	for name, write := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil || string(got) != write() {
			t.Errorf("docs/%s is stale (%v); run go run ./internal/docs", name, err)
		}
	}
}

func TestThePagesSayEverything(t *testing.T) {
	text := points()
	for _, p := range hookpoints.Standard().All() {
		for _, want := range append(p.Allows.Names(), p.Name, p.Fires) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q isn't in the page", p.Name, want)
			}
		}
		for _, f := range p.Contract.Fields() {
			if !strings.Contains(section(p), "| `"+f.Name+"` | ") {
				t.Errorf("%s: the field %s isn't in the page", p.Name, f.Name)
			}
		}
	}
	text = shared()
	for _, f := range builtins.All() {
		if !strings.Contains(text, "`"+f.Name+"(") {
			t.Errorf("%s isn't in the page", f.Name)
		}
	}
	for _, d := range builtins.Deciders() {
		if !strings.Contains(text, "| `"+d.Name+"(") {
			t.Errorf("%s isn't in the page", d.Name)
		}
	}
}
