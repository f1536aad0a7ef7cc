//go:build linux && (amd64 || arm64)

package shell_test

import "strings"

// A shell has state, and most of what a reader can get wrong about the name of a program is who sees
// which change of it. These lines change some of it, somewhere, and then use it.

// changers are commands that change what a later command means.
var changers = []string{
	"x=rm", "x=ls", "x=", "x=rm y=x", "x=rm true", "x=rm :", "x=rm f", "x=$y", "y=x", "y=$x", "x+=m", "x=r", "x=(rm ls)", "x[0]=rm", "x='rm q'", "x='$y'", "x=\"$x q\"",
	"export x=rm", "export x", "export -n x", "readonly x", "readonly x=ls", "declare x=rm", "declare -x x=rm", "declare -n x=y", "declare -i x", "declare -u x", "local x=rm", "local x", "typeset y=rm", "declare -g x=rm",
	"unset x", "unset y", "unset -f f", "unset f", "unset IFS", "unset PATH",
	"f() { rm f; }", "f() { ls; }", "f() { x=rm; }", "f() { local x=rm; g; }", "g() { $x g; }", "g() { \"$@\"; }", "f() { g \"$@\"; }", "ls() { rm l; }", "f() { set -- rm; }", "f() { return; x=rm; }", "f() { x=$1; }", "f() ( x=rm )", "f() { g() { rm n; }; }", "f() { unset x; }", "function f { eval \"$1\"; }",
	"alias ls=rm", "alias f='rm al'", "unalias -a", "unalias ls", "shopt -s expand_aliases", "shopt -u expand_aliases", "shopt -s extglob", "shopt -s nullglob", "shopt -s lastpipe", "shopt -s failglob",
	"set -- rm b", "set -- ls rm", "set --", "shift", "set -f", "set +f", "set -a", "set +a", "set -e", "set -u", "set -k", "set -o posix", "set +o posix", "set +B", "set -C",
	"cd /bin", "cd src", "cd ..", "cd", "cd -", "cd nosuch", "cd link_out", "pushd /bin", "popd", "CDPATH=/", "HOME=/bin",
	"IFS=,", "IFS=", "IFS=m", "local IFS=,", "export IFS=,",
	"PATH=tools", "PATH=tools:$PATH", "export PATH=tools", "hash -p /bin/rm ls", "enable -n echo", "BASH_ENV=scripts/clean.sh", "export BASH_ENV=scripts/clean.sh", "export HOME=/bin",
	"read x <<< rm", "read x y <<< 'ls rm'", "printf -v x rm", "mapfile -t x <<< rm", "getopts a x", "let x=1", "((x=1))", ": ${x:=rm}", ": ${x=ls}", "for x in ls rm; do :; done", "for x in rm; do break; done", "select x in rm; do break; done <<< 1",
	"trap 'rm t' EXIT", "trap 'x=rm' DEBUG", "trap - EXIT", "trap '$x t' EXIT", "trap f EXIT", "trap 'rm e' ERR",
	"exec 3<<< 'rm h'", "exec < list.txt", "exec > o", "exec nosuch", "exit", "return", "false", "true",
	"echo 'rm s' > s", "echo ls > s", "echo 'x=rm' > s", "cp scripts/clean.sh s", "mv s t", ". ./s", "ln -s . d", "chmod +x s",
	"y=rm; x=y", "eval x=rm", "eval 'f() { rm ev; }'", "command -v rm", "_=rm", "OPTIND=1", "x=$(echo rm)", "x=`echo ls`", "x=$(x=rm; echo $x)", "coproc x=rm", "wait",
}

// users are commands whose meaning depends on it.
var users = []string{
	"$x a", "\"$x\" a", "${x}", "$y a", "${!y} a", "${x:-ls} a", "${x[0]} a", "${x[1]} a", "\"${x[@]}\" a", "f", "f rm", "f ls", "g", "g rm a", "ls a", "\\ls a", "command ls a", "eval 'ls a'", "eval '$x a'",
	"$1 a", "\"$@\"", "$*", "rm \"$#\" $x", "rm $x", "rm \"$x\"", "rm $y \"$@\"", "sh -c '$x a'", "bash -c '$x a'", "bash -c :", "bash -c f", "sh -c ls", "env sh -c '$x a'", "x=ls sh -c '$x a'", "(f)", "$(f)", "(ls a)",
	"./rm a", "touch b", "echo z > w", "/bin/r? a", "x='/bin/r?'; $x a", "{rm,a}", "x=rm,a; $x", "~/rm a", "sh s", "./s", ". ./s", "sh < s", "sh <&3", "cat s | sh", "sh d/s", "echo a", "echo $x | sh", "cd tmp; touch c",
	"find . -maxdepth 0 -exec $x a \\;", "echo a | xargs $x", "nohup $x a", "trap", "x=rm", "$_ a", "rm ${x-u} ${y-v}", "if $x a; then rm i; fi", "while $x a; do break; done", "for v in $x; do $v a; done", "! f", "f | cat", "f &", "time f", "f > o2", "$x < list.txt",
}

// somewhere puts a command where its change is seen by all that follows, by some of it, or by none.
func (g *grammar) somewhere(c string) string {
	switch g.n(44) {
	case 1:
		return "(" + c + ")"
	case 2:
		return "{ " + c + "; }"
	case 3:
		return "h() { " + c + "; }; h"
	case 4:
		return "h() { " + c + "; }"
	case 5:
		return "if true; then " + c + "; fi"
	case 6:
		return "if false; then " + c + "; fi"
	case 7:
		return c + " | true"
	case 8:
		return "true | " + c
	case 9:
		return c + " & wait"
	case 10:
		return "eval " + quote(c)
	case 11:
		return ": $(" + c + "\n)"
	case 12:
		return "true && " + c
	case 13:
		return "false && " + c
	case 14:
		return "false || " + c
	case 15:
		return "true || " + c
	case 16:
		return "for v in 1 2; do " + c + "; done"
	case 17:
		return "for v in; do " + c + "; done"
	case 18:
		return "for v in $u; do " + c + "; done"
	case 19:
		return "while " + c + "; do break; done"
	case 20:
		return "until " + c + "; do break; done"
	case 21:
		return "case a in a) " + c + ";; esac"
	case 22:
		return "case a in b) " + c + ";; esac"
	case 23:
		return "time " + c
	case 24:
		return "! " + c
	case 25:
		return c + " > o"
	case 26:
		return "command " + c
	case 27:
		return "builtin " + c
	case 28:
		return "sh -c " + quote(c)
	case 29:
		return "bash -c " + quote(c)
	case 30:
		return "trap " + quote(c) + " " + g.of("EXIT", "DEBUG", "USR1; kill -USR1 $$")
	case 31:
		return c + " <<< rm"
	case 32:
		return "z=1 " + c
	case 33:
		return "h() { local x; " + c + "; }; h"
	case 34:
		return "h() ( " + c + " ); h"
	case 35:
		return "h() { " + c + "; }; h | true"
	case 36:
		return "h() { " + c + "; } && h"
	case 37:
		return "echo " + quote(c) + " > s; . ./s"
	case 38:
		return "h() { " + c + "; }; x=rm h"
	case 39:
		return "eval \"h() { " + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(c) + "; }\"; h"
	case 40:
		return "{ " + c + "; } | { true; }"
	case 41:
		return "[ -n \"$u\" ] || " + c
	case 42:
		return "[ -n \"$u\" ] && " + c
	case 43:
		return "while [ -n \"$u\" ]; do " + c + "; done"
	}
	return c
}

// statefulLine is a few changes and uses.
func statefulLine(data []byte) string {
	g := &grammar{choices: choices{data}}
	sep := func() string { return g.of("; ", "\n", "\n", " && ", " || ", "; ", "\n", " & ", " | ") }
	var b strings.Builder
	for range 1 + g.n(5) {
		c := g.of(changers...)
		if g.n(3) > 0 {
			c = g.somewhere(c)
		}
		b.WriteString(c + sep())
		if g.n(4) == 3 {
			b.WriteString(g.of(users...) + sep())
		}
	}
	u := g.of(users...)
	if g.odds(4) {
		u = g.somewhere(u)
	}
	b.WriteString(u)
	return b.String()
}
