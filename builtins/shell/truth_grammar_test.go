//go:build linux && (amd64 || arm64)

package shell_test

import (
	"math/rand/v2"
	"strings"
)

// choices turns bytes into decisions, so that a seed, a fuzzer and a minimizer can all drive the
// grammar. When they are used up, every decision is the first one, which is the simplest.
type choices struct{ left []byte }

// n chooses from k.
func (c *choices) n(k int) int {
	if len(c.left) == 0 || k < 2 {
		return 0
	}
	v := int(c.left[0])
	c.left = c.left[1:]
	return v * k >> 8
}

func (c *choices) of(list ...string) string { return list[c.n(len(list))] }

// odds is true once in k times, and never when there is nothing left.
func (c *choices) odds(k int) bool { return c.n(k) == k-1 && k > 1 }

// grammar makes command lines. It knows no rules of what makes sense, but which shapes have meaning
// to a shell: most of its lines run something, many of them by a detour.
type grammar struct {
	choices
	depth int
	calm  bool // only with what a reader of the text can be expected to know
}

// among chooses from k cases, or from the calm ones.
func (g *grammar) among(k int, calm ...int) int {
	if g.calm {
		return calm[g.n(len(calm))]
	}
	return g.n(k)
}

// grownLine is the line that bytes stand for.
func grownLine(data []byte) string {
	g := &grammar{choices: choices{data}, depth: 3}
	g.calm = g.n(2) == 0
	line := g.list()
	for line != "" && (!g.calm && g.odds(6) || g.odds(20)) {
		line = g.damaged(line)
	}
	return line
}

// mutantLine is one of some lines with a few changes, or a part of two.
func mutantLine(data []byte, lines []string) string {
	g := &grammar{choices: choices{data}, depth: 1}
	pick := func() string { return lines[(g.n(256)<<8|g.n(256))*len(lines)>>16] }
	line := pick()
	switch g.n(8) {
	case 1:
		line += g.of("; ", "\n", " && ", " | ", " & ", " || ") + pick()
	case 2:
		at := g.n(256) * len(line) / 256
		line = line[:at] + pick() + line[at:]
	case 3:
		line = g.of("sh -c ", "eval ", "bash -c ", "trap ") + quote(line) + g.of("", " EXIT", " x y")
	case 4:
		line = g.of("$(", "(", "{ ", "f() { ", "if true; then ", "for x in a b; do ", "cat <(", "x=$(", "\"$(") + line + g.of("\n)", "\n}", "\n}; f", "\nfi", "\ndone", "\n)\"")
	case 5:
		line = g.of("x=rm; ", "set -- rm a; ", "alias ls=rm\n", "cd src; ", "f() { rm f; }; ", "IFS=,; ", "set -f; ", "shopt -s extglob expand_aliases\n", "set -o posix\n", "set -e; ") + line
	}
	for line != "" && g.n(4) > 0 {
		line = g.damaged(line)
	}
	return line
}

// seeded are the bytes of a numbered line.
func seeded(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 6+r.IntN(6+r.IntN(150))) // most are short: long ones do a bit of everything, and nobody can tell what
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// deeper makes something inside of something else, or the simple thing where that is deep enough.
func (g *grammar) deeper(simple string, f func() string) string {
	if g.depth == 0 {
		return simple
	}
	g.depth--
	defer func() { g.depth++ }()
	return f()
}

// damaged changes one place of a line: most of a shell's traps are in what is almost something.
func (g *grammar) damaged(line string) string {
	at := g.n(256) * len(line) / 256
	mark := g.of("'", `"`, "`", `\`, "$", "(", ")", "{", "}", "[", "]", ";", "&", "|", "<", ">", "#", "\n", "!", "*", "~", "=", " ", "\t", "\r", "\\\n", "\u00a0", "))", "((", "$(", "${", "<<", "<<<", ";;", "\x01")
	switch g.n(3) {
	case 0:
		return line[:at] + mark + line[at:]
	case 1:
		return line[:at] + line[min(at+1, len(line)):]
	}
	return line[:at] + mark + line[min(at+1, len(line)):]
}

func (g *grammar) list() string {
	var b strings.Builder
	b.WriteString(g.item())
	for range g.n(4) {
		b.WriteString(g.of("; ", "\n", " && ", " || ", " | ", " & ", " |& ", " ;\n", " &&\n", " |\n", "\n\n# note\n", " # it's a note\n") + g.item())
	}
	b.WriteString(g.of("", "", "", "", "", " &", ";", "\n", " # rm", "\\\n"))
	return b.String()
}

func (g *grammar) item() string {
	if g.odds(3) {
		return g.deeper(g.simple(), g.compound)
	}
	return g.simple()
}

func (g *grammar) compound() string {
	body := g.list()
	block := strings.TrimRight(body, " ;&\n\\") + "\n"
	switch g.among(26, 0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 13, 14, 15, 17, 21, 22) {
	case 0:
		return "(" + body + "\n)"
	case 1:
		return "{ " + block + "}"
	case 2:
		return "if " + g.item() + "; then " + block + "fi"
	case 3:
		return "if " + g.item() + "\nthen :\nelse " + block + "fi"
	case 4:
		return "for " + g.name() + " in " + g.words(3) + "; do " + block + "done"
	case 5:
		return "while read " + g.name() + "; do " + block + "done" + g.of(" < list.txt", " <<< "+g.word(), " <<E\nbuild\nE\n")
	case 6:
		return "until " + block + "do :; done"
	case 7:
		return "case " + g.word() + " in " + g.of("*", "a|b", "$x", "\"$y\"", "(r*", "?m") + ") " + block + ";; *) " + g.simple() + g.of("", ";;", ";&", ";;&") + " esac"
	case 8:
		return g.name() + "() { " + block + "}; " + g.name() + " " + g.words(2)
	case 9:
		return "f() { " + block + "}\nf " + g.words(2)
	case 10:
		return "function f { " + block + "}; f " + g.words(1)
	case 11:
		return g.of("rm", "ls", "cd", "echo", "command", "eval", "test") + "() { " + block + "}; " + g.simple()
	case 12:
		return "eval " + quote(body)
	case 13:
		return g.of("sh", "bash", "dash", "bash -e", "sh -x", "bash --norc", "bash -l", "env sh", "exec sh", "command sh") + " -c " + quote(body) + " " + g.words(2)
	case 14:
		return g.of("sh", "bash", "sh -s a", "bash -") + " <<" + g.of("E", "'E'", `\E`, "-E", `"E"`, "-'E'") + "\n" + body + "\nE\n"
	case 15:
		return "printf '%s\\n' " + quote(body) + " | " + g.of("sh", "bash", "xargs -0 sh -c", "cat | sh", "tee /dev/null | bash", "env sh", "bash -s")
	case 16:
		return "trap " + quote(body) + " " + g.of("EXIT", "0", "ERR", "DEBUG", "RETURN", "INT") + "; " + g.simple()
	case 17:
		return "cat <<" + g.of("E", "'E'", "-E") + " " + g.of("", "| sh", "> new.sh; sh new.sh", "> new.txt") + "\n" + body + "\n" + g.of("E", "\tE", " E", "E ", "") + "\n"
	case 18:
		return "alias " + g.of("ls", "x", "e", "cat") + "=" + quote(g.simple()) + g.of("\n", "; ") + g.of("ls", "x", "e", "cat", "eval x") + " " + g.words(1)
	case 19:
		return "((" + g.arith() + ")) && " + body
	case 20:
		return "[[ " + g.word() + g.of(" == ", " = ", " =~ ", " -eq ", " < ", " && ", " -nt ") + g.word() + " ]] " + g.of("&&", "||", ";") + " " + body
	case 21:
		return "! " + body
	case 22:
		return "time " + g.of("", "-p ", "-- ") + body
	case 23:
		return "coproc " + g.of("", "N ") + "{ " + block + "}; wait"
	case 24:
		return "shopt -s " + g.of("expand_aliases", "extglob", "nullglob", "lastpipe", "nocasematch") + g.of("\n", "; ") + body
	}
	return "select x in a b; do " + block + "break; done <<< 1"
}

func (g *grammar) simple() string {
	var parts []string
	for g.odds(5) {
		parts = append(parts, g.assignment())
	}
	if g.odds(14) {
		parts = append(parts, g.redirect())
	}
	parts = append(parts, g.command())
	for g.odds(6) {
		parts = append(parts, g.redirect())
	}
	return strings.Join(parts, " ")
}

func (g *grammar) name() string { return g.of("x", "y", "z", "f", "cmd") }

func (g *grammar) assignment() string {
	switch g.among(12, 0) {
	case 8:
		return g.name() + "=(" + g.words(3) + ")"
	case 9:
		return g.name() + "[" + g.arith() + "]=" + g.word()
	case 10:
		return g.of("PATH=tools:$PATH", "PATH=", "IFS=,", "BASH_ENV=scripts/clean.sh", "ENV=scripts/clean.sh", "HOME=/tmp", "CDPATH=..", "PS4='$(rm a)'", "PROMPT_COMMAND=rm", "SHELLOPTS=xtrace", "LD_PRELOAD=x", "GLOBIGNORE=*")
	case 11:
		return g.name() + "+=" + g.word()
	case 7:
		return g.name() + "=" + quote(g.simple0())
	}
	return g.name() + "=" + g.word()
}

// simple0 is a command without parts of its own, to be quoted as data.
func (g *grammar) simple0() string {
	return g.of("rm a", "rm", "rm -rf build", "echo rm", "a[$(rm i)]", "curl x | sh", "-rf", "> k.txt", "$(rm b)", "ls;rm c")
}

// command is a program with its arguments, or something that runs one.
func (g *grammar) command() string {
	words := func() string { return g.words(3) }
	switch g.among(46, 0, 1, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 20, 21, 22, 24, 28, 34, 35, 36, 38, 43, 44, 45) {
	case 0, 1, 2, 3, 4:
		return g.program() + " " + words()
	case 5, 6, 7:
		return g.spelled("rm") + " " + words()
	case 8:
		return "echo " + words()
	case 9:
		return "$" + g.name() + " " + words()
	case 10:
		return g.of("env", "env -i PATH=/usr/bin", "env -u x", "env x=1", "env --", "env -S", "env -", "env -C /tmp", "command env") + " " + g.program() + " " + words()
	case 11:
		return g.of("command", "command -p", "command --", "builtin", "command -v", "command -V", "exec", "exec -a x", "exec -c", "exec --", "builtin command", "builtin eval", "eval", "eval --") + " " + g.program() + " " + words()
	case 12:
		return g.of("nice", "nice -n 5", "nohup", "timeout 5", "timeout -k 1 5", "timeout -s KILL 2s", "setsid", "setsid -w", "stdbuf -o0", "time", "sudo", "sudo -u root", "sudo -n x=1", "doas", "nice nohup", "flock a", "/usr/bin/time -p", "nice -5", "chrt 1") + " " + g.program() + " " + words()
	case 13:
		return "echo " + words() + " | xargs " + g.of("", "-n1", "-n 1", "-I{}", "-0", "-r", "-L1", "-P2 -n1", "--", "-t", "-d,", "-i", "-I % sh -c", "-a list.txt", "-E rm") + " " + g.of("", "rm", "echo", "sh -c", "env", "{}", "rm {}", "echo {}", "sh -c 'rm $1' x", "sh -c '{}'", "$x")
	case 14:
		return "find " + g.of("build", ".", "src", "-L build", "$x") + " " + g.of("-name '*.o'", "-type f", "", "-name a -o -true", "-maxdepth 1", "-newer a") + " " + g.of("-exec "+g.program()+" {} \\;", "-exec rm {} +", "-execdir rm '{}' ';'", "-delete", "-print", "-ok rm {} \\;", "-fprint out.txt", "-exec sh -c 'rm $0' {} \\;", "-print0 | xargs -0 rm", "-fls l.txt", "-exec echo {} \\; -exec rm {} \\;")
	case 15:
		return "cd " + g.of("src", "..", "-", "", "/tmp", "link_out", "$x", "nosuch", "src/..", "-P link_out", "~", "-- src", "build && cd tmp")
	case 16:
		return g.of("set --", "set -- rm", "set -", "set -e", "set -f", "set +e", "set -n", "set -a", "set -o posix", "set -u", "set -x", "shift", "set -o noglob", "set -k", "set -C") + " " + words()
	case 17:
		return g.of("export", "local", "declare", "readonly", "typeset", "declare -g", "declare -n", "declare -i", "declare -l", "export -n", "declare -a", "export -f", "declare -A") + " " + g.of(g.assignment(), g.name(), g.name()+"=rm", "x=y")
	case 18:
		return "read " + g.of("", "-r ", "-a ", "-d '' ", "-p rm ") + g.name() + " " + g.of("<<< ", "< ", "<<<") + g.word()
	case 19:
		return g.of("printf -v x %s", "printf %s", "printf '%s\\n'", "printf 'r%s' m", "printf -v x%s rm", "printf -v 'x[$(rm p)0]' %s") + " " + words()
	case 20:
		return g.of("touch", "mkdir -p", "tee", "tee -a", "rmdir", "truncate -s 0", "mkdir", "install -d", "unlink", "mktemp -p .", "touch --") + " " + g.paths(2)
	case 21:
		return g.of("cp", "mv", "ln -s", "ln", "cp -r", "mv -t", "cp -t", "mv -f", "ln -sf", "cp -a", "install", "mv -n", "cp --", "ln -t", "mv -bS.x") + " " + g.paths(3)
	case 22:
		return g.of("sort -o", "sort", "sed -i s/a/b/", "sed -n 1p", "sed -n 'w out.txt'", "sed s/a/b/w", "dd status=none if=list.txt", "split -l1", "awk '{print > \"o.txt\"}'", "awk '{print}'", "sed 's/.*/rm x/e'", "sed -ibak 1d", "tar cf o.tar", "tar xf", "sort --compress-program=rm", "awk 'BEGIN{system(\"rm q\")}'", "perl -e 'unlink \"a\"'", "csplit -s list.txt 1", "gzip", "gzip -k", "uniq list.txt", "patch -o", "awk -f", "sed -f", "sort -T") + " " + g.paths(2)
	case 23:
		return g.of("git status", "git -c alias.x='!rm a' x", "git st", "git nuke", "git log --oneline", "git rm -q", "git --exec-path=tools ls", "git -C src status", "git grep -Orm", "git config alias.q '!rm b'; git q", "git diff --ext-diff", "git checkout -q --", "git stash", "git mv", "git pf", "git commit -qm x --allow-empty") + " " + g.paths(1)
	case 24:
		return g.of("[", "test", "[ -n", "test -e", "test -v", "[ -v") + " " + words() + g.of(" ]", "")
	case 25:
		return "let " + quote(g.arith())
	case 26:
		return g.of("unset", "unset -f", "unset -v", "unset -n") + " " + g.of("x", "f", "'x[$(rm u)]'", "PATH", "rm", "IFS")
	case 27:
		return g.of("source", ".", ". ./scripts/clean.sh;", "source scripts/hello.sh;", ". /dev/stdin <<< ", "bash", "sh", "source /dev/fd/3 3<<<", "exec bash", "./scripts/clean.sh", "bash scripts/clean.sh", "source <(echo rm x);") + " " + g.word()
	case 28:
		return g.of("true", "false", ":", "exit", "return", "break", "continue", "exit 3", "wait", "hash -r", "exit $x", "return 0") + " " + g.of("", "", words())
	case 29:
		return g.of("mapfile -t x", "readarray x", "mapfile -C 'rm cb' -c 1 x", "mapfile -C rm -c1 -n 1 y") + " < list.txt; " + g.of("\"${x[@]}\"", "echo ${x[0]}", "$x")
	case 30:
		return g.of("python3 -c 'import os; os.system(\"rm py\")'", "perl -e 'system(\"rm\",\"pl\")'", "make clean", "make -n clean", "make", "make -f - <<< 'a:;rm mk'", "ed -s a.txt <<< '!rm ed'", "jq . package.json", "perl -pe 1 list.txt")
	case 31:
		return g.of("xargs", "env", "sh", "nice", "nohup", "timeout", "command", "exec", "find", "eval", "builtin", "time", "sudo", "watch", "trap", "git", "xargs -a list.txt") + " " + words()
	case 32:
		return g.of("type", "hash", "which", "command -v", "alias", "hash -p /usr/bin/rm", "hash -p /usr/bin/rm ls; ls", "enable -n test; test", "enable", "type -p", "help", "compgen -C 'rm cg'", "compgen -W '$(rm cw)'", "compgen -F f", "complete -C rm x;", "bind -x '\"q\":rm'", "fc -s", "history -s rm", "caller", "ulimit -n", "umask 0;", "times;", "getopts a x;", "jobs -x rm") + " " + words()
	case 33:
		return "pushd " + g.of("src", "/tmp", "..", "link_out", "") + "; " + g.program() + " " + words() + g.of("", "; popd; rm o")
	case 34:
		return g.of("curl", "scp", "npm run", "ssh h", "docker run x", "ssh -o ProxyCommand=rm h") + " " + words()
	case 35:
		return g.of("sh -c", "bash -c", "sh -ec", "bash -xc", "bash -c --", "bash -o errexit -c", "bash +o posix -c", "bash -O extglob -c", "bash -cl", "sh -c -e", "dash -c", "bash --rcfile a -ic", "bash -i -c", "sh +c", "bash --init-file a -c") + " " + g.word() + " " + words()
	case 36:
		return g.of("{rm,a}", "{rm,-rf,b}", "{,rm} x", "{r,}{m,} x", "r{m,x}", "{rm,{a,b}}", "'{rm,a}'", "{rm}", "{r..r}m") + " " + words()
	case 37:
		return g.of("/usr/bin/rm", "/bin/r?", "/usr/*/rm", "../../../bin/rm", "/bin/[r]m", "/bin//./rm", "tools/../tools/ls", "~/../../bin/rm", "/bin/r*m", "/???/rm", "t*/l*") + " " + words()
	case 38:
		return "\"$@\" " + words()
	case 39:
		return "\"${x[@]}\" " + words()
	case 40:
		return g.program() + " " + g.of("$(", "`", "<(", "\"$(", ">(") + g.deeper("rm a", g.list) + "\n" + g.of(")", "`", ")", ")\"")
	case 41:
		return g.of("echo", "cat", "printf %s", ":", "test") + " " + g.word() + g.word() + " " + g.word()
	case 42:
		return g.of("if", "do", "done", "then", "fi", "{", "}", "esac", "in", "!", "case", "function", "time", "[[", "]]", "select", "coproc", "for") + " " + words()
	case 43:
		return g.word() + g.word()
	case 44:
		return g.of("\\rm", "r\\m", "'r'm", "\"rm\"", "$'rm'", "$\"rm\"", "r''m", "r$@m", "r${u}m", "r$(:)m", "r``m", "$'\\x72m'", "$'\\162\\155'", "r\\\nm", "$'r\\0x'm", "$'\\u0072m'", "${0:+rm}", "r$*m", "r${1}m", "\"r\"'m'", "r$''m", "r$\"\"m") + " " + words()
	}
	return g.word() + " " + words()
}
