package builtins

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

func textModule() []*Func {
	return []*Func{
		New("text.contains_any", "Tells whether a text contains at least one of the words.",
			[]Param{textParam("text"), listParam("words")}, containsCharge, textContainsAny),
		New("text.count", "Counts how often a part occurs in a text, without overlaps.",
			[]Param{textParam("text"), textParam("part")}, countCharge, func(a []payload.Value) (payload.Value, error) {
				part := a[1].Text()
				if part == "" {
					return payload.Value{}, errors.New("part is empty")
				}
				return payload.NewInt(int64(strings.Count(a[0].Text(), part))), nil
			}),
		New("text.cut", "Cuts a text at the first separator and returns [before, after, found].",
			[]Param{textParam("text"), textParam("sep")}, cutCharge, textCut),
		New("text.fields", "Splits a text at runs of white space.",
			[]Param{textParam("text")}, fieldsCharge, func(a []payload.Value) (payload.Value, error) {
				return payload.NewStrings(strings.Fields(a[0].Text())), nil
			}),
		New("text.lines", "Splits a text into lines without their line ends; a line end at the very end starts no further line.",
			[]Param{textParam("text")}, linesCharge, textLines),
		New("text.truncate", "Cuts a text to at most so many bytes, at the edge of a character.",
			[]Param{textParam("text"), {"bytes", payload.Number, false}}, reads(0, 1), textTruncate),
	}
}

// containsCharge counts one search of the text a word.
func containsCharge(args []payload.Value) meter.Cost {
	items, text := sizes(args)
	c := charge(0, items, meter.Mul(text, 2))
	for word := range args[1].Items() {
		c = plus(c, meter.Search(args[0].TextLen(), word.TextLen()))
	}
	return c
}

// countCharge counts a search for each place where the part could be, but for parts of one byte.
func countCharge(args []payload.Value) meter.Cost {
	n, part := args[0].TextLen(), args[1].TextLen()
	c := plus(charge(0, 2, int64(n+part)), meter.Search(n, part))
	if part > 1 {
		c.Fuel += int64(n/part) / 2
	}
	return c
}

func textContainsAny(args []payload.Value) (payload.Value, error) {
	words, err := texts(args[1], "words")
	if err != nil {
		return payload.Value{}, err
	}
	text := args[0].Text()
	for i, w := range words {
		if w == "" {
			return payload.Value{}, fmt.Errorf("item %d of words is empty, and would be in any text", i)
		}
		if strings.Contains(text, w) {
			return payload.NewBool(true), nil
		}
	}
	return payload.NewBool(false), nil
}

func cutCharge(args []payload.Value) meter.Cost {
	_, text := sizes(args)
	return plus(charge(0, 4, meter.Mul(text, 2)), meter.Search(args[0].TextLen(), args[1].TextLen()))
}

func textCut(args []payload.Value) (payload.Value, error) {
	sep := args[1].Text()
	if sep == "" {
		return payload.Value{}, errors.New("sep is empty")
	}
	before, after, found := strings.Cut(args[0].Text(), sep)
	return payload.NewArray([]payload.Value{payload.NewString(before), payload.NewString(after), payload.NewBool(found)}), nil
}

// fieldsCharge counts the bytes that could begin white space; a field more is the most there can be.
func fieldsCharge(args []payload.Value) meter.Cost {
	text := args[0].Text()
	spaces := int64(0)
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= utf8.RuneSelf {
			spaces++
		}
	}
	n := int64(len(text))
	return charge(meter.Mul(n, 4), min(spaces+2, n/2+2), meter.Mul(n, 2))
}

func linesCharge(args []payload.Value) meter.Cost {
	text := args[0].Text()
	n := int64(len(text))
	return charge(meter.Mul(n, 2), int64(strings.Count(text, "\n"))+2, meter.Mul(n, 2))
}

func textLines(args []payload.Value) (payload.Value, error) {
	var out []payload.Value
	for line := range strings.Lines(args[0].Text()) {
		if end, ok := strings.CutSuffix(line, "\n"); ok {
			line = strings.TrimSuffix(end, "\r")
		}
		out = append(out, payload.NewString(line))
	}
	return payload.NewArray(out), nil
}

func textTruncate(args []payload.Value) (payload.Value, error) {
	size, ok := args[1].Int64()
	if !ok || size < 0 {
		return payload.Value{}, fmt.Errorf("bytes is %s, want an integer from 0 up", args[1])
	}
	text := args[0].Text()
	if int64(len(text)) <= size {
		return args[0], nil
	}
	end := int(size)
	for back := range min(end+1, utf8.UTFMax) { // a longer run of continuation bytes is no character
		if utf8.RuneStart(text[end-back]) {
			end -= back
			break
		}
	}
	return payload.NewString(text[:end]), nil
}
