package interp

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// What a value that becomes JSON is refused for in every language.
var (
	ErrTooLarge  = fmt.Errorf("the value is larger than %d bytes of JSON", hookpoints.MaxPayload)
	ErrTooNested = errors.New("the value nests too deeply")
)

// shortName is how many bytes of a member's name a place has.
const shortName = 64

// Growth is a JSON value while it is made of a script's: what it may still take, and where in it the
// conversion failed. Walking the script's value, and charging for it, is its language's.
type Growth struct {
	room  int    // bytes of JSON
	where string // of the error, from the inside out
}

// NewGrowth begins a value of at most hookpoints.MaxPayload bytes.
func NewGrowth() Growth { return Growth{room: hookpoints.MaxPayload} }

// Grow takes so many bytes of JSON.
func (g *Growth) Grow(bytes int) error {
	if g.room -= bytes; g.room < 0 {
		return ErrTooLarge
	}
	return nil
}

// Leaf takes a scalar.
func (g *Growth) Leaf(v payload.Value) (payload.Value, error) { return v, g.Grow(v.Size() + 1) }

// Shown takes the node that a view shows, which may nest so many levels.
func (g *Growth) Shown(v payload.Value, levels int) (payload.Value, error) {
	if v.Depth(levels) > levels {
		return v, ErrTooNested
	}
	return v, g.Grow(v.Size() + 1)
}

// Name takes the name of a member. One that is no text would be written as another one.
func (g *Growth) Name(name string) error {
	if !utf8.ValidString(name) {
		return errors.New("a key is not valid UTF-8")
	}
	return g.Grow(len(name) + 4)
}

// InMember notes that it is in the member of this name that it went wrong.
func (g *Growth) InMember(name string) {
	g.where = strconv.Quote(hookpoints.Cut(name, shortName)) + g.where
}

// InItem notes that it is in this item, as the language counts them, that it went wrong.
func (g *Growth) InItem(i int) { g.where = fmt.Sprintf("[%d]", i) + g.where }

// Located adds where in the value it went wrong, except where a budget ended it.
func (g *Growth) Located(err error) error {
	if err == nil || g.where == "" || errors.Is(err, meter.ErrSpent) {
		return err
	}
	return fmt.Errorf("at %s: %w", g.where, err)
}

// Whole replaces bytes that are no text, as writing them would, so that a value doesn't change when it
// is written and read again.
func Whole(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
