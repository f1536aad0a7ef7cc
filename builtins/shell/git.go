package shell

import (
	"slices"
	"strings"
)

// gitKinds says what the commands of git do.
var gitKinds = map[string]string{}

// gitNames are the kinds: reads; store, which changes nothing but the store; tree, which changes files of
// the work tree that the line doesn't name; special; and unknown, which runs other programs.
func init() {
	for kind, list := range map[string]string{
		"reads": `blame annotate cat-file check-attr check-ignore check-mailmap check-ref-format cherry count-objects describe diff diff-files diff-index diff-tree for-each-ref
			get-tar-commit-id grep log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-branch show-index show-ref status
			var verify-pack version whatchanged range-diff stripspace column patch-id`,
		"store": `add commit-graph commit-tree hash-object index-pack mktag mktree multi-pack-index notes pack-refs prune prune-packed read-tree reflog
			repack replace rerere symbolic-ref unpack-objects update-index update-ref write-tree stage branch tag gc remote commit fsck`,
		"tree": `am apply checkout checkout-index cherry-pick clean merge merge-file merge-index merge-one-file merge-tree rebase reset restore revert sparse-checkout stash switch
			worktree`,
		"special": `rm mv init config archive format-patch bundle help`,
		"unknown": `bisect citool clone credential credential-cache credential-store cvsexportcommit cvsimport cvsserver daemon difftool fast-export fast-import fetch fetch-pack
			filter-branch gui hook http-backend http-fetch http-push imap-send instaweb interpret-trailers lfs ls-remote maintenance mailinfo mailsplit mergetool p4 pull push quiltimport receive-pack
			remote-ext remote-fd remote-http remote-https request-pull send-email send-pack shell submodule subtree svn upload-archive upload-pack web--browse gitk scalar verify-commit verify-tag diagnose bugreport`,
	} {
		for _, name := range strings.Fields(list) {
			gitKinds[name] = kind
		}
	}
}

// gitRuns are long options with which commands of git run a program, or read a file that says so.
var gitRuns = []string{"--open-files-in-pager", "--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "--extcmd", "--tool", "--gpg-sign", "--show-signature", "--sign", "--template", "--edit", "--interactive", "--patch-mode", "--config", "--recurse-submodules", "--upload-archive", "--remote", "--strategy", "--autosquash", "--filters"}

// gitSafe are settings that run nothing.
var gitSafe = []string{"color.", "user.name", "user.email", "advice.", "core.quotepath", "core.abbrev", "core.autocrlf", "core.eol", "core.ignorecase", "core.filemode", "log.", "status.", "diff.context", "diff.renames", "diff.noprefix", "init.defaultbranch", "gc.auto", "column.", "blame.", "push.default", "merge.ff", "safe.directory", "core.longpaths", "commit.gpgsign", "tag.gpgsign"}

// startGit follows git: its commands, aliases given in the line, and options that run programs.
func startGit(w *walker, inv *invocation, st *state, _ *spec) {
	w.gitRan = true
	args := inv.args()
	aliases := map[string]string{}
	for len(args) > 0 {
		f := args[0]
		if !f.known || f.many {
			if f.option() != No || f.text == "" {
				w.doubt(inv, "git gets arguments that are only known at run time")
				return
			}
			break
		}
		t := f.text
		if len(t) < 2 || t[0] != '-' {
			break
		}
		args = args[1:]
		name, _, attached := strings.Cut(t, "=")
		switch name {
		case "-c":
			if len(args) == 0 {
				return
			}
			if !w.gitSetting(inv, args[0], aliases) {
				return
			}
			args = args[1:]
		case "-C":
			if len(args) == 0 {
				return
			}
			moved := st.moved
			st = st.fork()
			st.enter(args[0])
			if args[0].pathKnown {
				st.moved = moved
			}
			args = args[1:]
		case "--git-dir", "--work-tree", "--namespace":
			if !attached {
				if len(args) == 0 {
					return
				}
				args = args[1:]
			}
			w.doubt(inv, "git "+name+" takes its settings from another place")
		case "--no-pager", "-P", "--no-replace-objects", "--bare", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-optional-locks", "--no-lazy-fetch", "--no-advice":
		case "--version", "-v", "--html-path", "--man-path", "--info-path":
			return
		default: // --paginate, --exec-path, --config-env ...
			w.doubt(inv, "the option "+name+" of git can run something")
			return
		}
	}
	if len(args) == 0 {
		return
	}
	if !args[0].known {
		w.doubt(inv, "the command of git is only known at run time")
		return
	}
	w.gitCommand(inv, args[0].text, args[1:], aliases, st)
}

// gitSetting reads NAME=VALUE.
func (w *walker) gitSetting(inv *invocation, f field, aliases map[string]string) bool {
	if !f.known {
		w.doubt(inv, "a setting of git is only known at run time")
		return false
	}
	name, text, _ := strings.Cut(f.text, "=")
	lower := strings.ToLower(name)
	if alias, ok := strings.CutPrefix(lower, "alias."); ok {
		aliases[alias] = text
		return true
	}
	if (lower == "core.pager" || lower == "core.editor") && (text == "" || text == ":" || text == "cat" && lower == "core.pager") {
		return true
	}
	for _, safe := range gitSafe {
		if lower == safe || strings.HasSuffix(safe, ".") && strings.HasPrefix(lower, safe) {
			return true
		}
	}
	w.doubt(inv, "git's setting "+name+" can decide what runs")
	return true
}

func (w *walker) gitCommand(inv *invocation, name string, args []field, aliases map[string]string, st *state) {
	kind := gitKinds[name]
	if kind == "" {
		w.gitAlias(inv, name, args, aliases, st)
		return
	}
	e := &w.out.Commands[inv.index].effects
	if kind == "unknown" {
		e.own = "what git " + name + " writes isn't known"
		w.doubt(inv, "git "+name+" runs other programs")
		return
	}
	for i, f := range args {
		if !w.spend(1) {
			return
		}
		if f.known && f.text == "--" {
			break
		}
		if strings.Contains(f.text, "%G") || strings.Contains(f.text, "signature") {
			w.doubt(inv, "git "+name+" may check signatures")
		}
		switch f.option() {
		case Unknown:
			if kind != "reads" || !gitValue(args, i) {
				w.doubt(inv, "git "+name+" gets arguments that are only known at run time")
				return
			}
		case Yes:
			w.gitOption(inv, name, f, args, i, st)
		}
	}
	if name != "config" || len(args) > 0 {
		if kind != "reads" || name == "status" {
			w.write(inv.index, literal(".git"), st)
		}
	}
	switch kind {
	case "tree":
		e.links = true
		w.vague(inv, "git "+name+" changes files that the line doesn't name")
		w.gitTree(inv, name, args)
	case "special":
		w.gitSpecial(inv, name, args, st)
	default:
		w.gitStore(inv, name, args)
	}
}

// gitValue tells whether an argument is the value of an option before it.
func gitValue(args []field, i int) bool {
	return i > 0 && !args[i].many && args[i-1].known && hasWord("-n -m -S -G --grep --author --since --until --format --pretty", args[i-1].text)
}

// gitStore looks at commands that may want an editor.
func (w *walker) gitStore(inv *invocation, name string, args []field) {
	has := func(list string) bool {
		for _, f := range args {
			option, _, _ := strings.Cut(f.text, "=")
			if f.known && hasWord(list, option) {
				return true
			}
		}
		return false
	}
	short := func(letters string) bool { // among letters of one cluster
		for _, f := range args {
			if f.known && len(f.text) > 1 && f.text[0] == '-' && f.text[1] != '-' && strings.ContainsAny(f.text[1:], letters) {
				return true
			}
		}
		return false
	}
	switch name {
	case "commit":
		if !has("-m --message -F --file -C --reuse-message --no-edit --dry-run") && !short("mFC") || has("-e --edit -v --verbose --patch --fixup --squash") || short("ecp") {
			w.doubt(inv, "git commit may start an editor")
		}
	case "tag":
		if short("as") && !has("-m --message -F --file") && !short("mF") || short("u") || has("--annotate --sign --local-user --verify") && !has("-m --message -F --file") || short("v") {
			w.doubt(inv, "git tag may start an editor, or check signatures")
		}
	case "branch":
		if has("--edit-description") {
			w.doubt(inv, "git branch starts an editor")
		}
	case "notes", "replace":
		if len(args) > 0 && args[0].known && hasWord("add append edit merge --edit", args[0].text) && !has("-m --message -F --file") {
			w.doubt(inv, "git "+name+" may start an editor")
		}
	case "add", "stage":
		if has("--edit -e --patch -p --interactive -i") || short("epi") {
			w.doubt(inv, "git add may start an editor")
		}
	case "remote":
		if len(args) > 0 && !(args[0].known && hasWord("-v --verbose show get-url add remove rm rename set-url", args[0].text)) || len(args) > 1 && args[0].known && args[0].text == "show" || has("-f --fetch") {
			w.doubt(inv, "git remote can reach for another repository")
		}
	}
}

// gitTree looks at commands that may want an editor, or run one command after another.
func (w *walker) gitTree(inv *invocation, name string, args []field) {
	switch name {
	case "merge", "rebase", "cherry-pick", "revert", "am":
		for _, f := range args {
			if f.known && hasWord("--no-edit --abort --quit --ff-only", f.text) {
				return
			}
		}
		w.doubt(inv, "git "+name+" may start an editor")
	case "checkout", "reset", "restore", "stash", "apply":
		for _, f := range args {
			if f.known && (f.text == "-p" || f.text == "--patch") {
				w.doubt(inv, "git "+name+" -p may start an editor")
			}
		}
	case "clean":
		for _, f := range args {
			if f.known && (f.text == "-i" || f.text == "--interactive") {
				w.doubt(inv, "git clean -i asks")
			}
		}
	}
}

func (w *walker) gitSpecial(inv *invocation, name string, args []field, st *state) {
	var operands []field
	dry := false
	for i, f := range args {
		if f.known && f.text == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if f.option() == Yes {
			dry = dry || f.text == "--dry-run" || len(f.text) > 1 && f.text[1] != '-' && strings.Contains(f.text, "n")
			continue
		}
		operands = append(operands, f)
	}
	switch name {
	case "rm":
		if !dry {
			for _, f := range operands {
				w.remove(inv.index, f, st)
				if strings.ContainsAny(f.text, "*?[:") {
					w.vague(inv, "git rm takes patterns")
				}
			}
		}
	case "mv":
		if !dry {
			w.out.Commands[inv.index].effects.links = true
			for i, f := range operands {
				if i == len(operands)-1 {
					w.write(inv.index, f, st)
				} else {
					w.remove(inv.index, f, st)
				}
			}
		}
	case "init":
		if len(operands) > 0 {
			w.write(inv.index, operands[0], st)
		}
		for _, f := range args {
			if f.known && strings.HasPrefix(f.text, "--") && !hasWord("--quiet --bare --initial-branch --shared", strings.SplitN(f.text, "=", 2)[0]) {
				w.doubt(inv, "an option of git init isn't understood")
			}
		}
	case "config":
		w.gitConfig(inv, args)
	case "archive", "bundle", "format-patch":
		if name != "archive" {
			w.vague(inv, "git "+name+" writes files that the line doesn't name")
		}
	case "help":
		if len(args) > 0 {
			w.doubt(inv, "git help starts a viewer")
		}
	}
}

// gitConfig notes changes of settings, which decide what later commands of git run.
func (w *walker) gitConfig(inv *invocation, args []field) {
	reads := 0
	for _, f := range args {
		switch {
		case !f.known:
			w.gitTouched = true
		case hasWord("--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list list get", f.text):
			reads++
		case hasWord("--global --system --file -f --worktree --blob", strings.SplitN(f.text, "=", 2)[0]):
			w.vague(inv, "git config changes a file that isn't in the work tree")
		case f.text == "-e" || f.text == "--edit" || f.text == "edit":
			w.doubt(inv, "git config starts an editor")
		}
	}
	if reads == 0 {
		w.gitTouched = true
	}
}

// gitAlias follows an alias that the line gives. Any other name can be an alias of the configuration, or
// a program called git-NAME.
func (w *walker) gitAlias(inv *invocation, name string, args []field, aliases map[string]string, st *state) {
	text, ok := aliases[strings.ToLower(name)]
	if !ok {
		w.doubt(inv, "git "+name+" isn't a command of git, but it can be an alias")
		return
	}
	delete(aliases, strings.ToLower(name))
	if code, isShell := strings.CutPrefix(text, "!"); isShell {
		fields := []field{literal("sh"), literal("-c"), literal(code + ` "$@"`), literal(code)}
		if len(args) == 0 {
			fields[2] = literal(code)
		}
		w.startProgram(append(fields, args...), "git alias", st, inv.cx)
		if len(args) > 0 && !slices.ContainsFunc(args, func(f field) bool { return !f.many }) { // there may be none
			w.startProgram([]field{literal("sh"), literal("-c"), literal(code), literal(code)}, "git alias", st, inv.cx)
		}
		return
	}
	if strings.ContainsAny(text, "\"'\\$-") {
		w.doubt(inv, "an alias of git isn't understood")
		return
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return
	}
	var fields []field
	for _, t := range words[1:] {
		fields = append(fields, literal(t))
	}
	w.gitCommand(inv, words[0], append(fields, args...), aliases, st)
}
