package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Terms are under which a layer is built. They are part of what its id says, so that it is built under the
// same again.
type Terms struct {
	// Untrusted takes only hooks of the layer. They run where they can do nothing else, know nothing,
	// remember nothing, and can only add context.
	Untrusted bool
	// Withheld are powers that its configuration names and nobody has approved.
	Withheld []string
}

// Powers lists what a project's configuration would be allowed beyond deciding, a text each: what it wants
// done, what it wants to know, which keys it sends where, and that nobody is asked.
func (c Config) Powers() []string {
	out := []string{}
	for hook, effects := range c.Grants {
		for _, effect := range effects {
			out = append(out, power("grant %s: %s", hook, effect))
		}
	}
	for _, pattern := range c.Facts {
		out = append(out, power("fact %s", pattern))
	}
	for _, entry := range c.Webhooks {
		out = append(out, power("webhook %s", entry))
	}
	for name, a := range c.Agents {
		if a.Confirm == "allow" {
			out = append(out, power("agent %s: confirm allow", name))
		}
		if a.Model.APIKeyEnv != "" || a.Model.BaseURL != "" {
			out = append(out, power("agent %s: key %s to %s", name, orNone(a.Model.APIKeyEnv), orNone(a.Model.BaseURL)))
		}
	}
	slices.Sort(out)
	return out
}

// power is one power as a text of one line, in which nothing is hidden from who reads it on a terminal.
func power(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// without is a configuration that lacks some powers.
func (c Config) without(withheld []string) Config {
	if len(withheld) == 0 {
		return c
	}
	no := func(format string, args ...any) bool { return slices.Contains(withheld, power(format, args...)) }
	grants := map[string][]string{}
	for hook, effects := range c.Grants {
		for _, effect := range effects {
			if !no("grant %s: %s", hook, effect) {
				grants[hook] = append(grants[hook], effect)
			}
		}
	}
	c.Webhooks, c.WebhookLines = kept(c.Webhooks, c.WebhookLines, func(entry string) bool { return !no("webhook %s", entry) })
	agents := maps.Clone(c.Agents)
	for name, a := range agents {
		if no("agent %s: confirm allow", name) {
			a.Confirm = "ask"
		}
		if no("agent %s: key %s to %s", name, orNone(a.Model.APIKeyEnv), orNone(a.Model.BaseURL)) {
			a.Model.APIKeyEnv, a.Model.BaseURL = "", ""
		}
		agents[name] = a
	}
	c.Facts, c.FactLines = kept(c.Facts, c.FactLines, func(pattern string) bool { return !no("fact %s", pattern) })
	c.Grants, c.Agents = grants, agents
	return c
}

// kept are the entries that stay, with their lines.
func kept(entries []string, lines []int, stays func(string) bool) (out []string, at []int) {
	for i, entry := range entries {
		if stays(entry) {
			out, at = append(out, entry), append(at, lines[i])
		}
	}
	return out, at
}

// TermsOf reads the terms that a manifest says.
func TermsOf(manifest []byte) (Terms, error) {
	m, err := payload.Parse(manifest)
	if err != nil {
		return Terms{}, err
	}
	return Terms{Untrusted: m.Get("untrusted").IsTrue(), Withheld: m.Get("withheld").Strings()}, nil
}

// members is what a manifest says of the terms; of the usual ones nothing.
func (t Terms) members() (out []payload.Field) {
	if t.Untrusted {
		out = append(out, member("untrusted", payload.NewBool(true)))
	}
	if len(t.Withheld) > 0 {
		out = append(out, member("withheld", payload.NewStrings(slices.Sorted(slices.Values(t.Withheld)))))
	}
	return out
}

// keepOut takes from a binding what hooks that nobody trusts don't get.
func (t Terms) keepOut(b *hookpoints.Binding) {
	if t.Untrusted {
		b.Untrusted, b.FactKeys, b.Grants = true, nil, nil
	}
}

// TreeHash is one hash over all files of a layer, every byte of them.
func TreeHash(files []File) string {
	h := sha256.New()
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	}) {
		sum := sha256.Sum256(f.Text)
		fmt.Fprintf(h, "%s %d %s\n", hex.EncodeToString(sum[:]), len(f.Path), f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}
