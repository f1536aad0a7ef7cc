//go:build linux && (amd64 || arm64)

package shell_test

import (
	"fmt"
	"strings"
)

// program is the name of a program or builtin, most often plainly spelled.
func (g *grammar) program() string {
	name := g.of("rm", "ls", "cat", "echo", "touch", "true", "rm", "sh", "env", "xargs", "curl", "printf", "test", "eval", "cd", "exec", "tee", "f", "x")
	if g.odds(4) {
		return g.spelled(name)
	}
	return name
}

// spelled is a name in one of the shapes that a shell reads as it.
func (g *grammar) spelled(name string) string {
	cut := g.n(len(name))
	a, b := name[:cut], name[cut:]
	switch g.n(14) {
	case 1:
		return a + `""` + b
	case 2:
		return a + "'" + b + "'"
	case 3:
		return a + `\` + b
	case 4:
		return fmt.Sprintf(`%s$'\x%02x'%s`, a, b[0], b[1:])
	case 5:
		return "$(echo " + name + ")"
	case 6:
		return "${u:-" + name + "}"
	case 7:
		return a + "$u" + b
	case 8:
		return "`printf " + a + "``printf " + b + "`"
	case 9:
		return "${HOME:+" + name + "}"
	case 10:
		return "/usr/bin/" + name
	case 11:
		return a + "\\\n" + b
	case 12:
		return a + "${u}" + b
	case 13:
		return "\"" + a + "$(true)" + b + "\""
	}
	return name
}

func (g *grammar) words(most int) string {
	var out []string
	for range g.n(most + 1) {
		out = append(out, g.word())
	}
	return strings.Join(out, " ")
}

func (g *grammar) paths(n int) string {
	var out []string
	for range 1 + g.n(n) {
		if g.odds(6) {
			out = append(out, g.word())
			continue
		}
		out = append(out, g.of("a", "b.txt", "src/a.txt", "build", "README.md", "../other/x", "/tmp/t", "link_out/y", "link_conf", "~/h", "d/e/f", "'a b'", "-v", "$x", "list.txt", "../proj/z", "src", "./-w", "of=dd.txt", "/dev/null", "-", "of=../o", "~/../x", "src/../../o", "*.txt", "--", "-o", "\"$HOME\"/q", "/home/dev/proj/abs"))
	}
	return strings.Join(out, " ")
}

func (g *grammar) word() string {
	switch g.among(34, 0, 1, 4, 5, 6, 7, 9, 14, 16, 18, 19, 20, 30, 30) {
	case 0, 1, 2, 3:
		return g.of("a", "build", "rm", "-rf", "b.txt", "src", "x=1", "-n", "1", "--", "-", "+x", "-c", "{}", "in", "=", "%s", "a=rm", "rm=1", "~")
	case 4:
		return quote(g.simple0())
	case 5:
		if g.calm {
			return `"` + g.of("", "a b", "$x", "$(echo a)", "$y z", `\$x`, `\"`, "${x}", "'", "rm $1", `\\`, "$(printf rm)", "#", "$*", "$@") + `"`
		}
		return `"` + g.of("", "a b", "$x", "$(echo a)", "`rm t`", "$y z", `\$x`, `\"`, "${x}", "$((1+1))", "'", "rm $1", "!!", "\\\\", "\\`") + `"`
	case 6:
		if g.calm {
			return "$" + g.of("x", "y", "1", "@", "*", "#", "u", "cmd")
		}
		return "$" + g.of("x", "y", "1", "@", "*", "#", "?", "$", "HOME", "PWD", "0", "-", "!", "_", "cmd", "RANDOM", "LINENO", "IFS", "USER", "BASH", "SHELL", "PATH")
	case 7:
		return "$(" + g.deeper("rm s", g.list) + g.of("", "\n") + ")"
	case 8:
		return "`" + strings.NewReplacer("`", "\\`", `\`, `\\`).Replace(g.deeper("rm t", g.list)) + "`"
	case 9, 10, 11:
		return g.expansion()
	case 12:
		return "$((" + g.arith() + "))"
	case 13:
		return g.of("*", "*.txt", "src/*", "?", "[a-z]*", "build/*.o", "*.none", ".*", "r*", "[!a]*", "**", "@(a|b)")
	case 14:
		return g.of("{a,b}", "{rm,x}", "{1..3}", "{a,{b,c}}", "a{,b}", "{x}", "{a..c}", "$x{a,b}", "{'a,b',c}", "{a,b", "{-rf,build}")
	case 15:
		return g.of("~", "~/a", "~root", "~+", "~-", "a~", "'~'", "~dev/x", "~nobody", "x=~/a")
	case 16:
		return g.of("$'a'", "$'a\\nb'", "$'\\''", "$'\\x41'", "$\"a\"", "$'\\e'", "$'a\\0b'", "$'\\cA'", "$'\\u20ac'", "$'rm'")
	case 17:
		return g.of("<(", ">(") + g.deeper("rm p", g.list) + "\n)"
	case 18:
		return g.word() + g.word()
	case 19:
		return g.of("\\a", "a\\ b", "\\", "\\\n", "a\\\nb", "\\$x", "\\;", "\\#", "#a", "a#b", "\\'", "\\\"")
	case 20:
		return g.of("é", "a\u00a0b", "“q”", "–rf", "\u2028", "r\u200bm", "ｒｍ", "a\rb", "a\vb", "\x7f")
	case 21:
		return "$[" + g.arith() + "]"
	}
	return g.of("a", "b", "c.txt", "src/a.txt", "list.txt", "README.md", "-f", "nosuch")
}

// expansion is one of the forms of ${...}.
func (g *grammar) expansion() string {
	inner := g.deeper("a", g.word)
	switch g.among(24, 0, 2, 5, 6, 12, 20) {
	case 0, 1:
		return "${x}"
	case 2, 3:
		return "${" + g.of("x", "u", "1", "HOME", "@", "u[0]") + g.of(":-", "-", ":=", "=", ":+", "+", ":?", "?") + inner + "}"
	case 4:
		return "${#" + g.of("x", "@", "*", "", "x[@]", "1") + "}"
	case 5:
		return "${x" + g.of("#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,") + inner + "}"
	case 6:
		return "${x/" + inner + "/" + g.deeper("b", g.word) + "}"
	case 7:
		return "${x:" + g.arith() + g.of("", ":1", ":-1", ":$(rm o)") + "}"
	case 8:
		return "${!" + g.of("x", "x*", "x@", "x[@]", "1", "#", "y:-a") + "}"
	case 9:
		return "${x@" + g.of("P", "Q", "E", "A", "a", "U", "L", "K", "u") + "}"
	case 10:
		return "${x[" + g.arith() + "]}"
	case 11:
		return "\"${x[@]}\""
	case 12:
		return "${" + g.of("x-$(rm d)", "x:-`rm d`", "x+${y-rm}", "x:-\"a b\"", "x:-'a b'", "x-{a,b}", "x:-~", "x-*", "#x", "##", "x:=rm", "_", "?", "0##*/", "-x", "BASH_SOURCE", "FUNCNAME", "PIPESTATUS[0]", "@:1", "*:1:1", "@Q", " rm q;}", "| rm v; }") + "}"
	}
	return "\"${x}\""
}

func (g *grammar) arith() string {
	return g.of("1", "x", "1+1", "x+1", "x=1", "x[0]", "a[$(rm i)0]", "x++", "$x", "${x}", "$(echo 1)", "`rm j`", "1 > 0", "x ? 1 : 2", "x[y]", "0x1f", "1,2", "\"1\"", "'1'", "!0", "(1)", "2**3", "x<<1", "16#ff", "x[$y]", "~0", "y=x=3", "#", "b[x=1]")
}

func (g *grammar) redirect() string {
	target := g.of("o.txt", "/dev/null", "../other/r", "~/t", "\"$x\"", "link_conf", "'a b'", "$y.txt", "/tmp/o", "src/*.txt", "$(echo s)", "link_out/r", "build", "{a,b}", "p${u}q", "-", "&1", "/dev/stdout", "/dev/tcp/h/1", "README.md", "/home/dev/proj/v", "~+/w", "$HOME/k")
	switch g.among(16, 0, 3, 4, 5, 7, 9, 11, 13, 15) {
	case 0, 1, 2:
		return ">" + g.of("", " ") + target
	case 3:
		return ">> " + target
	case 4:
		return g.of("<", "< ", "0<") + g.of("list.txt", "/dev/null", "nosuch", target)
	case 5:
		return g.of("2>&1", ">&2", "2>&-", "<&-", "1>&2-", ">&1", "<&0", "2>&$x", ">&$(rm fd)")
	case 6:
		return "&> " + target
	case 7:
		return ">| " + target
	case 8:
		return "<> " + target
	case 9:
		return "<<< " + g.word()
	case 10:
		return ">&" + g.of("", " ") + target
	case 11:
		return g.of("3>", "2> ", "10>", "{fd}>", "2>>", "9<>", "{x[0]}>", "02>", "-1>") + target
	case 12:
		return "&>>" + target
	case 13:
		return "<<E " + g.of("", "| sh", "; ls", "> q.txt") + "\n" + g.of("a", "$(rm hd)", "`rm hb`", "$x", "\\$(rm no)", "${x:-$(rm hx)}", "rm hs", "'$(rm hq)'", "\"", "${x@P}") + "\nE\n"
	}
	return "2>/dev/null"
}
