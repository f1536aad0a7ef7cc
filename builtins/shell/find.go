package shell

import (
	"slices"
	"strings"
)

// findArity is how many arguments the tests and actions of find take.
var findArity = map[string]int{}

func init() {
	for n, list := range map[int]string{
		0: `! ( ) , -a -and -o -or -not -true -false -print -print0 -ls -prune -quit -depth -d -daystart -empty -executable -readable -writable -follow
			-ignore_readdir_race -noignore_readdir_race -mount -xdev -nogroup -nouser -noleaf -warn -nowarn -help --help -version --version -delete -x -X -E -s -f`,
		1: `-amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth
			-mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile -size -type -uid -used -user -wholename -xtype -context
			-fprint -fprint0 -fls -Bmin -Btime -Bnewer -flags -acl`,
		2: `-fprintf`,
	} {
		for _, name := range strings.Fields(list) {
			findArity[name] = n
		}
	}
}

// startFind follows the actions of find.
func startFind(w *walker, inv *invocation, st *state, _ *spec) {
	args := inv.args()
	var starts []field
	i := 0
	for i < len(args) { // options, and where to look
		f := args[i]
		switch {
		case f.known && (f.text == "-H" || f.text == "-L" || f.text == "-P" || strings.HasPrefix(f.text, "-O")):
		case f.known && f.text == "-D":
			i++
		case f.known && f.text == "--":
		case f.known && (strings.HasPrefix(f.text, "-") || f.text == "!" || f.text == "(" || f.text == ","):
			w.findExpression(inv, args[i:], starts, st)
			return
		case !f.known && f.option() != No:
			w.doubt(inv, "find gets arguments that are only known at run time")
			return
		default:
			starts = append(starts, f)
		}
		i++
	}
}

func (w *walker) findExpression(inv *invocation, args, starts []field, st *state) {
	for i := 0; i < len(args) && w.spend(1); i++ {
		f := args[i]
		if !f.known || f.many {
			w.doubt(inv, "find gets arguments that are only known at run time")
			return
		}
		switch f.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && !(args[end].known && (args[end].text == ";" || args[end].text == "+" && end > i+1 && args[end-1].known && args[end-1].text == "{}")) {
				if args[end].many {
					w.doubt(inv, "where the command of find ends is only known at run time")
					return
				}
				end++
			}
			if end == len(args) {
				w.doubt(inv, "the command of find has no end")
			}
			w.findCommand(inv, args[i+1:end], starts, f.text, end < len(args) && args[end].text == "+", st)
			i = end
			continue
		case "-delete":
			w.findDeletes(inv, starts, st)
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(args) {
				w.write(inv.index, args[i+1], st)
			}
		case "-files0-from":
			w.doubt(inv, "find reads where to begin")
		}
		n, ok := findArity[f.text]
		if !ok && strings.HasPrefix(f.text, "-newer") && len(f.text) == 8 {
			n, ok = 1, true
		}
		if !ok {
			w.doubt(inv, "find's "+f.text+" isn't known")
			return
		}
		for range n {
			if i++; i < len(args) && args[i].many {
				w.doubt(inv, "find gets arguments that are only known at run time")
				return
			}
		}
	}
}

// findCommand starts the command of -exec. What is found begins with where find began to look.
func (w *walker) findCommand(inv *invocation, list, starts []field, action string, plus bool, st *state) {
	if len(list) == 0 {
		return
	}
	found := field{many: plus}
	if strings.HasSuffix(action, "dir") {
		found.text = "./"
	} else if found.text = commonStart(starts); found.text == "" {
		found.split = true
	}
	out := slices.Clone(list)
	for i, f := range out {
		if before, _, ok := strings.Cut(f.text, "{}"); ok {
			if out[i] = found; before != "" {
				out[i] = field{text: before}
			}
		}
	}
	if !out[0].known {
		w.doubt(inv, "find runs the files that it finds")
		return
	}
	if strings.HasSuffix(action, "dir") {
		st = st.fork()
		st.enter(field{})
	}
	w.startWith(out, &stdin{}, "find", st, inv.cx)
}

// commonStart is what all that is found begins with, "" if that isn't known.
func commonStart(starts []field) string {
	if len(starts) == 0 {
		return "."
	}
	common := starts[0].text
	for _, f := range starts {
		for !strings.HasPrefix(f.text, common) {
			common = common[:len(common)-1]
		}
		if !f.begins() {
			return ""
		}
	}
	return common
}

// findDeletes notes what -delete can remove: all below where find looks.
func (w *walker) findDeletes(inv *invocation, starts []field, st *state) {
	if len(starts) == 0 {
		starts = []field{literal(".")}
	}
	for _, f := range starts {
		w.remove(inv.index, f, st)
		w.write(inv.index, f, st) // the folder itself stays, and is changed
	}
}
