// Package secret keeps what a person gave in confidence. A [Vault] holds values in memory and nowhere
// else; what everybody else gets is a handle. A session opens its own handles where a tool acts, and
// values are masked wherever they come back.
package secret

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agentd/hookpoints/payload"
)

const (
	// maxHeld bounds the secrets that a vault holds.
	maxHeld = 1000
	// minLine is the least length of a line that is masked by itself, in bytes.
	minLine = 8
)

var (
	// ErrSealed is wrapped by errors about a handle that can't be opened.
	ErrSealed = errors.New("it can't be opened")

	// handles are secret:NAME:RANDOM. Behind that a part can stand, see parts.
	handles = regexp.MustCompile(`secret:[A-Za-z][A-Za-z0-9_]{0,63}:[a-z2-7]{16}(?:#[a-z]+[0-9]*;)?`)
	random  = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// Vault holds secrets by their handles until it is dropped with its process. It is safe for
// concurrent use. However it is printed, it shows no value.
type Vault struct {
	from io.Reader

	mu     sync.RWMutex
	held   map[string]held
	order  []string          // handles, oldest first
	masker *strings.Replacer // of all values, nil while there are none
}

type held struct {
	session string
	parts   map[string]string // "" is the value; others see parts
}

// Format implements fmt.Formatter.
func (*Vault) Format(s fmt.State, _ rune) { io.WriteString(s, "vault") }

// Format implements fmt.Formatter.
func (held) Format(s fmt.State, _ rune) { io.WriteString(s, "secret") }

// New makes an empty vault. Handles are made of random bytes; nil means those of the system.
func New(from io.Reader) *Vault {
	if from == nil {
		from = rand.Reader
	}
	return &Vault{from: from, held: map[string]held{}}
}

// Put keeps a value for a session and returns its handle. Name is a word, see elicit.Field. When the
// vault is full the oldest secret is forgotten.
func (v *Vault) Put(session, name, value string) (handle string, err error) {
	if value == "" {
		return "", errors.New("an empty secret can't be kept")
	}
	var b [10]byte
	if _, err := io.ReadFull(v.from, b[:]); err != nil {
		return "", fmt.Errorf("make a handle: %w", err)
	}
	handle = "secret:" + name + ":" + random.EncodeToString(b[:])
	if handles.FindString(handle) != handle {
		return "", fmt.Errorf("a secret can't have the name %q", name)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.order) >= maxHeld {
		delete(v.held, v.order[0])
		v.order = slices.Delete(v.order, 0, 1)
	}
	v.held[handle] = held{session, parts(value)}
	v.order = append(v.order, handle)
	v.remask()
	return handle, nil
}

// Forget drops secrets.
func (v *Vault) Forget(handles ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, h := range handles {
		delete(v.held, h)
	}
	v.order = slices.DeleteFunc(v.order, func(h string) bool { return slices.Contains(handles, h) })
	v.remask()
}

// ForgetSession drops the secrets of a session.
func (v *Vault) ForgetSession(session string) {
	v.mu.RLock()
	var gone []string
	for handle, h := range v.held {
		if h.session == session {
			gone = append(gone, handle)
		}
	}
	v.mu.RUnlock()
	if gone != nil {
		v.Forget(gone...)
	}
}

// Opens reports whether a session can open a handle.
func (v *Vault) Opens(session, handle string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	h, ok := v.held[handle]
	return ok && h.session == session
}

// parts are the forms in which a value comes back: itself; as it stands in JSON, where that differs;
// and of several lines each long one.
func parts(value string) map[string]string {
	out := map[string]string{"": value}
	if quoted := inJSON(value); quoted != value {
		out["#json;"] = quoted
	}
	lines := strings.Split(value, "\n")
	if len(lines) == 1 {
		return out
	}
	for i, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			out[fmt.Sprintf("#line%d;", i+1)] = line
		}
	}
	return out
}

func inJSON(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// remask makes the masker anew: of two values that begin alike the longer one goes first, and handles
// stay what they are. The lock is held.
func (v *Vault) remask() {
	v.masker = nil
	if len(v.held) == 0 {
		return
	}
	type pair struct{ text, handle string }
	var pairs []pair
	for _, handle := range v.order {
		pairs = append(pairs, pair{handle, handle})
		for part, text := range v.held[handle].parts {
			pairs = append(pairs, pair{text, handle + part})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+"\x00"+a.handle, b.text+"\x00"+b.handle)
	})
	list := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		list = append(list, p.text, p.handle)
	}
	v.masker = strings.NewReplacer(list...)
}

// Mask puts handles in the place of values in a text, those of all sessions.
func (v *Vault) Mask(text string) string {
	v.mu.RLock()
	m := v.masker
	v.mu.RUnlock()
	if m == nil {
		return text
	}
	return m.Replace(text)
}

// MaskValue masks all texts of a value, the names of its members too. A number that holds a value
// becomes a text. What has nothing to mask comes back as it is.
func (v *Vault) MaskValue(in payload.Value) payload.Value {
	v.mu.RLock()
	m := v.masker
	v.mu.RUnlock()
	if m == nil || !in.Exists() {
		return in
	}
	return Map(in, m.Replace)
}
