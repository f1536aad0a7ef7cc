package interp

import (
	"iter"
	"strings"
)

// Nearest is the one of names that is fewest edits from a misspelt one, "" if none is near; case and
// underscores don't count. Each comparison is paid for before it is made, in fuel.
func Nearest(name string, names iter.Seq[string], pay func(fuel int64) error) (string, error) {
	const longest = 40
	if len(name) > longest {
		return "", nil
	}
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	best, least := "", (len(fold(name))+1)/2
	for s := range names {
		if len(s) > longest || s == name {
			continue
		}
		if err := pay(1 + int64(len(name)*len(s))/8); err != nil {
			return "", err
		}
		if d := edits(fold(name), fold(s)); d < least {
			best, least = s, d
		}
	}
	return best, nil
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above+1, row[j]+1)
			diagonal = above
		}
	}
	return row[len(b)]
}
