package lua

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/interp/lua/pattern"
)

// Burn implements pattern.Fuel.
func (r *run) Burn(units int64) error { return r.charge(units, 0) }

// matcherBytes is what a matcher takes while it is at work.
const matcherBytes = 640

// subject reads what find, match and gsub begin with: a text and a pattern.
func subject(L *lua.LState, fn string) (text, pat string, err error) {
	if text, err = textOperand(L, 1, fn); err != nil {
		return "", "", err
	}
	pat, err = textOperand(L, 2, fn)
	return text, pat, err
}

func stringFind(r *run, L *lua.LState) (int, error)  { return r.look(L, "find", true) }
func stringMatch(r *run, L *lua.LState) (int, error) { return r.look(L, "match", false) }

// look is find and match.
func (r *run) look(L *lua.LState, fn string, places bool) (int, error) {
	text, pat, err := subject(L, fn)
	if err != nil {
		return 0, err
	}
	from, err := optInt(r, L, 3, fn, 1)
	if err != nil {
		return 0, err
	}
	if from < 0 {
		from = len(text) + from + 1
	}
	from = min(max(from, 1)-1, len(text))
	if places && (lua.LVAsBool(L.Get(4)) || pattern.Plain(pat)) {
		at, err := pattern.Index(r, text, pat, from)
		if err != nil || at < 0 {
			return pushNil(L), err
		}
		L.Push(lua.LNumber(at + 1))
		L.Push(lua.LNumber(at + len(pat)))
		return 2, nil
	}
	if err := r.charge(2, matcherBytes); err != nil {
		return 0, err
	}
	rest, anchored := pattern.Cut(pat)
	m := pattern.New(r, text, rest)
	start, end := from, 0
	if anchored {
		end, err = m.At(from)
	} else {
		start, end, err = m.Find(from)
	}
	if err != nil || end < 0 {
		return pushNil(L), err
	}
	if !places {
		return r.pushCaptures(L, m, start, end)
	}
	L.Push(lua.LNumber(start + 1))
	L.Push(lua.LNumber(end))
	if m.Captures() == 0 {
		return 2, nil
	}
	n, err := r.pushCaptures(L, m, start, end)
	return n + 2, err
}

func pushNil(L *lua.LState) int {
	L.Push(lua.LNil)
	return 1
}

// pushCaptures pushes what a match captured, or else the whole of it.
func (r *run) pushCaptures(L *lua.LState, m *pattern.Matcher, start, end int) (int, error) {
	n := max(m.Captures(), 1)
	if err := r.charge(int64(n), int64(n)*headerBytes); err != nil {
		return 0, err
	}
	for i := range n {
		v, err := capture(m, i, start, end)
		if err != nil {
			return 0, err
		}
		L.Push(v)
	}
	return n, nil
}

func capture(m *pattern.Matcher, i, start, end int) (lua.LValue, error) {
	text, at, position, err := m.Capture(i, start, end)
	if position {
		return lua.LNumber(at + 1), err
	}
	return lua.LString(text), err
}

// stringGmatch returns a function that finds one match after another. A "^" is no anchor for it.
func stringGmatch(r *run, L *lua.LState) (int, error) {
	text, pat, err := subject(L, "gmatch")
	if err != nil {
		return 0, err
	}
	from, loading := 0, r.loading != nil
	next, err := r.closure(steps(2), func(r *run, L *lua.LState) (int, error) {
		if err := r.outlived(loading); err != nil {
			return 0, err
		}
		if err := r.charge(2, matcherBytes); err != nil {
			return 0, err
		}
		m := pattern.New(r, text, pat)
		start, end, err := m.Find(from)
		if err != nil || start < 0 {
			return 0, err
		}
		if from = end; start == end {
			from++
		}
		return r.pushCaptures(L, m, start, end)
	})
	if err != nil {
		return 0, err
	}
	L.Push(next)
	return 1, nil
}

// stringGsub replaces matches by a text, by what a table has for the first capture, or by what a
// function makes of the captures.
func stringGsub(r *run, L *lua.LState) (int, error) {
	text, pat, err := subject(L, "gsub")
	if err != nil {
		return 0, err
	}
	replace, err := r.replacement(L)
	if err != nil {
		return 0, err
	}
	most, err := optInt(r, L, 4, "gsub", len(text)+1)
	if err != nil {
		return 0, err
	}
	if err := r.charge(2, matcherBytes); err != nil {
		return 0, err
	}
	rest, anchored := pattern.Cut(pat)
	m := pattern.New(r, text, rest)
	out := paid{r: r}
	count, at, copied := 0, 0, 0 // copied is how much of text is in out
	for count < most {
		end, err := m.At(at)
		if err != nil {
			return 0, err
		}
		if end >= 0 {
			count++
			if err := out.write(text[copied:at]); err != nil {
				return 0, err
			}
			if err := replace(&out, m, text, at, end); err != nil {
				return 0, err
			}
			copied = end
		}
		if end > at {
			at = end
		} else {
			at++ // the byte here is copied with what comes next
		}
		if at > len(text) || anchored {
			break
		}
	}
	if err := out.write(text[copied:]); err != nil {
		return 0, err
	}
	L.Push(lua.LString(out.String()))
	L.Push(lua.LNumber(count))
	return 2, nil
}

// paid is a text that grows, and pays for it.
type paid struct {
	strings.Builder
	r *run
}

func (p *paid) write(s string) error {
	if err := p.r.charge(1+int64(len(s))/scanPerFuel, 2*int64(len(s))); err != nil {
		return err
	}
	p.WriteString(s)
	return nil
}

// replacing writes what stands in the place of one match, from start to end of text.
type replacing func(out *paid, m *pattern.Matcher, text string, start, end int) error

// replacement reads the third operand of gsub.
func (r *run) replacement(L *lua.LState) (replacing, error) {
	switch v := L.Get(3).(type) {
	case lua.LString, lua.LNumber:
		s, err := textOperand(L, 3, "gsub")
		return func(out *paid, m *pattern.Matcher, text string, start, end int) error {
			return expand(out, s, m, text, start, end)
		}, err
	case *lua.LFunction:
		return func(out *paid, m *pattern.Matcher, text string, start, end int) error {
			if err := r.charge(callFuel, 0); err != nil {
				return err
			}
			L.Push(v)
			n, err := r.pushCaptures(L, m, start, end)
			if err != nil {
				return err
			}
			L.Call(n, 1)
			made := L.Get(-1)
			L.Pop(1)
			return writeReplacement(out, made, text[start:end])
		}, nil
	default:
		if typeName(v) != "table" {
			return nil, wrongType(L, 3, "gsub", "string/function/table")
		}
		return func(out *paid, m *pattern.Matcher, text string, start, end int) error {
			if err := r.charge(callFuel, headerBytes); err != nil {
				return err
			}
			key, err := capture(m, 0, start, end)
			if err != nil {
				return err
			}
			made, err := r.field(L, v, key)
			if err != nil {
				return err
			}
			return writeReplacement(out, made, text[start:end])
		}, nil
	}
}

// callFuel is for calling a function of the script, which pays for itself from then on.
const callFuel = 8

// writeReplacement writes what a table or function gave: nil and false keep what was there.
func writeReplacement(out *paid, v lua.LValue, was string) error {
	switch v := v.(type) {
	case lua.LString:
		return out.write(string(v))
	case lua.LNumber:
		return out.write(numberText(v))
	}
	if lua.LVIsFalse(v) {
		return out.write(was)
	}
	return fmt.Errorf("invalid replacement value (a %s)", kindName(v))
}

// expand writes a replacement text, in which %0 is the match, and %1 to %9 its captures.
func expand(out *paid, s string, m *pattern.Matcher, text string, start, end int) error {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return out.write(s)
		}
		if err := out.write(s[:i]); err != nil {
			return err
		}
		if i+1 == len(s) {
			return errors.New("invalid use of '%' in replacement string")
		}
		c := s[i+1]
		part := s[i+1 : i+2]
		switch {
		case c == '0':
			part = text[start:end]
		case '1' <= c && c <= '9':
			v, err := capture(m, int(c-'1'), start, end)
			if err != nil {
				return err
			}
			if n, ok := v.(lua.LNumber); ok {
				part = numberText(n)
			} else {
				part = string(v.(lua.LString))
			}
		}
		if err := out.write(part); err != nil {
			return err
		}
		s = s[i+2:]
	}
}

// field is v[key] with metamethods, of a table or a view.
func (r *run) field(L *lua.LState, v, key lua.LValue) (lua.LValue, error) {
	if err := r.payKey(key); err != nil {
		return nil, err
	}
	if u, ok := v.(*lua.LUserData); ok && viewLen(u) >= 0 {
		return r.member(u, key)
	}
	return L.GetTable(v, key), nil
}
