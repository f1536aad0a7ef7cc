package tool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentd/internal/secret"
)

// odd is a value that means something in every place of a shell's line.
const odd = `p'a"s $(touch ` + "`echo hit`" + `) \ * !x;{a,b}`

const handle = "secret:key:aaaaaaaaaaaaaaaa"

// oneSecret opens one handle.
type oneSecret string

// Handles implements Secrets.
func (s oneSecret) Handles(text string) ([]secret.Handle, error) {
	var out []secret.Handle
	for at := 0; ; {
		i := strings.Index(text[at:], handle)
		if i < 0 {
			return out, nil
		}
		out = append(out, secret.Handle{Start: at + i, End: at + i + len(handle), Value: string(s)})
		at += i + len(handle)
	}
}

// Mask implements Secrets.
func (s oneSecret) Mask(text string) string { return strings.ReplaceAll(text, string(s), handle) }

// TestAValueIsATextWhereverItStands runs each line and compares what the command got; H is the handle and V the value.
func TestAValueIsATextWhereverItStands(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`printf %s H`, `V`},
		{`printf %s xHy`, `xVy`},
		{`printf %s "H"`, `V`},
		{`printf %s "Bearer H."`, `Bearer V.`},
		{`printf %s 'H'`, `V`},
		{`printf %s 'a"H"b'`, `a"V"b`},
		{`printf %s $'\tH\n'z`, "\tV\nz"},
		{`printf %s-%s H "H"`, `V-V`},
		{`x=H; printf %s "$x"`, `V`},
		{`x=H printenv x`, "V\n"},
		{`export x="H"; printenv x`, "V\n"},
		{`a=(b H); printf %s "${a[1]}"`, `V`},
		{`for x in a H; do printf %s "$x"; done`, `aV`},
		{`printf %s "$(printf %s "H")"`, `V`},
		{`printf %s "$(printf %s H)"`, `V`},
		{"printf %s \"`printf %s H`\"", `V`},
		{"cat <<E\nx H y\nE", "x V y\n"},
		{"cat <<'E'\nx H y\nE", "x V y\n"},
		{"cat <<-\"E\"\n\tH\n\tE", "V\n"},
		{`cat <<< H`, "V\n"},
		{`case H in H) printf yes;; esac`, `yes`},
		{`printf %s ok # H`, `ok`},
		{`bash "H" 2>/dev/null || printf %s "$?"`, `127`},
		{`printf %s '\H'`, `\V`},
		{`printf %s "\\H"`, `\V`},
		{`(printf %s H; { printf %s H; }) | cat`, `VV`},
		{`f() { printf %s "$1"; }; f H`, `V`},
		{`if [ H = "H" ]; then printf same; fi`, `same`},
	} {
		line := strings.ReplaceAll(c.line, "H", handle)
		found, err := oneSecret(odd).Handles(line)
		if err != nil {
			t.Fatal(err)
		}
		out, env, err := splice(line, found, true)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		cmd := exec.Command("bash", "-c", out)
		cmd.Env, cmd.Dir = append(os.Environ(), env...), t.TempDir()
		got, err := cmd.CombinedOutput()
		if want := strings.ReplaceAll(c.want, "V", odd); err != nil || string(got) != want {
			t.Errorf("%s became %s and gave %q, %v; want %q", c.line, out, got, err, want)
		}
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s became %s and ran a part of the value", c.line, out)
		}
	}
}

func TestAValueIsntPutWhereItWouldBeCode(t *testing.T) {
	for _, line := range []string{
		`eval "echo H"`, `eval echo H`, `bash -c 'echo H'`, `/bin/sh -ec "echo H"`, `let x=H`, `trap 'echo H' EXIT`, `su -c "echo H"`,
		`echo $((H))`, `((x = H))`, `a[H]=1`, `a=([H]=1)`, `[[ H -eq 1 ]]`, `echo ${x:-H}`, `echo ${x/H/y}`, `echo "${x:-H}"`, `echo ${x:H}`,
		`echo \H`, `echo "\H"`, `echo "H`, `H() { :; }`, `echo ) H`, "cat <<'E'\n" + `${H`, `function H { :; }`, `echo $'\H'`,
	} {
		line := strings.ReplaceAll(line, "H", handle)
		found, err := oneSecret(odd).Handles(line)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := splice(line, found, true); err == nil {
			t.Errorf("%s became %s", line, out)
		}
	}
	for _, value := range []string{"END", "EN", "two\nlines"} { // it would end the document, or could
		line := "cat <<'END'\n" + handle + "\nEND"
		if found, _ := oneSecret(value).Handles(line); found != nil {
			if out, _, err := splice(line, found, true); err == nil {
				t.Errorf("%q became %s", value, out)
			}
		}
	}
}

func TestTheShellIsGivenTheValueAndTellsTheHandle(t *testing.T) {
	dir := files(t, map[string]string{"there.txt": "it was " + odd + "\n"})
	s := open(t, dir, Options{})
	s.Open(oneSecret(odd))
	tool, _ := s.Tool("shell")
	res := tool.Call(context.Background(), Invocation{Arguments: value(t, `{"command":"printf '%s' \"`+handle+`\" > got.txt; cat got.txt there.txt; tr '\\0' ' ' < /proc/self/cmdline; exit 3"}`)})
	if res.Status != Failed || strings.Contains(res.Value.String(), "touch") {
		t.Errorf("%s %s", res.Status, res.Value)
	}
	if got := res.Value.Get("output").Text(); !strings.HasPrefix(got, handle+"it was "+handle+"\n") {
		t.Errorf("the output is %s", got)
	}
	if got := content(t, dir)["got.txt"]; got != odd {
		t.Errorf("the command wrote %s", got)
	}
}

// TestFilesKeepTheirValues edits a file that holds a value already, and another that is given one.
func TestFilesKeepTheirValues(t *testing.T) {
	dir := files(t, map[string]string{"a.txt": "key=" + odd + "\nmode=1\n"})
	s := open(t, dir, Options{})
	s.Open(oneSecret(odd))
	for name, args := range map[string]string{
		"edit_file":  `{"path":"a.txt","old":"` + handle + `\nmode=1","new":"` + handle + `\nmode=2"}`,
		"write_file": `{"path":"b.txt","content":"<` + handle + `>"}`,
	} {
		tool, _ := s.Tool(name)
		w, err := tool.(Writer).Prepare(t.Context(), value(t, args))
		if err != nil {
			t.Fatal(name, err)
		}
		if text := w.Value().String(); strings.Contains(text, "touch") || !strings.Contains(text, handle) {
			t.Errorf("%s would be kept as %s", name, text)
		}
		again, err := WriteFrom(w.Value())
		if err != nil {
			t.Fatal(err)
		}
		if res := tool.(Writer).Commit(t.Context(), again); res.Status != Succeeded {
			t.Errorf("%s: %s", name, res.Value)
		}
	}
	want := map[string]string{"a.txt": "key=" + odd + "\nmode=2\n", "b.txt": "<" + odd + ">"}
	got := content(t, dir)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	read, _ := s.Tool("read_file")
	if res := read.Call(t.Context(), Invocation{Arguments: value(t, `{"path":"a.txt"}`)}); strings.Contains(res.Value.String(), "touch") || !strings.Contains(res.Value.String(), handle) {
		t.Errorf("it reads %s", res.Value)
	}
}

func TestAToolWhoseSecretIsGoneSaysSo(t *testing.T) {
	dir := files(t, nil)
	s := open(t, dir, Options{})
	s.Open(secret.New(nil).In("s"))
	for name, args := range map[string]string{
		"shell":      `{"command":"echo ` + handle + ` > x"}`,
		"write_file": `{"path":"x","content":"` + handle + `"}`,
		"read_file":  `{"path":"` + handle + `"}`,
	} {
		tool, _ := s.Tool(name)
		res := tool.Call(t.Context(), Invocation{Arguments: value(t, args)})
		if w, ok := tool.(Writer); ok {
			_, err := w.Prepare(t.Context(), value(t, args))
			if err == nil {
				t.Errorf("%s was prepared", name)
				continue
			}
			res = failure(Failed, err)
		}
		if res.Status != Failed || !strings.Contains(res.Value.String(), "ask for it again") {
			t.Errorf("%s: %s", name, res.Value)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("something was written")
	}
}
