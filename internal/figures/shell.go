package main

import (
	"context"
	"testing"

	"agentd/builtins/shell"
)

// commandLines measures the reader of command lines.
func commandLines(context.Context, string) ([]row, error) {
	read := func(line string, commands int) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if s := shell.Parse(line, shell.Bash); !s.Known || len(s.Commands) != commands {
					b.Fatalf("%q: %q", line, s.Reasons)
				}
			}
		}
	}
	t := interleaved(
		read(`cd src && go test ./... -run 'TestX' 2>&1 | tail -n 20; echo "done: $?"`, 4),
		read(`ls -la`, 1),
		read(`find . -name '*.go' -newer go.mod | xargs grep -ln "context.Background()" | sort -u | head -n 40 && git log --oneline -n 5 -- internal`, 6),
	)
	return []row{
		{"a typical command line, read", "", micros(t[0]), "at most 20µs"},
		{"a short one", "", micros(t[1]), ""},
		{"a long one", "", micros(t[2]), ""},
	}, nil
}
