package interp_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"agentd/interp"
)

type pair struct{ key, place int }

func TestSortIsStableAndEndsAtTheFirstError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []pair
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "keys") {
			items = append(items, pair{key, i})
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		asked := 0
		got, err := interp.Sort(slices.Clone(items), make([]pair, len(items)), func(a, b pair) (bool, error) {
			asked++
			return a.key < b.key, nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		if asked == 0 {
			return
		}
		stop := rapid.IntRange(1, asked).Draw(t, "stop")
		failed := errors.New("no")
		if _, err := interp.Sort(items, make([]pair, len(items)), func(a, b pair) (bool, error) {
			if stop--; stop == 0 {
				return false, failed
			}
			if stop < 0 {
				t.Fatal("it went on")
			}
			return a.key < b.key, nil
		}); err != failed {
			t.Fatalf("got %v", err)
		}
	})
}

// TestSortEndsWhateverItIsTold: an order that contradicts itself gives what was there, in some order.
func TestSortEndsWhateverItIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOf(rapid.Int()).Draw(t, "items")
		answers := rapid.SliceOfN(rapid.Bool(), 1, 50).Draw(t, "answers")
		n := 0
		got, err := interp.Sort(slices.Clone(items), make([]int, len(items)), func(int, int) (bool, error) {
			n++
			return answers[n%len(answers)], nil
		})
		slices.Sort(items)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, items) {
			t.Fatalf("got %v, %v, want %v", got, err, items)
		}
	})
}
