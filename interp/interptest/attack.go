package interptest

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/interp"
)

// AttackLimits are those that attacks run under.
var AttackLimits = meter.Limits{Fuel: 100_000, Bytes: 16 << 20}

// How an attack says that it ends. One that is made at random ends as it likes.
const (
	EndsFine   = "fine"
	EndsBudget = "budget"
	EndsError  = "error"
	EndsAnyhow = "any"
)

// Attack is a chunk that tries to take more than it is charged for, or what isn't its own. A comment in
// it says how it ends: "ends: fine", "ends: budget" or, with a pattern of the message, `ends: error "..."`.
type Attack struct {
	Chunk
	Ends    string         // one of the words above
	Pattern *regexp.Regexp // of the error's message
}

var (
	ending = regexp.MustCompile(`(?m)^(?:--|#) ends: (fine|budget|error (".*"))$`)
	// repeated is written @{1000 "text"} in an attack and stands for so many copies of the text, each
	// with its number for every # in it.
	repeated = regexp.MustCompile(`@\{(\d+) ("(?:[^"\\]|\\.)*")\}`)
	// moduleStart begins the text of a module that the attack brings along.
	moduleStart = regexp.MustCompile(`(?m)^=== (\S+)\n`)
)

// ReadAttacks reads the attacks of a file.
func ReadAttacks(tb testing.TB, files fs.FS, name string) []Attack {
	tb.Helper()
	var out []Attack
	for _, c := range ReadChunks(tb, files, name) {
		m := ending.FindStringSubmatch(c.Text)
		if m == nil {
			tb.Fatalf("%s: it doesn't say how it ends", c.Place())
		}
		a := Attack{Chunk: c, Ends: m[1]}
		if m[2] != "" {
			pattern, err := strconv.Unquote(m[2])
			if err != nil {
				tb.Fatalf("%s: %v", c.Place(), err)
			}
			a.Ends, a.Pattern = EndsError, regexp.MustCompile(pattern)
		}
		out = append(out, a)
	}
	return out
}

// FullName names the attack beside those of other files.
func (a Attack) FullName() string {
	file, _, _ := strings.Cut(a.File, ".")
	return file + "/" + a.Name()
}

// Files expands what the attack repeats, and takes its text and the modules that it brings along apart.
// Read is how many bytes they have.
func (a Attack) Files() (main string, modules interp.Module, read int64) {
	text := repeated.ReplaceAllStringFunc(a.Text, func(found string) string {
		m := repeated.FindStringSubmatch(found)
		times, _ := strconv.Atoi(m[1])
		part, err := strconv.Unquote(m[2])
		if err != nil {
			panic(err)
		}
		var b strings.Builder
		for i := range times {
			b.WriteString(strings.ReplaceAll(part, "#", strconv.Itoa(i)))
		}
		return b.String()
	})
	starts := moduleStart.FindAllStringSubmatchIndex(text, -1)
	texts := map[string]string{}
	main = text
	for i, s := range starts {
		end := len(text)
		if i == 0 {
			main = text[:s[0]]
		}
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		texts[text[s[2]:s[3]]] = text[s[1]:end]
	}
	return main, Modules(texts), int64(len(text))
}
