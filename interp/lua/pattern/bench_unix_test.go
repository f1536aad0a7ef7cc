//go:build unix

package pattern

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkFuel prints what a unit of fuel takes of the processor, which is to be about 16 ns.
func BenchmarkFuel(b *testing.B) {
	run := func(name string, f func(fuel Fuel)) {
		b.Run(name, func(b *testing.B) {
			used, start := int64(0), processor(b)
			for b.Loop() {
				fuel := &tank{left: 1_000_000}
				f(fuel)
				used += fuel.used
			}
			b.ReportMetric(float64(processor(b)-start)/float64(used), "ns/fuel")
		})
	}
	for name, c := range endless {
		run(name, func(fuel Fuel) { find(fuel, c.text, c.pattern) })
	}
	words := strings.Repeat("some words, and 12 numbers; ", 100)
	for _, p := range []string{"%d+ x", "(%w+) (%w+)!", "[aeiou]+x", "zz", "%f[%w]q"} {
		run(p, func(fuel Fuel) { find(fuel, words, p) })
	}
	run("index rare", func(fuel Fuel) { _, _ = Index(fuel, words, "xyz", 0) })
	run("index often", func(fuel Fuel) { _, _ = Index(fuel, words, "sx", 0) })
	run("index long", func(fuel Fuel) {
		_, _ = Index(fuel, strings.Repeat("a", 20_000), strings.Repeat("a", 9_000)+"b", 0)
	})
}

// processor is the time that this process has had, in nanoseconds.
func processor(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}
