package shell

import "testing"

// BenchmarkTypicalLine is a line as agents send them.
func BenchmarkTypicalLine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if s := Parse(`cd src && go test ./... -run 'TestX' 2>&1 | tail -n 20; echo "done: $?"`, Bash); !s.Known || len(s.Commands) != 4 {
			b.Fatalf("%+v", s)
		}
	}
}
