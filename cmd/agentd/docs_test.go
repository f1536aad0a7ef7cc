package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite what is generated in docs/cli.md")

const (
	cliPage   = "../../docs/cli.md"
	generated = "<!-- generated: go test ./cmd/agentd -run Page -update -->\n"
	written   = "<!-- end -->\n"
)

// TestPageOfTheCommandLine holds docs/cli.md to the verbs and flags that there are. The rest of the
// page is written by hand.
func TestPageOfTheCommandLine(t *testing.T) {
	page, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), generated)
	is, after, ok2 := strings.Cut(rest, written)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for what is generated: %s ... %s", cliPage, generated, written)
	}
	want := verbTable((&env{}).command())
	if *update {
		if err := os.WriteFile(cliPage, []byte(before+generated+want+written+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, is); d != "" {
		t.Errorf("%s is stale; run go test ./cmd/agentd -run Page -update\n%s", cliPage, d)
	}
	for code, word := range map[int]string{exitDone: "done", exitFailed: "failed", exitUsage: "wrong usage", exitRejected: "rejected", exitPerson: "a person has to decide"} {
		if !strings.Contains(before+after, fmt.Sprintf("| %d | %s", code, word)) {
			t.Errorf("%s doesn't name exit code %d, %s", cliPage, code, word)
		}
	}
}

// verbTable lists every verb that does something, with its flags.
func verbTable(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("\n| verb | does | flags |\n|---|---|---|\n")
	row := func(c *cobra.Command) {
		var flags []string
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				flags = append(flags, flagText(f))
			}
		})
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", strings.ReplaceAll(strings.TrimSuffix(c.UseLine(), " [flags]"), "|", `\|`), c.Short, strings.Join(flags, "<br>"))
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.HasSubCommands() || c.HasParent() && c.Args != nil { // it does something by itself
			row(c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	out.WriteString("\nEvery verb takes:\n\n")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { fmt.Fprintf(&out, "- %s\n", flagText(f)) })
	out.WriteString("\n")
	return out.String()
}

func flagText(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	text := "`--" + f.Name
	if f.Shorthand != "" {
		text = "`-" + f.Shorthand + ", --" + f.Name
	}
	if name != "" {
		text += " " + name
	}
	text += "` " + usage
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
		text += " (default `" + f.DefValue + "`)"
	}
	return text
}

// inCode finds what a page shows as code: fenced, indented, or in a line.
var inCode = regexp.MustCompile("(?ms)^```.*?^```|^ {4}[^\n]*$|`[^`\n]+`")

// called finds a call of the program in it: not a file's name, nor the path of one.
var called = regexp.MustCompile(`(?:^|[\s$;|&(` + "`" + `])agentd ([a-z][^\n;|#` + "`" + `()]*)`)

// TestThePagesCallVerbsAndFlagsThatAreThere reads every call of agentd that a page shows as code.
func TestThePagesCallVerbsAndFlagsThatAreThere(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range inCode.FindAllString(string(text), -1) {
			for _, m := range called.FindAllStringSubmatch(code, -1) {
				calls++
				if fault := misspelt(strings.Fields(m[1])); fault != "" {
					t.Errorf("%s: agentd %s: %s", filepath.Base(page), m[1], fault)
				}
			}
		}
	}
	if calls < 150 {
		t.Errorf("only %d calls were found", calls)
	}
}

// misspelt says what of a call there isn't.
func misspelt(words []string) string {
	root := (&env{}).command()
	c, rest, err := root.Find(words)
	switch {
	case err != nil:
		return err.Error()
	case c == root:
		return "there is no such verb"
	case c.HasSubCommands() && c.Args == nil && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return c.CommandPath() + " has no " + rest[0]
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.Trim(word, "[],."), "=")
		if long, ok := strings.CutPrefix(name, "--"); ok {
			if c.Flags().Lookup(long) == nil && c.InheritedFlags().Lookup(long) == nil && long != "help" {
				return "there is no flag --" + long
			}
		}
	}
	return ""
}

// TestTheFirstSessionOfThePageIsTheScenario holds docs/clients.md to what walk.txtar plays: the hook, and the revision
// that it is published as, which is the same on every machine.
func TestTheFirstSessionOfThePageIsTheScenario(t *testing.T) {
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	played, err := txtar.ParseFile("testdata/script/walk.txtar")
	if err != nil {
		t.Fatal(err)
	}
	revision := regexp.MustCompile(`revision [0-9a-f]{64}`)
	if want := revision.Find(played.Comment); want == nil || string(revision.Find(page)) != string(want) {
		t.Errorf("the page has the %s, and walk.txtar the %s", revision.Find(page), want)
	}
	for _, f := range played.Files {
		if f.Name == "keep_going.star" {
			if !strings.Contains(string(page), "```python\n"+string(f.Data)+"```") {
				t.Errorf("docs/clients.md doesn't have the text of %s", f.Name)
			}
			return
		}
	}
	t.Error("walk.txtar has no keep_going.star")
}
