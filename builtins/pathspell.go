package builtins

import (
	"strings"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// spellings are the builtins that read a path out of a text as other programs do. Each does one
// reading, once: which of them a tool applies, only the tool's own hook can know. They return null
// where programs disagree, so null means "can't be told", never "harmless".
func spellings() []*Func {
	return []*Func{
		New("path.decode", "Returns a text with its %XX decoded once, or null if that gives no text or a zero byte.",
			[]Param{textParam("text")}, reads(1, 1), func(a []payload.Value) (payload.Value, error) {
				return orNull(decodePercent(a[0].Text())), nil
			}),
		New("path.from_uri", "Returns the absolute path that a file: address of this machine stands for, its %XX decoded and its dots kept, or null for any other text.",
			[]Param{textParam("text")}, reads(2, 1), func(a []payload.Value) (payload.Value, error) {
				return orNull(pathFromURI(a[0].Text())), nil
			}),
		New("path.home", "Returns a text with a leading ~ replaced by home, as a shell would, or null for somebody else's home (~name, ~+, ~-) or without one.",
			[]Param{textParam("text"), textParam("home")}, reads(0, 2), func(a []payload.Value) (payload.Value, error) {
				return orNull(expandHome(a[0].Text(), a[1].Text())), nil
			}),
		New("path.slashes", "Returns a text with its backslashes turned into slashes, as programs from Windows read it.",
			[]Param{textParam("text")}, slashesCharge, func(a []payload.Value) (payload.Value, error) {
				return payload.NewString(strings.ReplaceAll(a[0].Text(), `\`, "/")), nil
			}),
	}
}

// slashesCharge counts what will be replaced.
func slashesCharge(args []payload.Value) meter.Cost {
	c := reads(0, 2)(args)
	c.Fuel += int64(strings.Count(args[0].Text(), `\`))
	return c
}

func orNull(s string, ok bool) payload.Value {
	if !ok {
		return payload.NewNull()
	}
	return payload.NewString(s)
}

// decodePercent leaves a % without two digits as it is: programs either do so or refuse it.
func decodePercent(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, !strings.Contains(s, "\x00")
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '%' && i+2 < len(s) {
			high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	out := b.String()
	return out, utf8.ValidString(out) && !strings.Contains(out, "\x00")
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// pathFromURI reads RFC 8089. Browsers and their kin drop line ends and tabs, trim blanks, take a
// backslash for a slash and guess at what isn't absolute, others don't; some cut at ? and #, others
// look for a file of that name. None of these has one meaning.
func pathFromURI(uri string) (string, bool) {
	const scheme = "file:"
	if len(uri) < len(scheme) || strings.ToLower(uri[:len(scheme)]) != scheme {
		return "", false
	}
	rest := uri[len(scheme):]
	for i := range len(rest) {
		if c := rest[i]; c <= ' ' || c == 0x7F || c == '\\' || c == '?' || c == '#' {
			return "", false
		}
	}
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(host, '/')
		if slash < 0 || slash > 0 && strings.ToLower(host[:slash]) != "localhost" {
			return "", false
		}
		rest = host[slash:]
	}
	if !strings.HasPrefix(rest, "/") {
		return "", false
	}
	return decodePercent(rest)
}

func expandHome(text, home string) (string, bool) {
	if !strings.HasPrefix(text, "~") {
		return text, true
	}
	if home == "" || len(text) > 1 && text[1] != '/' {
		return "", false
	}
	if text == "~" {
		return home, true
	}
	return strings.TrimSuffix(home, "/") + text[1:], true
}
