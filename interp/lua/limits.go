package lua

// The bounds of the interpreter. Each keeps one instruction, or one call of the interpreter's own code,
// from doing more than a small fixed amount of work.
const (
	maxCalls      = 100     // calls within calls, of Lua and of builtins
	maxRegisters  = 8 << 10 // values on the stack, at 16 bytes
	minRegisters  = 512
	registerSteps = 512
	maxArrayIndex = 1 << 16 // integer keys from it on are hashed
	maxIndexChain = 8       // tables that one lookup follows through __index
	maxValues     = 200     // that a call gives, takes as "..." or returns
	maxOpen       = 250     // variables of running functions that closures hold
	cheapText     = 64      // bytes of a literal that the interpreter may compare or hash
)

// Limits on source text, beside those of interp: what the parser and compiler take time for that isn't
// proportional to its length.
const (
	maxConstants = 2000   // distinct names, texts and numbers of a function
	maxLabels    = 200    // and gotos, of a function
	maxFunctions = 2000   // of a file and its modules
	maxDepth     = 200    // of the syntax tree
	maxSpine     = 1000   // operators, calls or fields that follow one another, as in a + b + c
	maxItems     = 20_000 // of a table that is written out; the compiler counts to 25,550
	maxNameText  = 200    // bytes of a name
)
