package tool

import (
	"bytes"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff shows a change as a unified diff over the file that it was computed from. ok is false where
// there is none to show: the file is another one by now, or one of the two isn't text.
func (s *Set) Diff(w Write) (text string, ok bool) {
	base, err := s.ws.base(w.Path)
	if err != nil || base.exists != (w.BaseHash != "") || base.exists && base.hash != w.BaseHash {
		return "", false
	}
	if !utf8.Valid(base.content) || !utf8.ValidString(w.Content) {
		return "", false
	}
	was, is := "a/"+w.Path, "b/"+w.Path
	switch w.Kind {
	case Create:
		was = "/dev/null"
	case Delete:
		is = "/dev/null"
	}
	out := diff.Diff(was, base.content, is, []byte(w.Content))
	_, out, _ = bytes.Cut(out, []byte("\n")) // its own headline
	return string(out), true
}
