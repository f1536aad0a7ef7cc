package builtins

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func TestPatternsBeyondALimitAreRefused(t *testing.T) {
	long := strings.Repeat
	for _, c := range []struct{ call, pattern, text, want string }{
		{"re.match", long("a", 4097), "", "the pattern has 4097 bytes, want at most 4096"},
		{"re.match", long("(", 101) + long(")", 101), "", "has 101 groups, want at most 100"},
		{"re.match", "[" + long(`\pL`, 17) + "]", "", "too many large character classes"},
		{"re.match", "(?i)[" + long(`A-\x{1e900}`, 5) + "]", "", "too many large character classes"},
		{"re.match", "(?s-i:a)(?mi:[" + long("A-𞤀", 5) + "])", "", "too many large character classes"},
		{"re.match", long("x{1000}", 5), "", "needs more than 4096 steps"},
		{"re.match", "((x{100}){10}y{5}){10}", "", "invalid repeat count"},
		{"re.match", "(?:(?:" + long("ab", 40) + "){9}){9}", "", "needs more than 4096 steps"},
		{"re.find_all", "a*b|a", long("a", 400), "reads far past its matches again and again"},
		{"re.replace", "(?:x.*)?y|x", long("x", 400), "reads far past its matches again and again"},
		{"re.split", `"[^"]*"$|"`, long(`"`, 400), "reads far past its matches again and again"},
		{"glob.match", long("a", 4097), "", "the glob has 4097 bytes, want at most 4096"},
		{"glob.match", long("a", 4096), "", "needs more than 4096 steps"},
	} {
		f := find(t, c.call)
		args := make([]payload.Value, len(f.Params))
		args[0], args[1] = payload.NewString(c.pattern), payload.NewString(c.text)
		if c.call == "re.replace" {
			args[2] = payload.NewString("")
		}
		_, err := f.Call(roomy(), args)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: error is %v, want %q in it", c.call, c.pattern, err, c.want)
		} else if len(err.Error()) > 200 {
			t.Errorf("%s %.40q: the error has %d bytes", c.call, c.pattern, len(err.Error()))
		}
	}
}

// expressions draws patterns with all kinds of operators; most are valid.
func expressions() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{
		"a", "b", "ab", "é", "x", "/", ".", `\b`, `\B`, "^", "$", "(?m)^", "(?m:$)", `\w`, `\s`, `\d`, "[a-c]", "[^a]", `\pL`, "(?i)A", "(?i:b)",
		"(a)", "(?P<n>b)", "()", "(?:)", "a*", "b+", "a?", "a*?", "b{2}", "a{1,3}", "(?:ab){2,}", "(?:a|b)*", "(a|b)", "(?:a*)*", "x|", "|a", "a|ab", "(?s:.)", ".*", ".*?b",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(atom, 0, 5).Draw(t, "atoms"), "")
	})
}

// subjects draws short texts over the letters of expressions, bytes that are no UTF-8 included.
func subjects() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "é", "x", "A", "B", " ", "\n", "/", "\xff", "1", "aab"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	})
}

func TestSearchFindsWhatGoFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr, text := expressions().Draw(t, "pattern"), subjects().Draw(t, "text")
		p, err := compilePattern(expr)
		if err != nil {
			t.Skip(err)
		}
		most := rapid.SampledFrom([]int{unlimited, 1, 2, 3}).Draw(t, "most")
		got, err := p.search(text, most)
		if err != nil {
			t.Skip(err)
		}
		want := regexp.MustCompile(expr).FindAllStringSubmatchIndex(text, most)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("search for %q in %q (-want +got):\n%s", expr, text, diff)
		}
		if most == unlimited {
			if r := p.reach(text); !p.whole && int64(len(got)) > r.matches {
				t.Fatalf("%d matches of %q in %q, bound %d", len(got), expr, text, r.matches)
			}
		}
	})
}

func TestReplaceAndSplitAreThoseOfGo(t *testing.T) {
	replace, split := find(t, "re.replace"), find(t, "re.split")
	rapid.Check(t, func(t *rapid.T) {
		expr, text := expressions().Draw(t, "pattern"), subjects().Draw(t, "text")
		with := rapid.SampledFrom([]string{"", "-", "$0$0", "<$1>", "${n}x", "$$", "$9"}).Draw(t, "with")
		re, err := regexp.Compile(expr)
		if err != nil {
			t.Skip(err)
		}
		s := payload.NewString
		got, err := replace.Call(roomy(), []payload.Value{s(expr), s(text), s(with)})
		if err != nil {
			t.Skip(err)
		}
		if want := re.ReplaceAllString(text, with); got.Text() != want {
			t.Fatalf("replace %q in %q with %q: got %q, want %q", expr, text, with, got.Text(), want)
		}
		got, err = split.Call(roomy(), []payload.Value{s(expr), s(text), {}})
		if err != nil {
			t.Fatal(err)
		}
		want := re.Split(text, -1)
		if len(want) == 0 { // Go splits an empty text at the empty pattern into nothing
			want = []string{""}
		}
		if diff := cmp.Diff(want, got.Strings()); diff != "" {
			t.Fatalf("split %q at %q (-want +got):\n%s", text, expr, diff)
		}
	})
}

func TestProgramSizeIsABoundOfTheProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := expressions().Draw(t, "pattern")
		if rapid.Bool().Draw(t, "nested") {
			expr = "(?:" + expr + "){" + rapid.SampledFrom([]string{"0", "0,", "2", "2,", "0,7", "3,9", "1,1"}).Draw(t, "times") + "}"
		}
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Skip(err)
		}
		bound := programSize(tree) + 2
		low, high := shortest(tree), longest(tree)
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Skip(err)
		}
		if len(prog.Inst) > bound {
			t.Fatalf("%q has %d instructions, bound %d", expr, len(prog.Inst), bound)
		}
		text := subjects().Draw(t, "text")
		if loc := regexp.MustCompile(expr).FindStringIndex(text); loc != nil {
			if n := loc[1] - loc[0]; n < low || high >= 0 && n > high {
				t.Fatalf("%q matches %d bytes of %q, bounds %d and %d", expr, n, text, low, high)
			}
		}
	})
}

func TestPatternCacheIsBoundedAndChangesNoCharge(t *testing.T) {
	compiled := 0
	c := newPatterns(func(text string) (*pattern, error) {
		compiled++
		return compilePattern(text)
	})
	for i := range 2000 {
		expr := strings.Repeat("x", i%200) + "y{50}"
		first, err := c.get(expr)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := c.get(expr); again != first {
			t.Fatalf("%q was compiled twice in a row", expr)
		}
	}
	held := int64(0)
	for _, generation := range []map[string]*pattern{c.young, c.old} {
		for _, p := range generation {
			held += p.insts
		}
	}
	if held > maxCached {
		t.Errorf("the cache holds %d instructions, want at most %d", held, maxCached)
	}
	if compiled >= 4000 || compiled < 200 {
		t.Errorf("%d compilations for 2000 rounds over 200 patterns", compiled)
	}

	match := find(t, "re.match")
	args := []payload.Value{payload.NewString("only[here]+"), payload.NewString("text")}
	if a, b := match.cost(args), match.cost(args); a != b {
		t.Errorf("charge is %+v, then %+v from the cache", a, b)
	}
}
