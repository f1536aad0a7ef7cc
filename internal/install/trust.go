package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// trusts look at what a client remembers of the folders and hooks that its user trusts.
var trusts = map[string]func(q Request, l *Looked){
	"gemini": func(q Request, l *Looked) {
		q.folderTrust(l, "GEMINI_CLI_TRUST_WORKSPACE", "~/.gemini", "/etc/gemini-cli/settings.json", true)
	},
	"qwen": func(q Request, l *Looked) {
		q.folderTrust(l, "QWEN_CODE_TRUST_WORKSPACE", "~/.qwen", "/etc/qwen-code/settings.json", false)
	},
	"claude":   claudeTrust,
	"codex":    codexTrust,
	"copilot":  copilotTrust,
	"opencode": opencodeSwitches,
}

// opencodeSwitches: OpenCode can be told to load no plugin, or nothing of the project. What it is told on its command
// line (--pure) nobody knows beforehand.
func opencodeSwitches(q Request, l *Looked) {
	on := func(variable string) bool {
		value := strings.ToLower(q.Getenv(variable))
		return value != "" && value != "0" && value != "false"
	}
	if on("OPENCODE_PURE") {
		l.fail("unset OPENCODE_PURE", "OPENCODE_PURE is set, so OpenCode loads no plugin")
	}
	if !on("OPENCODE_DISABLE_PROJECT_CONFIG") {
		return
	}
	q.User = true
	if _, err := os.Stat(q.file()); err != nil {
		l.fail("unset OPENCODE_DISABLE_PROJECT_CONFIG, or agentd install opencode --user", "OPENCODE_DISABLE_PROJECT_CONFIG is set, so OpenCode doesn't load the project's plugin")
	}
}

// folderTrust: in a folder that isn't trusted no hook of the settings runs. On is what holds where the settings
// don't say whether folders have to be trusted.
func (q Request) folderTrust(l *Looked, variable, home, system string, on bool) {
	title := q.Client.Title
	if q.Places.Project == "" {
		return
	}
	if q.Getenv(variable) == "true" {
		l.ok("%s is set, so the folder is trusted", variable)
		return
	}
	for _, path := range []string{home + "/settings.json", system} { // the stronger one last
		if root := q.readable(path); root != nil {
			if n := root.get("security", "folderTrust", "enabled"); n != nil {
				on = root.word(n) != "false"
			}
		}
	}
	if !on {
		l.ok("%s trusts every folder: security.folderTrust is off", title)
		return
	}
	best, how := "", ""
	if root := q.readable(home + "/trustedFolders.json"); root != nil {
		for _, m := range root.children {
			if inside(q.Places.Project, trustedFrom(m)) && len(m.key) > len(best) {
				best, how = m.key, m.value.text
			}
		}
	}
	fix := "start it in the folder once and trust it, or set " + variable + "=true"
	switch how {
	case "TRUST_FOLDER", "TRUST_PARENT":
		l.ok("%s trusts the folder, for %s", title, best)
	case "DO_NOT_TRUST":
		l.fail(fix, "%s runs no hook here: %s isn't trusted", title, best)
	default:
		l.warn(fix, "%s doesn't know yet whether it may trust the folder; until then it runs no hook here", title)
	}
}

// claudeTrust: in a terminal Claude Code asks about a folder before it runs anything of it; claude -p doesn't.
func claudeTrust(q Request, l *Looked) {
	if value := strings.ToLower(q.Getenv("CLAUDE_CODE_SIMPLE")); value != "" && value != "0" && value != "false" && value != "no" && value != "off" {
		l.fail("unset CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SIMPLE is set, so Claude Code runs no hook")
	}
	if q.Places.Project == "" {
		return
	}
	path := "~/.claude.json"
	if q.Getenv("CLAUDE_CONFIG_DIR") != "" {
		path = "~/.claude/.claude.json"
	}
	if root := q.readable(path); root != nil {
		if n := root.get("projects", q.Places.Project, "hasTrustDialogAccepted"); n != nil && root.word(n) == "true" {
			l.ok("Claude Code trusts the folder")
			return
		}
	}
	l.warn("start claude in the folder once and trust it", "Claude Code hasn't been told that it may trust the folder; until then it runs its hooks with -p only")
}

// copilotTrust: Copilot CLI runs no hook of a folder that it doesn't trust, asks about it in a terminal only, and looks
// for a project's hooks at the top of the repository.
func copilotTrust(q Request, l *Looked) {
	q.User = false
	if q.Places.Project == "" {
		return
	}
	if _, err := os.Stat(q.file()); err != nil {
		return
	}
	for dir := q.Places.Project; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil && dir != q.Places.Project {
			l.fail("agentd install copilot --user", "Copilot CLI looks for a project's hooks at the top of the repository, %s, and doesn't read %s", dir, q.file())
			return
		} else if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, variable := range []string{"COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"} {
		if q.Getenv(variable) == "true" {
			l.ok("%s is set, so the folder's hooks run", variable)
			return
		}
	}
	if root := q.readable("~/.copilot/config.json"); root != nil {
		for _, list := range []string{"trustedFolders", "trusted_folders"} {
			for _, folder := range members(root.get(list)) {
				if inside(q.Places.Project, folder.value.text) {
					l.ok("Copilot CLI trusts the folder, for %s", folder.value.text)
					return
				}
			}
		}
	}
	l.warn("start copilot in the folder once and trust it, or agentd install copilot --user",
		"Copilot CLI hasn't been told that it may trust the folder; until then it runs none of its hooks, and with -p nobody is asked")
}

// codexTrust: Codex CLI runs only hooks that a person approved, and says nothing of the others.
func codexTrust(q Request, l *Looked) {
	var c struct {
		Features map[string]any `toml:"features"`
		Projects map[string]struct {
			Trust string `toml:"trust_level"`
		} `toml:"projects"`
		Hooks struct {
			State map[string]struct {
				Hash    string `toml:"trusted_hash"`
				Enabled *bool  `toml:"enabled"`
			} `toml:"state"`
		} `toml:"hooks"`
	}
	path := q.resolve("~/.codex/config.toml")
	if !q.toml(l, path, &c) {
		return
	}
	features := func(of map[string]any, path, whose string) {
		for _, name := range []string{"hooks", "codex_hooks"} {
			if of[name] == false {
				l.fail("remove "+name+" = false from [features] in "+path, "hooks are switched off in the %s settings", whose)
			}
		}
	}
	features(c.Features, path, "user")
	if q.Places.Project != "" {
		var own struct {
			Features map[string]any `toml:"features"`
		}
		if path := q.resolve("./.codex/config.toml"); q.toml(l, path, &own) {
			features(own.Features, path, "project")
		}
	}
	var r struct {
		Only bool `toml:"allow_managed_hooks_only"`
	}
	if q.toml(l, "/etc/codex/requirements.toml", &r) && r.Only {
		l.fail("ask who manages this machine to register the hook there, or to remove it", "allow_managed_hooks_only is set in /etc/codex/requirements.toml: no other hook runs")
	}
	if q.Places.Project != "" && c.Projects[q.Places.Project].Trust != "trusted" {
		l.warn("start codex in the folder once and trust it", "Codex CLI hasn't been told that it may trust the folder; until then it runs none of its hooks")
	}
	for _, user := range []bool{false, true} {
		if q.User = user; q.check() != nil {
			continue
		}
		approved, off, all := 0, 0, 0
		for _, key := range q.codexKeys() {
			all++
			if on := c.Hooks.State[key].Enabled; on != nil && !*on {
				off++
			}
			if c.Hooks.State[key].Hash != "" {
				approved++
			}
		}
		if off > 0 {
			l.fail("start codex and switch them on under /hooks", "Codex CLI skips %d of the %d handlers in %s without a word, as somebody switched them off", off, all, q.file())
		}
		switch {
		case all == 0, off > 0 && approved == all:
		case approved < all:
			l.fail("start codex and approve them under /hooks", "Codex CLI skips %d of the %d handlers in %s without a word, as nobody approved them", all-approved, all, q.file())
		default:
			l.ok("all %d handlers in %s were approved; a changed one has to be approved again", all, q.file())
		}
	}
}

// codexKeys are the names under which Codex CLI remembers our handlers in a file.
func (q Request) codexKeys() (keys []string) {
	r := reader{q: q}
	file := r.file(q.file())
	_, hooks, err := open(file.before)
	if r.err != nil || err != nil || hooks == nil {
		return nil
	}
	for _, m := range hooks.children {
		if m.value.kind != '[' {
			continue
		}
		found, err := q.Client.ours(file.before, &m.value)
		if err != nil {
			return nil
		}
		for _, p := range found {
			keys = append(keys, fmt.Sprintf("%s:%s:%d:%d", q.file(), snake(m.key), p.item, p.inner))
		}
	}
	return keys
}

// snake writes a name like PreToolUse as pre_tool_use.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// toml reads a file of settings, and reports whether that was possible. A missing one is empty.
func (q Request) toml(l *Looked, path string, into any) bool {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err == nil {
		err = toml.Unmarshal(text, into)
	}
	if err != nil {
		l.warn("correct the file", "%s can't be read, so whether hooks run isn't known: %v", path, err)
	}
	return err == nil
}

// trustedFrom is the folder that an entry of a list of trusted folders is about.
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
