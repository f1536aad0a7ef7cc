package interp

// Sort sorts items stably, merging runs bottom up so that an error, or a budget that before finds spent,
// ends it at once. It ends whatever before says: one that contradicts itself gives an order that is the
// same each time. Spare has room for as many; what comes back is one of the two.
func Sort[T any](items, spare []T, before func(a, b T) (bool, error)) ([]T, error) {
	n := len(items)
	for width := 1; width < n; width *= 2 {
		for low := 0; low < n; low += 2 * width {
			mid, high := min(low+width, n), min(low+2*width, n)
			if err := merge(items[low:mid], items[mid:high], spare[low:high], before); err != nil {
				return nil, err
			}
		}
		items, spare = spare, items
	}
	return items, nil
}

// merge puts two sorted runs together.
func merge[T any](a, b, out []T, before func(a, b T) (bool, error)) error {
	i, j := 0, 0
	for k := range out {
		takeB := i == len(a)
		if !takeB && j < len(b) {
			var err error
			if takeB, err = before(b[j], a[i]); err != nil {
				return err
			}
		}
		if takeB {
			out[k] = b[j]
			j++
		} else {
			out[k] = a[i]
			i++
		}
	}
	return nil
}
