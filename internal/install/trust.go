package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// trusts look at what a client remembers of the folders and hooks that its user trusts.
var trusts = map[string]func(q Request, l *Looked){"gemini": geminiTrust}

// geminiTrust: in a folder that isn't trusted no hook of the settings runs.
func geminiTrust(q Request, l *Looked) {
	if q.Places.Project == "" {
		return
	}
	if q.Getenv("GEMINI_CLI_TRUST_WORKSPACE") == "true" {
		l.ok("GEMINI_CLI_TRUST_WORKSPACE is set, so the folder is trusted")
		return
	}
	for _, path := range []string{"/etc/gemini-cli/settings.json", "~/.gemini/settings.json"} {
		if root := q.readable(path); root != nil {
			if on := root.get("security", "folderTrust", "enabled"); on != nil && root.word(on) == "false" {
				l.ok("Gemini CLI trusts every folder: security.folderTrust is off")
				return
			}
		}
	}
	const file = "~/.gemini/trustedFolders.json"
	fix := "start gemini in the folder once and trust it, or set GEMINI_CLI_TRUST_WORKSPACE=true"
	root := q.readable(file)
	best, how := "", ""
	if root != nil {
		for _, m := range root.children {
			if inside(q.Places.Project, trustedFrom(m)) && len(m.key) > len(best) {
				best, how = m.key, m.value.text
			}
		}
	}
	switch how {
	case "TRUST_FOLDER", "TRUST_PARENT":
		l.ok("Gemini CLI trusts the folder, for %s", best)
	case "DO_NOT_TRUST":
		l.fail(fix, "Gemini CLI runs no hook here: %s isn't trusted", best)
	default:
		l.warn(fix, "Gemini CLI doesn't know yet whether it may trust the folder; until then it runs no hook here")
	}
}

// trustedFrom is the folder that an entry of Gemini CLI's list is about.
func trustedFrom(m child) string {
	if m.value.text == "TRUST_PARENT" {
		return filepath.Dir(m.key)
	}
	return m.key
}

// inside reports whether a folder is another one or below it.
func inside(dir, top string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// settings is a file that could be read.
type settings struct {
	*node
	text []byte
}

func (s *settings) word(n *node) string { return string(s.text[n.start:n.end]) }

// readable reads a file of settings; nil if there is none that can be read.
func (q Request) readable(path string) *settings {
	text, err := os.ReadFile(q.resolve(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	root, err := parse(text)
	if err != nil || root.kind != '{' {
		return nil
	}
	return &settings{root, text}
}
