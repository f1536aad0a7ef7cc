package shell

import "strings"

// Limits. What goes past one of them makes the answer unknown, and never loses what was seen before.
// The work grows at most linearly with the text, which is what a caller can charge for.
const (
	// MaxLine is the longest text that is read at all, in bytes.
	MaxLine = 256 << 10
	// MaxCommands is how many commands a script can have.
	MaxCommands = 10_000

	maxDepth   = 200  // of compound commands, substitutions, wrappers and functions in one another
	maxCalls   = 40   // of functions in one another
	maxShells  = 12   // of shells in one another
	maxBraces  = 256  // words that one word with braces can become
	maxRounds  = 4    // over the body of a loop until nothing new is assigned
	maxFrames  = 3000 // of the parser's stack, beyond the first kilobyte of text
	maxBodies  = 16   // of a function
	maxFields  = 4096 // of a word or a list of words
	maxValue   = 64 << 10
	maxReasons = 64
	maxReason  = 160 // bytes
	maxExtra   = 3   // commands that are still shown when nothing is followed any further

	commandCost = 16 // units of work
	itemCost    = 4  // of an assignment or a redirection

)

// Work is the most that reading a text of so many bytes can take, in units of a small step (one node
// of the syntax, one argument, 16 bytes copied), and the most text that is parsed again because the line
// hands it to shells. Sh reads everything twice.
//
// A line as people write it takes two units a byte, nested shells up to five. Long texts get fewer a
// byte: they are documents, or they are repetitive.
func Work(size int, d Dialect) (work, again int) {
	if size > MaxLine {
		return 1, 0
	}
	work = 300 + 6*min(size, 1<<10) + 3*clamp(size-1<<10, 7<<10) + max(size-8<<10, 0)/4
	again = min(4*size+256, 8<<10)
	if d == Sh {
		work, again = 2*work, 2*again+size
	}
	return work, again
}

// Tokens is at least how many tokens the parser can find in a text, up to its longest line.
func Tokens(line string) int {
	n := 1
	for i := range min(len(line), MaxLine) {
		switch line[i] {
		case ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>', '$', '`', '\'', '"', '{', '}', '[', ']', '=', '#', '\\':
			n++
		}
	}
	return n
}

func clamp(n, most int) int { return min(max(n, 0), most) }

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

// short cuts a reason, which can quote the line.
func short(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	return strings.ToValidUTF8(reason, "")
}
