package reload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSaveToActive is the time from the rename that ends a save to the target's call, which is
// mostly the wait for quiet, and what it is without that.
func BenchmarkSaveToActive(b *testing.B) {
	for _, count := range []int{64, 300} {
		b.Run(fmt.Sprintf("files=%d", count), func(b *testing.B) {
			dir := b.TempDir()
			text := strings.Repeat("def f(x): return x\n", 210) // 4 KB
			for i := range count {
				write(b, fmt.Sprintf("%s/lib%d/m%03d.star", dir, i%4, i), text)
			}
			sets := make(chan time.Time, 10)
			w := New([]Root{{Dir: dir, Match: scripts}}, func(context.Context, Snapshot) error {
				sets <- time.Now()
				return nil
			}, Options{})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			defer func() {
				cancel()
				<-done
			}()
			<-sets

			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				write(b, dir+"/.save", fmt.Sprintf("%s# %d\n", text, i))
				began := time.Now()
				must(b, os.Rename(dir+"/.save", filepath.Join(dir, "lib3", "m003.star")))
				took = append(took, (<-sets).Sub(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, count := range []int{64, 300} {
		b.Run(fmt.Sprintf("files=%d", count), func(b *testing.B) {
			dir := b.TempDir()
			for i := range count {
				write(b, fmt.Sprintf("%s/lib%d/m%03d.star", dir, i%4, i), strings.Repeat("def f(x): return x\n", 210))
			}
			w := New([]Root{{Dir: dir}}, nil, Options{})
			for b.Loop() {
				if _, err := w.Scan(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
