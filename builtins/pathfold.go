package builtins

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// What folding may take and make: a character of two bytes decomposes into up to six, some of which
// fold into three of their own; an ASCII name goes through once.
const (
	foldPasses  = 320
	foldGrowth  = 10
	asciiPasses = 3
)

// foldCharge pays for the slow way only where a text isn't ASCII.
func foldCharge(args []payload.Value) meter.Cost {
	c := charge(0, 0, 0)
	for _, a := range args {
		n := int64(a.TextLen())
		passes, growth := int64(asciiPasses), int64(2)
		if !isASCII(a.Text()) {
			passes, growth = foldPasses, foldGrowth
		}
		c = plus(c, charge(meter.Mul(n, passes), 1, meter.Mul(n, growth)))
	}
	return c
}

// longFolds are the characters that fold into several and that canonical decomposition leaves alone.
var longFolds = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ŉ': "ʼn", 'ẚ': "aʾ", 'և': "եւ",
	'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
	'ﬓ': "մն", 'ﬔ': "մե", 'ﬕ': "մի", 'ﬖ': "վն", 'ﬗ': "մխ",
}

// foldPath folds a path element by element, so that no element can become a step of the path.
func foldPath(p string) string {
	if isASCII(p) {
		return strings.ToLower(p)
	}
	elements := strings.Split(p, "/")
	for i, e := range elements {
		elements[i] = foldName(e)
	}
	return strings.Join(elements, "/")
}

// foldName is Unicode's canonical caseless form without what a reader doesn't see: folding is done
// on the decomposed text, and the result is composed.
func foldName(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	apart := norm.NFD.String(name)
	seen := strings.Map(func(r rune) rune {
		if ignorable(r) {
			return -1
		}
		return r
	}, apart)
	if seen == "" || seen == "." || seen == ".." {
		seen = apart // a name that only looks like a step
	}
	var b strings.Builder
	for _, r := range seen {
		if long, ok := longFolds[r]; ok {
			b.WriteString(long)
			continue
		}
		b.WriteRune(foldRune(r))
	}
	return norm.NFC.String(b.String())
}

// foldRune returns one rune for all that differ in case only.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// ignorable is Unicode's Default_Ignorable_Code_Point, which HFS+ and folding ext4 leave out of
// comparisons.
func ignorable(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	case !unicode.Is(unicode.Cf, r):
		return false
	}
	return !unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
		(r < 0xFFF9 || r > 0xFFFB) && (r < 0x13430 || r > 0x13455)
}

func samePath(a, b string) bool {
	return a != "" && b != "" && foldPath(path.Clean(a)) == foldPath(path.Clean(b))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
