package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// alternatives are the words that the braces of a word make of it.
func (w *walker) alternatives(word *syntax.Word) [][]syntax.WordPart {
	split := &syntax.Word{Parts: word.Parts}
	if !syntax.SplitBraces(split) {
		return [][]syntax.WordPart{word.Parts}
	}
	out, ok := w.multiply([][]syntax.WordPart{nil}, split.Parts)
	if !ok {
		w.unknown("braces make too many words")
		return [][]syntax.WordPart{{&syntax.BraceExp{Sequence: true}}}
	}
	for i := range out {
		out[i] = glue(out[i])
	}
	return out
}

// glue makes one literal of those that braces have torn apart: what they spell together counts.
func glue(parts []syntax.WordPart) []syntax.WordPart {
	var out []syntax.WordPart
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if ok && len(out) > 0 {
			if before, ok := out[len(out)-1].(*syntax.Lit); ok {
				out[len(out)-1] = &syntax.Lit{Value: before.Value + lit.Value}
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// braced tells whether a word may have braces to expand.
func (w *walker) braced(word *syntax.Word) bool {
	if w.dialect == Dash {
		return false
	}
	for _, p := range word.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			return true
		}
	}
	return false
}

// multiply continues each of the words in each of the ways that parts can be read.
func (w *walker) multiply(words [][]syntax.WordPart, parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	for _, part := range parts {
		br, ok := part.(*syntax.BraceExp)
		if !ok || br.Sequence {
			for i := range words {
				if !w.spend(1) {
					return nil, false
				}
				words[i] = append(words[i][:len(words[i]):len(words[i])], part)
			}
			continue
		}
		var all [][]syntax.WordPart
		for _, elem := range br.Elems {
			tails, ok := w.multiply([][]syntax.WordPart{nil}, elem.Parts)
			if !ok || len(all)+len(words)*len(tails) > maxBraces {
				return nil, false
			}
			all = append(all, tails...)
		}
		var next [][]syntax.WordPart
		for _, head := range words {
			for _, tail := range all {
				if !w.spend(1 + len(head) + len(tail)) {
					return nil, false
				}
				next = append(next, append(head[:len(head):len(head)], tail...))
			}
		}
		if len(next) > maxBraces {
			return nil, false
		}
		words = next
	}
	return words, true
}
