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
	pathNames    = []string{"file_path", "filePath", "filepath", "path", "absolute_path", "absolutePath", "dir_path", "directory", "notebook_path", "notebookPath", "target_file",
		"target_notebook", "old_path", "new_path", "source_path", "destination_path", "source", "destination", "from_path", "to_path"}
	pathLists  = []string{"paths", "file_paths", "filePaths", "files", "edits", "changes"}
	patchNames = []string{"patch", "input", "diff", "command", "cmd", "script"}
)

// editors are tools whose command is a word of their own. Without a tool's name such a word beside a path
// is taken for one; with the name of a shell it never is.
var (
	editors     = []string{"developer__text_editor", "text_editor", "str_replace_editor", "str_replace_based_edit_tool", "str_replace_based_edit", "apply_patch", "ApplyPatch"}
	editorWords = []string{"view", "create", "str_replace", "insert", "undo_edit", "write"}
	shells      = map[string]string{"Bash": "sh", "bash": "sh", "shell": "sh", "local_shell": "sh", "exec_command": "sh", "powershell": "powershell", "PowerShell": "powershell",
		"pwsh": "powershell", "cmd": "cmd", "Shell": "system", "Execute": "system", "run_shell_command": "system", "developer__shell": "system"}
)

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
	if !known && len(out) == 1 && slices.Contains(editorWords, out[0].line) && in.Get("path").Kind() == payload.String {
		return nil
	}
	return out
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

// patchPaths are the files of a patch in its envelope, wherever in a text that stands.
func patchPaths(v payload.Value, add func(string)) {
	if v.Kind() != payload.String || !strings.Contains(v.Text(), "*** Begin Patch") {
		return
	}
	for line := range strings.Lines(v.Text()) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
				add(strings.TrimSpace(p))
			}
		}
	}
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

// toolLookups are the names that are looked up in an object at most.
const toolLookups = 32

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
	return charge(meter.Mul(r.text, 2), toolLookups+meter.Mul(r.items, 4), meter.Mul(r.text, 4)+meter.Mul(r.items, 16))
}

// patchLine is the shortest line of a patch that names a file.
const patchLine = int64(len("*** Move to: x\n"))

func pathsCharge(args []payload.Value) meter.Cost {
	var named, patches toolReach
	in := toolInput(args[0])
	each := func(v payload.Value) {
		for _, name := range pathNames {
			named.add(v.Get(name), 0)
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
	for _, name := range patchNames {
		patches.add(in.Get(name), 1)
	}
	text := named.text + patches.text
	return charge(meter.Mul(text, 4), toolLookups+named.items+patches.items+patches.text/patchLine+1, meter.Mul(text, 2))
}
