package secret

import (
	"fmt"
	"io"
	"strings"
)

// Session opens the handles of one session.
type Session struct {
	vault *Vault
	id    string
}

// In is the vault as a session may use it.
func (v *Vault) In(session string) *Session { return &Session{v, session} }

// Handle is a handle in a text, and what it stands for.
type Handle struct {
	Start, End int // bytes
	Value      string
}

// Format implements fmt.Formatter.
func (Handle) Format(s fmt.State, _ rune) { io.WriteString(s, "secret") }

// IsHandle reports whether a text has the form of a handle, open or not.
func IsHandle(text string) bool {
	return handles.FindString(text) == text && !strings.Contains(text, "#") && text != ""
}

// Handles finds the handles in a text, in order. One that the session can't open is an error that
// wraps ErrSealed.
func (s *Session) Handles(text string) ([]Handle, error) {
	if !strings.Contains(text, "secret:") {
		return nil, nil
	}
	s.vault.mu.RLock()
	defer s.vault.mu.RUnlock()
	var out []Handle
	for _, at := range handles.FindAllStringIndex(text, -1) {
		handle, part := text[at[0]:at[1]], ""
		if i := strings.IndexByte(handle, '#'); i >= 0 {
			handle, part = handle[:i], handle[i:]
		}
		h, ok := s.vault.held[handle]
		if !ok || h.session != s.id {
			return nil, fmt.Errorf("%s: %w: agentd was restarted since it was given, or it was given in another session; ask for it again", handle, ErrSealed)
		}
		value, end := h.parts[""], at[0]+len(handle)
		if text, ok := h.parts[part]; ok {
			value, end = text, at[1]
		}
		out = append(out, Handle{at[0], end, value})
	}
	return out, nil
}

// Mask is that of the vault.
func (s *Session) Mask(text string) string { return s.vault.Mask(text) }
