package charges

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	line     = `git status --short && go test ./... 2>&1 | tail -n 20`
	sentence = "W = 'some words in a line of 32 bytes\\n' * N"
)

var shared = []Row{
	{Names: "glob.match", Top: `G = "src/**/*.go"`, Do: "glob.match(G, 'src/internal/daemon/daemon.go')", High: highPattern},
	{Names: "glob.match", Note: "a long name", Top: aText + "\nG = '**/*.go'", Do: "glob.match(G, T)", Hi: 5, High: highPattern},
	{Names: "glob.match", Note: "many stars", Top: aText + "\nG = '*a' * 20 + 'b'", Do: "glob.match(G, T)", Hi: 4, High: highPattern},
	{Names: "glob.filter", Top: paths, Do: "glob.filter('**/*.go', L)", Hi: 4, High: highPattern},
	{Names: "json.decode", Note: "records", Data: records, Setup: "x = json.encode(data)", Do: "json.decode(x)", Hi: 5, High: highRead},
	{Names: "json.decode", Note: "numbers", Data: numbers, Setup: "x = json.encode(data)", Do: "json.decode(x)", Hi: 6, High: highRead},
	{Names: "json.decode", Note: "a long text", Top: `T = '"' + "a" * N + '"'`, Do: "json.decode(T)", Hi: 6, High: highRead},
	{Names: "json.decode", Note: "and all of it read", Data: records, Setup: "x = json.encode(data)", Do: "for y in json.decode(x):\n    a = y.name\n    for t in y.tags: b = t", Hi: 4},
	{Names: "json.decode", Note: "deep, and all of it read", Data: nested, Setup: "x = json.encode(data)", Do: "y = json.decode(x)\nfor _ in range(N):\n    if type(y) != 'dict': break\n    y = y['a']", Hi: 2},
	{Names: "json.decode", Note: "long and deep, and all of it read", Setup: "x = '[' * 60 + '\"' + 'a' * N + '\"' + ']' * 60", Do: "y = json.decode(x)\nfor _ in range(60): y = y[0]", Hi: 5},
	{Names: "json.encode", Note: "numbers", Top: aList, Do: "json.encode(L)", Hi: 5},
	{Names: "json.encode", Note: "texts", Top: names, Do: "json.encode(L)", Hi: 5},
	{Names: "json.encode", Note: "a dict", Top: "D = {'name-%d' % i: i for i in range(N)}", Do: "json.encode(D)", Hi: 5},
	{Names: "json.encode", Note: "a view", Data: records, Do: "json.encode(data)", Hi: 5},
	{Names: "json.encode", Note: "a long text", Top: aText, Do: "json.encode(T)", Hi: 6},

	{Names: "path.base", Top: "T = 'dir/' * N + 'a'", Do: "path.base(T)", Hi: 5},
	{Names: "path.clean", Top: "T = 'dir/' * N + 'a'", Do: "path.clean(T)", Hi: 5},
	{Names: "path.clean", Note: "dots", Top: "T = 'a/../' * N", Do: "path.clean(T)", Hi: 5},
	{Names: "path.dir", Top: "T = 'dir/' * N + 'a'", Do: "path.dir(T)", Hi: 5},
	{Names: "path.ext", Top: "T = 'a' * N", Do: "path.ext(T)", Hi: 6},
	{Names: "path.inside", Top: "T = '/dir' * N\nU = T + '/a'", Do: "path.inside(T, U)", Hi: 5},
	{Names: "path.join", Top: "L = ['dir'] * N", Do: "path.join(L)", Hi: 5},
	{Names: "path.fold", Note: "ASCII", Top: "T = 'Dir/' * N", Do: "path.fold(T)", Hi: 5},
	{Names: "path.fold", Note: "not ASCII", Top: "T = 'Ä/' * N", Do: "path.fold(T)", Hi: 5},
	{Names: "path.fold", Note: "one long element", Top: "T = 'Äé' * N", Do: "path.fold(T)", Hi: 5},
	{Names: "path.same", Note: "ASCII", Top: "T = 'Dir/' * N", Do: "path.same(T, T)", Hi: 5},
	{Names: "path.same", Note: "not ASCII", Top: "T = 'Ä/' * N", Do: "path.same(T, T)", Hi: 5},
	{Names: "path.decode", Top: "T = '%41' * N", Do: "path.decode(T)", Hi: 5},
	{Names: "path.decode", Note: "nothing", Top: aText, Do: "path.decode(T)", Hi: 6},
	{Names: "path.from_uri", Top: "T = 'file:///' + '%41' * N", Do: "path.from_uri(T)", Hi: 5},
	{Names: "path.home", Top: "T = '~/' + 'a' * N", Do: "path.home(T, '/home/x')", Hi: 6},
	{Names: "path.slashes", Top: "T = 'a\\\\' * N", Do: "path.slashes(T)", Hi: 6},

	{Names: "re.escape", Top: "T = 'a.' * N", Do: "re.escape(T)", Hi: 6},
	{Names: "re.match", Note: "a command", Do: `re.match("\\brm\\s+-[a-z]*r", "cd /tmp && rm -rf build")`, High: highPattern},
	{Names: "re.match", Note: "words, nowhere", Top: sentence, Do: `re.match("[0-9]{3}-[0-9]{4}", W)`, Hi: 4, High: highPattern},
	{Names: "re.match", Note: "a literal, nowhere", Top: sentence, Do: `re.match("nowhere", W)`, Hi: 4, High: highPattern},
	{Names: "re.match", Note: "tied to the start", Top: sentence, Do: `re.match("^some", W)`, Hi: 4, High: highPattern},
	{Names: "re.match", Note: "alive at each byte", Top: aText, Do: `re.match("[a-z]{40}9", T)`, Hi: 4, High: highPattern},
	{Names: "re.match", Note: "alternatives", Top: sentence, Do: `re.match("curl|wget|nc|ssh|scp|rsync", W)`, Hi: 4, High: highPattern},
	{Names: "re.match", Note: "ignoring case", Top: sentence, Do: `re.match("(?i)password|secret|token", W)`, Hi: 4, High: highPattern},
	{Names: "re.find", Note: "dots", Top: aText, Do: `re.find("(?:.*){20}z", T)`, Hi: 4, High: highPattern},
	{Names: "re.find", Note: "prefix", Top: sentence, Do: `re.find("AKIA[0-9A-Z]{16}", W)`, Hi: 4, High: highPattern},
	{Names: "re.find_all", Note: "words", Top: sentence, Do: `re.find_all("\\w+", W)`, Hi: 4, High: highPattern},
	{Names: "re.find_all", Note: "letters", Top: sentence, Do: `re.find_all("[a-z]", W)`, Hi: 4, High: highPattern},
	{Names: "re.find_all", Note: "windows", Top: sentence, Do: `re.find_all("so(me|m)[a-z ]{0,20}9", W)`, Hi: 4, High: highPattern},
	{Names: "re.groups", Note: "two", Top: "T = 'a' * N + '=b'", Do: `re.groups("^([a-z]+)=([a-z]+)$", T)`, Hi: 4, High: highPattern},
	{Names: "re.groups", Note: "many", Top: aText, Do: `re.groups("(a?)(a?)(a?)(a?)(a?)(a?)(a?)(a?)b", T)`, Hi: 4, High: highPattern},
	{Names: "re.replace", Note: "every letter", Top: sentence, Do: `re.replace("x*", W, "-")`, Hi: 4, High: highPattern},
	{Names: "re.replace", Note: "groups", Top: sentence, Do: `re.replace("(\\w)(\\w)", W, "$2$1")`, Hi: 4, High: highPattern},
	{Names: "re.split", Note: "at blanks", Top: sentence, Do: `re.split("\\s+", W)`, Hi: 4, High: highPattern},
	{Names: "re.split", Note: "at a literal", Top: sentence, Do: `re.split(" ", W)`, Hi: 4, High: highPattern},

	{Names: "shell.parse", Note: "a line", Do: "shell.parse('" + line + "')", High: highLine},
	{Names: "shell.parse", Note: "commands", Top: "T = 'git commit -m x; ' * N", Do: "shell.parse(T)", Hi: 4, High: highLine},
	{Names: "shell.parse", Note: "a document", Top: "T = \"cat <<'EOF' > a.go\\n\" + \"it's text, with words in it\\n\" * N + 'EOF'", Do: "shell.parse(T)", Hi: 3, High: highLine},
	{Names: "shell.allowed", Note: "a line", Do: "shell.allowed('" + line + "', ['git', 'go', 'tail'])", High: highLine},
	{Names: "shell.allowed", Note: "commands", Top: "T = 'ls -l x > y; ' * N", Do: "shell.allowed(T, ['ls'])", Hi: 4, High: highLine},
	{Names: "shell.refusal", Note: "commands", Top: "T = 'ls -l x > y; ' * N", Do: "shell.refusal(T, ['ls'])", Hi: 4, High: highLine},
	{Names: "shell.runs", Note: "shells", Top: "T = \"sh -c 'a|b'; \" * N", Do: "shell.runs(T, 'rm')", Hi: 3, High: highLine},
	{Names: "shell.writes", Note: "pipes", Top: "T = '$(a)|' * N + 'b'", Do: "shell.writes(T)", Hi: 4, High: highLine},

	{Names: "text.contains_any", Top: sentence, Do: "text.contains_any(W, ['nowhere', 'herex', 'zzz'])", Hi: 4},
	{Names: "text.contains_any", Note: "many words", Top: "W = 'some words in a line of text ' * 10\n" + names, Do: "text.contains_any(W, L)", Hi: 4},
	{Names: "text.count", Note: "everywhere", Top: aText, Do: "text.count(T, 'a')", Hi: 6},
	{Names: "text.count", Note: "two letters", Top: aText, Do: "text.count(T, 'aa')", Hi: 6},
	{Names: "text.cut", Top: "T = 'a' * N + '='", Do: "text.cut(T, '=')", Hi: 6},
	{Names: "text.fields", Top: words, Do: "text.fields(W)", Hi: 5},
	{Names: "text.fields", Note: "letters", Top: "W = 'a ' * N", Do: "text.fields(W)", Hi: 6},
	{Names: "text.lines", Top: sentence, Do: "text.lines(W)", Hi: 5},
	{Names: "text.lines", Note: "empty", Top: "T = '\\n' * N", Do: "text.lines(T)", Hi: 6},
	{Names: "text.truncate", Top: aText, Do: "text.truncate(T, N // 2)", Hi: 6},

	{Names: "tool.commands", Do: "tool.commands({'name': 'Bash', 'arguments': {'command': 'git status'}})"},
	{Names: "tool.commands", Note: "long", Top: "T = 'git status; ' * N\nC = {'name': 'Bash', 'arguments': {'command': T}}", Do: "tool.commands(C)", Hi: 4, High: highLine},
	{Names: "tool.commands", Note: "words", Top: "C = {'arguments': {'command': [\"it's\"] * N}}", Do: "tool.commands(C)", Hi: 4, High: highFields},
	{Names: "tool.commands", Note: "a word of quotes", Data: func(n int) string { return `{"command":["` + strings.Repeat("'", n) + `"]}` }, Do: "tool.commands(data)", Lo: 3, Hi: 5},
	{Names: "tool.commands", Note: "a program of capitals", Data: func(n int) string { return `{"command":["` + strings.Repeat("İ", n) + `"]}` }, Do: "tool.commands(data)", Lo: 3, Hi: 5},
	{Names: "tool.commands", Note: "calls in a call", Top: "C = {'arguments': {'tool_calls': [{'tool': 'bash', 'parameters': {'command': 'git status'}}] * N}}", Do: "tool.commands(C)", Hi: 4},
	{Names: "tool.commands", Note: "calls in a call, of nothing", Top: "C = {'arguments': {'tool_calls': [{'parameters': {}}] * N}}", Do: "tool.commands(C)", Lo: 1, Hi: 4},
	{Names: "tool.commands", Note: "calls in a call, that are none", Top: "C = {'arguments': {'tool_calls': [{}] * N}}", Do: "tool.commands(C)", Lo: 1, Hi: 4},
	{Names: "tool.commands", Note: "calls in a view", Data: nestedCalls, Do: "tool.commands(data)", Lo: 1, Hi: 4},
	{Names: "tool.paths", Do: "tool.paths({'arguments': {'file_path': 'a.go'}})"},
	{Names: "tool.paths", Note: "a list", Top: paths + "\nC = {'arguments': {'paths': L}}", Do: "tool.paths(C)", Hi: 4, High: highFields},
	{Names: "tool.paths", Note: "edits", Top: "C = {'arguments': {'edits': [{'file_path': 'a%d' % i, 'text': 'x'} for i in range(N)]}}", Do: "tool.paths(C)", Hi: 4},
	{Names: "tool.paths", Note: "calls in a call", Top: "C = {'arguments': {'tool_calls': [{'tool': 'read', 'parameters': {'filePath': 'a%d' % i}} for i in range(N)]}}", Do: "tool.paths(C)", Hi: 4},
	{Names: "tool.paths", Note: "calls in a call, of nothing", Top: "C = {'arguments': {'tool_calls': [{'parameters': {}}] * N}}", Do: "tool.paths(C)", Lo: 1, Hi: 4},
	{Names: "tool.paths", Note: "a diff", Top: "C = {'arguments': {'diff': ''.join(['--- %d\\n+++ z%d\\n' % (i, i) for i in range(N)])}}", Do: "tool.paths(C)", Hi: 4},
	{Names: "tool.paths", Note: "a map of changes", Top: "C = {'arguments': {'changes': {'a%d' % i: 1 for i in range(N)}}}", Do: "tool.paths(C)", Hi: 4},
	{Names: "tool.paths", Note: "a view of changes", Data: func(n int) string { return `{"changes":{` + each(n, ",", `"a#":1`) + `}}` }, Do: "tool.paths(data)", Lo: 1, Hi: 4},
	{Names: "tool.paths", Note: "a view of edits of many names", Data: manyNamed, Do: "tool.paths(data)", Lo: 1, Hi: 3},
	{Names: "tool.paths", Note: "a view of a diff", Data: func(n int) string { return `{"diff":"` + each(n, "", `--- #\n+++ z#\n`) + `"}` }, Do: "tool.paths(data)", Lo: 1, Hi: 4},
	{Names: "tool.paths", Note: "a view of a patch", Data: func(n int) string { return `{"patch":"*** Begin Patch` + each(n, "", `\n*** Move to: #`) + `"}` }, Do: "tool.paths(data)", Lo: 1, Hi: 4},
	{Names: "tool.paths", Note: "a patch", Top: "C = {'arguments': {'input': '*** Begin Patch\\n' + '*** Add File: a\\n+text\\n' * N}}", Do: "tool.paths(C)", Hi: 4, High: highPatch},
}

func nestedCalls(n int) string {
	return `{"arguments":{"tool_calls":[` + each(n, ",", `{"tool":"bash","parameters":{"command":"git status"}}`) + `]}}`
}

// manyNamed are edits that name 20 files each.
func manyNamed(n int) string {
	names := []string{"file_path", "filePath", "filepath", "path", "absolute_path", "absolutePath", "dir_path", "dirPath", "dirpath", "directory",
		"folder", "dir", "notebook_path", "notebookPath", "target_file", "target_notebook", "file", "filename", "old_path", "new_path"}
	for i, name := range names {
		names[i] = fmt.Sprintf(`"%s":"%c#"`, name, 'a'+i)
	}
	return `{"edits":[` + each(n, ",", "{"+strings.Join(names, ",")+"}") + `]}`
}

// each is so many copies of a text, with the number of each for #.
func each(n int, between, text string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(text, "#", strconv.Itoa(i))
	}
	return strings.Join(parts, between)
}
