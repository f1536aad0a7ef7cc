package tool

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// glob compiles a shell pattern: * and ? within a name, ** across folders, [a-z] and [!a-z], and
// {one,other}. A pattern without a slash is matched with the last name of a path, any other with
// the whole.
func glob(pattern string) (func(path string) bool, error) {
	var out strings.Builder
	out.WriteString(`(?s)\A(?:`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(pattern[i:], "**/") && (i == 0 || pattern[i-1] == '/'):
				out.WriteString(`(?:[^/]+/)*`)
				i += 2
			case strings.HasPrefix(pattern[i:], "**"):
				out.WriteString(`.*`)
				i++
			default:
				out.WriteString(`[^/]*`)
			}
		case '?':
			out.WriteString(`[^/]`)
		case '[':
			class, n := globClass(pattern[i:])
			out.WriteString(class)
			i += n - 1
		case '{':
			depth++
			out.WriteString(`(?:`)
		case '}', ',':
			switch {
			case depth == 0:
				out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			case c == ',':
				out.WriteString(`|`)
			default:
				depth--
				out.WriteString(`)`)
			}
		case '\\':
			if i++; i == len(pattern) {
				return nil, fmt.Errorf("the glob %q ends in a backslash", pattern)
			}
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			out.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	out.WriteString(`)\z`)
	re, err := regexp.Compile(out.String())
	if err != nil || depth > 0 {
		return nil, fmt.Errorf("the glob %q isn't closed somewhere: check its brackets", pattern)
	}
	if strings.Contains(pattern, "/") {
		return re.MatchString, nil
	}
	return func(p string) bool { return re.MatchString(path.Base(p)) }, nil
}

// globClass translates a bracket at the beginning of pattern, and says how long it is. A bracket
// that is never closed stands for itself.
func globClass(pattern string) (string, int) {
	end := strings.IndexByte(pattern[1:], ']')
	if end == 0 || end == 1 && (pattern[1] == '!' || pattern[1] == '^') { // []a] holds a bracket
		more := strings.IndexByte(pattern[end+2:], ']')
		if more < 0 {
			end = -1
		} else {
			end += more + 1
		}
	}
	if end < 0 {
		return `\[`, 1
	}
	inside := pattern[1 : end+1]
	negated := ""
	if inside[0] == '!' || inside[0] == '^' {
		negated, inside = "^/", inside[1:]
	}
	inside = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(inside)
	return "[" + negated + inside + "]", end + 2
}
