package builtins

import (
	"path"
	"slices"
	"strings"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// The tool module reads what a call of a tool would do out of its arguments, whoever's tool it is: agents
// give their tools' arguments names of their own. docs/clients.md has a hook that guards all of them.
func toolModule() []*Func {
	call := []Param{{"call", payload.Object, false}}
	return []*Func{
		New("tool.commands", "Returns the shell commands that a call would run, each with its line, and the shell that reads it: sh, powershell, cmd, or system where that is the agent's choice.",
			call, commandsCharge, func(a []payload.Value) (payload.Value, error) {
				var out []payload.Value
				for _, c := range toolCommands(a[0]) {
					out = append(out, payload.NewObject(payload.Field{Name: "line", Value: payload.NewString(c.line)}, payload.Field{Name: "shell", Value: payload.NewString(c.shell)}))
				}
				return payload.NewArray(out), nil
			}),
		New("tool.paths", "Returns the paths that a call's arguments name to be read or written, those in its patches and lists of edits included, each once; what its shell commands do is for shell.writes.",
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

type toolCommand struct{ line, shell string }

func toolCommands(call payload.Value) (out []toolCommand) {
	name := call.Get("name").Text()
	in := toolInput(call)
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
	if line := in.Get(typed[name]); line.Kind() == payload.String && name != "" {
		out = append(out, toolCommand{strings.ReplaceAll(line.Text(), "{enter}", "\n"), shell})
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
	program := strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(words[0], `\`, "/"))), ".exe")
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

// quote writes a word so that a shell reads that word.
func quote(word string) string {
	plain := word != ""
	for i := range len(word) {
		c := word[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:@%+,", c) >= 0)
	}
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func toolPaths(call payload.Value) []string {
	in := toolInput(call)
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

// What is read of a call: the fields that have names of the lists, and what is in them.
type toolReach struct{ items, text int64 }

func (r *toolReach) add(v payload.Value, depth int) {
	r.items++
	r.text += int64(v.TextLen())
	if depth == 0 {
		return
	}
	for item := range v.Items() {
		r.add(item, depth-1)
	}
}

// What looking for all the names in a call's arguments, and for those of paths in an object, is charged as: a name
// that isn't there costs less than an item.
const (
	toolLookups = 32
	pathLookups = 20
)

// commandsCharge: a command's words are quoted, which makes them at most four times as long and two more.
func commandsCharge(args []payload.Value) meter.Cost {
	var r toolReach
	in := toolInput(args[0])
	for _, name := range commandNames {
		v := in.Get(name)
		r.add(v, 1)
		for item := range v.Items() {
			for _, name := range commandNames {
				r.add(item.Get(name), 1)
			}
		}
	}
	r.text += int64(args[0].Get("name").TextLen())
	for _, more := range []payload.Value{in.Get("args"), in.Get("input"), in.Get("chars"), in.Get("task").Get("command"), in.Get("task").Get("args")} {
		if more.Exists() {
			r.add(more, 1)
		}
	}
	return charge(meter.Mul(r.text, 2), toolLookups+meter.Mul(r.items, 4), meter.Mul(r.text, 4)+meter.Mul(r.items, 16))
}

// patchLine is the shortest line of a patch that names a file.
const patchLine = int64(len("*** Move to: x\n"))

func pathsCharge(args []payload.Value) meter.Cost {
	var named, patches toolReach
	in := toolInput(args[0])
	each := func(v payload.Value) {
		named.items += pathLookups
		for _, names := range [][]string{pathNames, addresses} {
			for _, name := range names {
				named.text += int64(v.Get(name).TextLen())
			}
		}
	}
	each(in)
	for _, list := range pathLists {
		v := in.Get(list)
		for item := range v.Items() {
			named.add(item, 0)
			each(item)
		}
		for name := range v.Members() {
			named.items++
			named.text += int64(len(name))
		}
	}
	patches.items += int64(len(patchNames)) - 1
	for _, name := range patchNames {
		if v := in.Get(name); v.Exists() {
			patches.add(v, 1)
			patches.items--
		}
	}
	text := named.text + patches.text
	return charge(meter.Mul(text, 4), toolLookups+named.items+patches.items+patches.text/patchLine+1, meter.Mul(text, 2))
}
