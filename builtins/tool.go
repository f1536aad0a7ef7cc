package builtins

import (
	"iter"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// The tool module reads what a call of a tool would do out of its arguments, whoever's tool it is: agents
// give their tools' arguments names of their own. docs/clients.md has a hook that guards all of them.
func toolModule() []*Func {
	call := []Param{{"call", payload.Object, false}}
	return []*Func{
		New("tool.commands", "Returns the shell commands that a call would run, those of calls in it included, each with its line, and the shell that reads it: sh, powershell, cmd, or system where that is the agent's choice.",
			call, commandsCharge, func(a []payload.Value) (payload.Value, error) {
				var out []payload.Value
				for _, c := range toolCommands(a[0].Get("name").Text(), toolInput(a[0])) {
					out = append(out, payload.NewObject(payload.Field{Name: "line", Value: payload.NewString(c.line)}, payload.Field{Name: "shell", Value: payload.NewString(c.shell)}))
				}
				return payload.NewArray(out), nil
			}),
		New("tool.paths", "Returns the paths that a call's arguments name to be read or written, those in its patches, lists of edits and calls in it included, each once; what its shell commands do is for shell.writes.",
			call, pathsCharge, func(a []payload.Value) (payload.Value, error) {
				return payload.NewStrings(toolPaths(a[0])), nil
			}),
	}
}

// The names that agents give to what is read here.
var (
	commandNames = []string{"command", "cmd", "command_line", "commandLine", "script", "commands"}
	pathNames    = []string{"file_path", "filePath", "filepath", "path", "absolute_path", "absolutePath", "dir_path", "dirPath", "dirpath", "directory", "directory_path", "target_directory",
		"folder", "dir", "notebook_path", "notebookPath", "target_file", "target_notebook", "file", "filename", "old_path", "new_path", "source_path", "destination_path", "source",
		"destination", "from_path", "to_path"}
	pathLists  = []string{"paths", "file_paths", "filePaths", "files", "edits", "changes", "include", "replacements"}
	patchNames = []string{"patch", "patchText", "input", "diff", "command", "cmd", "script"}
	addresses  = []string{"url", "uri"}
)

// editors are tools whose command is a word of their own. Without a tool's name such a word beside a path
// is taken for one; with the name of a shell it never is.
var (
	editors     = []string{"developer__text_editor", "text_editor", "str_replace_editor", "str_replace_based_edit_tool", "str_replace_based_edit", "apply_patch", "ApplyPatch"}
	editorWords = []string{"view", "create", "str_replace", "insert", "undo_edit", "write"}
	shells      = map[string]string{"Bash": "sh", "bash": "sh", "shell": "sh", "local_shell": "sh", "exec_command": "sh", "shell_command": "sh", "Monitor": "system", "monitor": "system",
		"powershell": "powershell", "PowerShell": "powershell", "pwsh": "powershell", "cmd": "cmd", "Shell": "system", "Execute": "system", "run_shell_command": "system",
		"developer__shell": "system", "run_in_terminal": "system", "send_to_terminal": "system", "write_bash": "sh", "write_powershell": "powershell", "write_stdin": "system"}
)

// typed is where tools that write into a shell that runs already have what they type.
var typed = map[string]string{"write_bash": "input", "write_powershell": "input", "write_stdin": "chars"}

// toolInput is a call's arguments: as a hook before a tool gets them, as one after it does, or themselves.
func toolInput(call payload.Value) payload.Value {
	for _, name := range []string{"arguments", "evidence_arguments"} {
		if in := call.Get(name); in.Kind() == payload.Object {
			return in
		}
	}
	return call
}

// inner are the calls that a call makes of other tools: a list of their names and arguments.
func inner(in payload.Value) iter.Seq2[string, payload.Value] {
	return func(yield func(string, payload.Value) bool) {
		for call := range in.Get("tool_calls").Items() {
			if args := call.Get("parameters"); args.Kind() == payload.Object && !yield(call.Get("tool").Text(), args) {
				return
			}
		}
	}
}

type toolCommand struct{ line, shell string }

func toolCommands(name string, in payload.Value) (out []toolCommand) {
	var all func(name string, in payload.Value)
	all = func(name string, in payload.Value) {
		out = append(out, ownCommands(name, in)...)
		for name, in := range inner(in) {
			all(name, in)
		}
	}
	all(name, in)
	return out
}

// ownCommands are those of a call less those of the calls in it.
func ownCommands(name string, in payload.Value) (out []toolCommand) {
	shell, known := shells[name]
	if !known {
		shell = "system"
		if slices.Contains(editors, name) {
			return nil
		}
	}
	for _, field := range commandNames {
		out = append(out, commandsIn(in.Get(field), field, shell)...)
	}
	if field, types := typed[name]; types {
		if line := in.Get(field); line.Kind() == payload.String {
			out = append(out, toolCommand{strings.ReplaceAll(line.Text(), "{enter}", "\n"), shell})
		}
	}
	if task := in.Get("task"); task.Kind() == payload.Object {
		out = append(out, withArgs(task, commandsIn(task.Get("command"), "command", shell))...)
	}
	out = withArgs(in, out)
	if !known && len(out) == 1 && slices.Contains(editorWords, out[0].line) && in.Get("path").Kind() == payload.String {
		return nil
	}
	return out
}

// withArgs adds the words that stand beside a command, where they do.
func withArgs(in payload.Value, commands []toolCommand) []toolCommand {
	args := in.Get("args")
	if args.Kind() != payload.Array || len(commands) == 0 || in.Get("command").Kind() != payload.String {
		return commands
	}
	var line strings.Builder
	line.WriteString(commands[0].line)
	for arg := range args.Items() {
		if arg.Kind() == payload.String || arg.Kind() == payload.Number {
			line.WriteByte(' ')
			line.WriteString(quote(arg.Text()))
		}
	}
	commands[0].line = line.String()
	return commands
}

// commandsIn reads a field: a line, the words of one command, or several lines.
func commandsIn(v payload.Value, field, shell string) (out []toolCommand) {
	switch {
	case v.Kind() == payload.String:
		return []toolCommand{{v.Text(), shell}}
	case v.Kind() != payload.Array:
		return nil
	case field != "commands":
		words := v.Strings()
		if len(words) == 0 || len(words) != v.Len() {
			return nil
		}
		return []toolCommand{fromWords(words)}
	}
	for item := range v.Items() {
		if item.Kind() == payload.String {
			out = append(out, toolCommand{item.Text(), shell})
			continue
		}
		for _, name := range commandNames[:len(commandNames)-1] {
			out = append(out, commandsIn(item.Get(name), name, shell)...)
		}
	}
	return out
}

// fromWords is a command that is given as its words. A shell of Windows reads a line, whose words nobody
// else should quote.
func fromWords(words []string) toolCommand {
	program := programName(words[0])
	switch program {
	case "powershell", "pwsh", "cmd":
		for i, w := range words[1:] {
			w = strings.ToLower(w)
			if program == "cmd" && (w == "/c" || w == "/k") || program != "cmd" && len(w) > 1 && strings.HasPrefix("-command", w) {
				words = words[i+2:]
				break
			}
		}
		if program == "pwsh" {
			program = "powershell"
		}
		return toolCommand{strings.Join(words, " "), program}
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return toolCommand{strings.Join(quoted, " "), "sh"}
}

// programName is the name of a program in lower case, less its folder and .exe; "" of one that is longer than any
// that matters.
func programName(word string) string {
	const longest = 32
	word = strings.TrimRight(word, `/\`)
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	if len(word) > longest {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// quote writes a word so that a shell reads that word. It takes little longer for one full of quotes.
func quote(word string) string {
	plain := word != ""
	for i := 0; i < len(word) && plain; i++ {
		c := word[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:@%+,", c) >= 0
	}
	if plain {
		return word
	}
	var b strings.Builder
	b.Grow(len(word) + 2 + 3*strings.Count(word, "'"))
	b.WriteByte('\'')
	from := 0
	for i := range len(word) {
		if word[i] == '\'' {
			b.WriteString(word[from:i])
			b.WriteString(`'\'`)
			from = i // the quote itself is what begins the next part
		}
	}
	b.WriteString(word[from:])
	b.WriteByte('\'')
	return b.String()
}

func toolPaths(call payload.Value) []string {
	out := []string{}
	seen := map[string]bool{}
	add := func(p string) {
		if p != "" && !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	named := func(v payload.Value) {
		for _, name := range pathNames {
			if p := v.Get(name); p.Kind() == payload.String {
				add(p.Text())
			}
		}
		for _, name := range addresses {
			if a := v.Get(name); a.Kind() == payload.String {
				add(fileOf(a.Text()))
			}
		}
	}
	var all func(in payload.Value)
	all = func(in payload.Value) {
		named(in)
		for _, list := range pathLists {
			v := in.Get(list)
			for item := range v.Items() {
				if item.Kind() == payload.String {
					add(item.Text())
				}
				named(item)
			}
			for name := range v.Members() { // of changes, by path
				add(name)
			}
		}
		for _, name := range patchNames {
			v := in.Get(name)
			patchPaths(v, add)
			for item := range v.Items() {
				patchPaths(item, add)
			}
		}
		for _, in := range inner(in) {
			all(in)
		}
	}
	all(toolInput(call))
	return out
}

// patchPaths are the files of a patch in its envelope, wherever in a text that stands, or of one as diff writes it.
func patchPaths(v payload.Value, add func(string)) {
	if v.Kind() != payload.String {
		return
	}
	text := v.Text()
	if strings.Contains(text, "*** Begin Patch") {
		for line := range strings.Lines(text) {
			for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
				if p, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
					add(strings.TrimSpace(p))
				}
			}
		}
	}
	if !strings.HasPrefix(text, "--- ") && !strings.Contains(text, "\n--- ") {
		return
	}
	old := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if p, ok := strings.CutPrefix(line, "--- "); ok {
			old = p
		} else if p, ok := strings.CutPrefix(line, "+++ "); ok && old != "" {
			add(diffPath(old, "a/"))
			add(diffPath(p, "b/"))
			old = ""
		} else {
			old = ""
		}
	}
}

// diffPath is the path in a head line of a diff: less what git puts before it, and the time after it.
func diffPath(p, side string) string {
	p, _, _ = strings.Cut(p, "\t")
	p = strings.TrimSpace(p)
	if p == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(p, side)
}

// fileOf is the path that a file's address stands for, the address itself where that has no one meaning, and "" for
// another's.
func fileOf(address string) string {
	if p, ok := pathFromURI(address); ok {
		return p
	}
	if rest := strings.TrimSpace(address); len(rest) >= 5 && strings.EqualFold(rest[:5], "file:") {
		return address
	}
	return ""
}
