package shell

// Limits. What goes past one of them makes the answer unknown, and never loses what was seen before.
// The work grows at most linearly with the text, which is what a caller can charge for.
const (
	// MaxLine is the longest text that is read at all, in bytes.
	MaxLine = 256 << 10
	// MaxCommands is how many commands a script can have.
	MaxCommands = 10_000

	maxDepth    = 200  // of compound commands, substitutions, wrappers and functions in one another
	maxCalls    = 40   // of functions in one another
	maxShells   = 12   // of shells in one another
	maxBraces   = 256  // words that one word with braces can become
	maxRounds   = 4    // over the body of a loop until nothing new is assigned
	maxFrames   = 3000 // of the parser's stack, beyond the first kilobyte of text
	maxFields   = 4096 // of a word or a list of words
	maxValue    = 64 << 10
	maxReasons  = 64
	parseBase   = 2 << 10
	parseFactor = 8
	parseMost   = 64 << 10 // of text that the line makes out of itself (eval, sh -c)
)

// Work is the most that reading a text of so many bytes can take, in units of a small step (one node
// of the syntax, one argument, 16 bytes copied), and Parsed is the most text that is parsed for it: the
// text itself and what it hands to shells again.
func Work(size int) (work, parsed int) {
	if size > MaxLine {
		return 1, 0
	}
	small := min(size, 4<<10)
	return 600 + 8*small + 2*(size-small), min(parseFactor*size+parseBase, size+parseMost)
}

// spend takes units of work; false means that there is none left.
func (w *walker) spend(units int) bool {
	if w.spent {
		return false
	}
	if w.work -= units; w.work < 0 {
		w.spent = true
		w.unknown("the line does too much to be followed to its end")
		return false
	}
	return true
}
