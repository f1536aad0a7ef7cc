package payload

// span is where a container stands within the one around it, counted from the beginning of that.
//
// A level is indexed by finding the ends of its values, which looks at all of their text. In text that
// nests, the same bytes would be looked at once a level, up to MaxDepth times, by whoever goes down.
// So when a long and deep value is first passed, the containers that are at least half of it are
// remembered: they are all within each other, so there is one in each, and who follows them looks at
// nothing twice. What is beside them is less than half, so that no way down costs more than twice
// the text.
type span struct {
	start, end int
	depth      int   // levels, its own included
	inner      *span // the one within it
}

// Shorter or flatter text is looked at again: that costs less than remembering.
const (
	longText  = 1 << 10
	deepLevel = 8
)

// longest finds the containers in b that are at least half of it. Depth is what skip said.
func longest(b []byte, depth int, count *Counter) *span {
	if len(b) < longText || depth <= deepLevel {
		return nil
	}
	if count != nil {
		count.bytes.Add(int64(len(b)))
	}
	type frame struct{ start, deepest int }
	open := make([]frame, 0, depth)
	var inner *span
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			i = closing(b, i)
		case '{', '[':
			open = append(open, frame{i, len(open) + 1})
		case '}', ']':
			level := len(open) - 1
			if level == 0 {
				return inner
			}
			closed, around := open[level], &open[level-1]
			open = open[:level]
			around.deepest = max(around.deepest, closed.deepest)
			if i+1-closed.start >= len(b)/2 {
				inner = &span{closed.start - around.start, i + 1 - around.start, closed.deepest - level, inner}
			}
		}
	}
}
