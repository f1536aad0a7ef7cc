package shell

import (
	"path"
	"strings"
)

// tarOptions are the long options of tar without a value, and with one, that neither run nor write
// anything by themselves.
var (
	tarFlags = names(`--verbose --keep-old-files --overwrite --no-same-owner --no-same-permissions --preserve-permissions --same-owner --same-permissions --numeric-owner
		--totals --wildcards --no-wildcards --anchored --no-anchored --ignore-case --dereference --sparse --exclude-vcs --exclude-caches --no-recursion --recursion
		--one-file-system --auto-compress --skip-old-files --unlink-first --touch --null --no-selinux --no-xattrs --no-acls --xattrs --acls --selinux --to-stdout --version --help
		--force-local --seek --check-links --hard-dereference --ignore-zeros --warning`)
	tarValues = names(`--exclude --owner --group --mode --mtime --strip-components --transform --xform --sort --format --exclude-from --files-from --label --blocking-factor
		--warning --pax-option --newer --after-date --newer-mtime --checkpoint --exclude-tag --suffix --backup --record-size --level`)
	tarOperations = map[string]byte{"--create": 'c', "--extract": 'x', "--get": 'x', "--list": 't', "--append": 'r', "--update": 'u', "--catenate": 'A', "--concatenate": 'A',
		"--diff": 'd', "--compare": 'd', "--delete": 'D'}
	tarCompressors = map[string]string{"-z": "gzip", "--gzip": "gzip", "--gunzip": "gzip", "--ungzip": "gzip", "-j": "bzip2", "--bzip2": "bzip2", "-J": "xz", "--xz": "xz",
		"--zstd": "zstd", "-Z": "compress", "--compress": "compress"}
)

// tarRun is one call of tar.
type tarRun struct {
	operation byte
	archive   field
	named     bool
	folder    field
	moved     bool
	program   string
	auto      bool
	stdout    bool
	removes   bool
	absolute  bool
	operands  []field
}

// startTar follows tar, which runs programs for compression and for some of its options.
func startTar(w *walker, inv *invocation, st *state, _ *spec) {
	t := &tarRun{}
	if !w.tarArgs(inv, t, st) {
		w.vague(inv, "what tar writes isn't known")
		return
	}
	w.tarProgram(inv, t, st)
	w.tarFiles(inv, t, st)
}

// tarArgs reads the options. False means that they aren't understood.
func (w *walker) tarArgs(inv *invocation, t *tarRun, st *state) bool {
	args := inv.args()
	for i := 0; i < len(args); i++ {
		f := args[i]
		cluster := i == 0 && f.known && f.text != "" && f.text[0] != '-' // tar xf
		if !cluster {
			switch f.option() {
			case Unknown:
				w.doubt(inv, "tar gets arguments that are only known at run time")
				return false
			case No:
				t.operands = append(t.operands, f)
				continue
			}
		}
		switch {
		case !f.known:
			w.doubt(inv, "tar gets options that are only known at run time")
			return false
		case f.text == "--":
			t.operands = append(t.operands, args[i+1:]...)
			return true
		case strings.HasPrefix(f.text, "--"):
			used, ok := w.tarLong(inv, t, args[i:], st)
			if !ok {
				return false
			}
			i += used
			continue
		}
		letters := strings.TrimPrefix(f.text, "-")
		for j := 0; j < len(letters); j++ {
			c := letters[j]
			if strings.IndexByte("fCTXbgHIKLNVF", c) < 0 {
				if !w.tarFlag(inv, t, c) {
					return false
				}
				continue
			}
			value := literal(letters[j+1:])
			if cluster || value.text == "" {
				if i+1 >= len(args) {
					return true // an error
				}
				i++
				value = args[i]
			}
			if !w.tarValue(inv, t, c, value, st) {
				return false
			}
			if !cluster {
				break
			}
		}
	}
	return true
}

func (w *walker) tarFlag(inv *invocation, t *tarRun, c byte) bool {
	switch {
	case strings.IndexByte("cxtruAd", c) >= 0:
		t.operation = c
	case strings.IndexByte("zjJZ", c) >= 0:
		t.program = tarCompressors["-"+string(c)]
	case c == 'a':
		t.auto = true
	case c == 'O':
		t.stdout = true
	case c == 'P':
		t.absolute = true
	case strings.IndexByte("vkpmhlSUWosnBiRG", c) >= 0:
	default:
		w.doubt(inv, "the option -"+string(c)+" of tar isn't understood")
		return false
	}
	return true
}

func (w *walker) tarValue(inv *invocation, t *tarRun, c byte, value field, st *state) bool {
	if value.many {
		w.doubt(inv, "tar gets arguments that are only known at run time")
		return false
	}
	switch c {
	case 'f':
		t.archive, t.named = value, true
	case 'C':
		t.folder, t.moved = value, true
	case 'I', 'F':
		w.tarWords(inv, value, st)
		t.program = "-"
	case 'T':
		w.doubt(inv, "tar reads options from a file")
	case 'g':
		w.write(inv.index, value, st)
	}
	return true
}

// tarWords runs what -I and the like name, in a shell if need be.
func (w *walker) tarWords(inv *invocation, value field, st *state) {
	if !value.known {
		w.doubt(inv, "tar runs a program that is only known at run time")
		return
	}
	w.startProgram([]field{literal("sh"), literal("-c"), value}, "tar", st, inv.cx)
}

// tarLong reads a long option, and returns how many more arguments it took.
func (w *walker) tarLong(inv *invocation, t *tarRun, args []field, st *state) (used int, ok bool) {
	name, text, attached := strings.Cut(args[0].text, "=")
	value := func() field {
		if attached {
			return literal(text)
		}
		if len(args) > 1 {
			used = 1
			return args[1]
		}
		return literal("")
	}
	switch name {
	case "--file":
		return used, w.tarValue(inv, t, 'f', value(), st)
	case "--directory":
		return used, w.tarValue(inv, t, 'C', value(), st)
	case "--use-compress-program", "--info-script", "--new-volume-script", "--to-command":
		v := value()
		w.tarWords(inv, v, st)
		t.program = "-"
		return used, true
	case "--checkpoint-action":
		v := value()
		if command, isExec := strings.CutPrefix(v.text, "exec="); isExec && v.known {
			w.tarWords(inv, literal(command), st)
		} else if !v.known || !hasWord("dot echo bell ttyout totals", strings.SplitN(v.text, "=", 2)[0]) {
			w.doubt(inv, "an action of tar isn't understood")
		}
		return used, true
	case "--remove-files":
		t.removes = true
		return 0, true
	case "--absolute-names":
		t.absolute = true
		return 0, true
	case "--to-stdout":
		t.stdout = true
		return 0, true
	case "--auto-compress":
		t.auto = true
		return 0, true
	}
	switch {
	case tarOperations[name] != 0:
		t.operation = tarOperations[name]
	case tarCompressors[name] != "":
		t.program = tarCompressors[name]
	case tarFlags[name]:
	case name == "--files-from":
		w.doubt(inv, "tar reads options from a file")
		value()
	case tarValues[name]:
		if name == "--transform" || name == "--xform" {
			w.vague(inv, "tar changes the names that it writes")
		}
		if name != "--backup" && name != "--checkpoint" && value().many {
			w.doubt(inv, "tar gets arguments that are only known at run time")
			return used, false
		}
	default:
		w.doubt(inv, "the option "+name+" of tar isn't understood")
		return 0, false
	}
	return used, true
}

// tarProgram starts what compresses, which when reading may depend on what is in the archive.
func (w *walker) tarProgram(inv *invocation, t *tarRun, st *state) {
	reads := t.operation == 'x' || t.operation == 't' || t.operation == 'd'
	switch {
	case t.program == "-" && reads:
		w.doubt(inv, "tar adds an option to the program that it runs")
	case t.program == "-":
	case t.program != "" && !reads:
		w.startProgram([]field{literal("sh"), literal("-c"), literal(t.program)}, "tar", st, inv.cx)
	case t.program != "": // by itself or by a shell
		for _, name := range []string{"sh", t.program} {
			w.emitInvocation(st, &invocation{fields: []field{literal(name), rest()}, cx: inv.cx.in("tar"), plain: true}, false, "")
		}
	case reads && !t.named:
		w.doubt(inv, "what the archive holds decides which program reads it")
	case reads || t.auto:
		if !t.archive.known || path.Ext(t.archive.text) != ".tar" || reads {
			w.doubt(inv, "what the archive holds decides which program reads it")
		}
	}
	if t.archive.known && strings.Contains(t.archive.text, ":") {
		w.doubt(inv, "the archive may be on another machine")
	}
	if t.named && !t.archive.known {
		w.doubt(inv, "the archive is only known at run time")
	}
}

func (w *walker) tarFiles(inv *invocation, t *tarRun, st *state) {
	in := st
	if t.moved {
		in = st.fork()
		in.enter(t.folder)
		if t.folder.pathKnown {
			in.moved = st.moved // the folder that is named here is what leads elsewhere, if it does
		}
	}
	switch t.operation {
	case 't', 'd', 0:
	case 'x':
		if t.stdout {
			return
		}
		w.out.Commands[inv.index].effects.links = true
		w.write(inv.index, literal("."), in)
		if t.absolute {
			w.vague(inv, "tar -P writes where the archive says")
		}
	default:
		if !t.named {
			w.vague(inv, "tar writes where the environment says")
		} else if t.archive.text != "-" {
			w.write(inv.index, t.archive, st)
		}
		if t.removes {
			for _, f := range t.operands {
				w.remove(inv.index, f, in)
			}
		}
	}
}
