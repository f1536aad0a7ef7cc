package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agentd/internal/client"
)

// Finding is something that was looked at: Level is ok, warning or error.
type Finding struct{ Level, What, Fix string }

// Looked is what a look at a client's configuration found.
type Looked struct {
	Findings []Finding
	Canary   []Start // the handlers that refuse the client's canary, if all is as it should be
}

// Start is how a client starts a registered handler.
type Start struct {
	Scope string
	Argv  []string // through a shell where the client does that
}

func (l *Looked) ok(format string, args ...any) {
	l.Findings = append(l.Findings, Finding{"ok", fmt.Sprintf(format, args...), ""})
}

func (l *Looked) warn(fix, format string, args ...any) {
	l.Findings = append(l.Findings, Finding{"warning", fmt.Sprintf(format, args...), fix})
}

func (l *Looked) fail(fix, format string, args ...any) {
	l.Findings = append(l.Findings, Finding{"error", fmt.Sprintf(format, args...), fix})
}

// Look looks at everything in a client's configuration that keeps its events from agentd. It changes nothing.
func Look(q Request) Looked {
	l := &Looked{}
	registered := 0
	for _, user := range []bool{false, true} {
		q.User = user
		if q.check() != nil { // there is no project
			continue
		}
		if q.look(l) {
			registered++
		}
	}
	switch registered {
	case 0:
		l.fail("agentd install "+q.Client.Name, "no hook of agentd is registered for %s", q.Client.Title)
	case 2:
		l.warn("agentd uninstall "+q.Client.Name+" --user, or without --user", "the hook is registered for this project and for all of yours: each event arrives twice, and is judged once")
	}
	q.layers(l)
	if look := trusts[q.Client.Name]; look != nil && registered > 0 {
		look(q, l)
	}
	return *l
}

// look looks at one scope, and reports whether the hook is registered there.
func (q Request) look(l *Looked) bool {
	r := reader{q: q}
	file := r.file(q.file())
	if r.err != nil {
		l.fail("correct it", "the configuration can't be read: %v", r.err)
		return false
	}
	if file.before == nil {
		return false
	}
	if q.Client.Plugin != "" {
		return q.lookAtPlugin(l, r.book(), file)
	}
	root, hooks, err := open(file.before)
	if err != nil {
		l.fail("correct the file", "%s: %v", file.Path, err)
		return false
	}
	found := map[string][]place{}
	for _, m := range members(hooks) {
		if m.value.kind != '[' && !q.registers(m.key) { // a setting beside the events
			continue
		}
		places, err := q.Client.ours(file.before, &m.value)
		if err != nil {
			l.fail("correct the file", "%s: %v", file.Path, err)
			return false
		}
		if len(places) > 0 {
			found[m.key] = places
		}
		hand := byHand(&m.value)
		if len(hand) > 0 {
			l.warn("take it out of "+file.Path, "%s has another handler that starts agentd hook: the event arrives twice, and is judged once", m.key)
		}
		for _, p := range places {
			hand = append(hand, p.argv)
		}
		for _, argv := range hand {
			if event := eventOf(argv); event != "" && client.PointOf(q.Client.Name, event) != client.PointOf(q.Client.Name, m.key) {
				l.fail("correct it in "+file.Path, "%s has a handler that is for another event, --event=%s: what guards less than that is refused", m.key, event)
			}
		}
	}
	if len(found) == 0 {
		return false
	}
	again := q.again()
	l.ok("the hook is registered in %s", file.Path)
	if unknown := q.Client.unknown(hooks); len(unknown) > 0 {
		l.warn("correct it, or take it out of "+file.Path, "nobody here knows the event %s: if %s doesn't either, it reads nothing of %s without a word",
			strings.Join(unknown, ", "), q.Client.Title, file.Path)
	}
	if err := q.Client.reads(file.before); err != nil {
		l.fail("correct the file", "no hook in %s runs: %v", file.Path, err)
	}
	if lacks := q.Client.lacks(root); len(lacks) > 0 {
		l.fail(again, "%s lacks %s at its top, and %s may read nothing of it without", file.Path, strings.Join(lacks, ", "), q.Client.Title)
	}
	ours := q.Client.Project
	if q.User {
		ours = q.Client.User
	}
	for _, path := range q.Client.Shadows[ours] {
		if _, err := os.Stat(q.resolve(path)); err == nil {
			l.fail("move the hooks that stand in it to "+file.Path+", and it away", "%s is there, and where it is %s doesn't read the hooks in %s", q.resolve(path), q.Client.Title, file.Path)
		}
	}
	q.compare(l, file, hooks, found, again)
	q.programs(l, r.book(), file.Path, again)
	return true
}

// registers reports whether a key of the hooks is an event that is registered.
func (q Request) registers(event string) bool {
	return slices.ContainsFunc(q.Client.Registrations(q.Policy), func(r Registration) bool { return r.Event == event })
}

// again is the verb that puts things right.
func (q Request) again() string {
	if q.User {
		return "agentd install " + q.Client.Name + " --user"
	}
	return "agentd install " + q.Client.Name
}

// compare holds what is registered to what would be.
func (q Request) compare(l *Looked, file Change, hooks *node, found map[string][]place, again string) {
	var missing, other, less []string
	gone := false
	for _, reg := range q.Client.Registrations(q.Policy) {
		places := found[reg.Event]
		if len(places) == 0 {
			missing = append(missing, reg.Event)
			gone = gone || reg.Closed
			continue
		}
		p := places[0]
		item := hooks.get(reg.Event).children[p.item].value
		if len(places) > 1 || !same(file.before[item.start:item.end], q.Client.handler(reg, q.program(), q.User)) {
			other = append(other, reg.Event)
			if why := q.Client.lessOf(file.before, places); reg.Closed && why != "" {
				less = append(less, reg.Event+" ("+why+")")
			}
		}
		if reg.Event == q.Client.CanaryEvent {
			l.Canary = append(l.Canary, Start{q.scope(), q.start(places[0])})
		}
	}
	switch {
	case gone:
		l.fail(again, "not registered: %s; what happens there is decided by nobody", strings.Join(missing, ", "))
	case len(missing) > 0:
		l.warn(again, "not registered: %s", strings.Join(missing, ", "))
	}
	if len(less) > 0 {
		l.fail(again, "registered for less than all that happens: %s; what is left out is decided by nobody", strings.Join(less, ", "))
	}
	if len(other) > 0 {
		l.warn(again, "registered in another way than agentd would: %s", strings.Join(other, ", "))
	}
}

// start is how the client starts a handler.
func (q Request) start(p place) []string {
	if strings.Contains(q.Client.Handler, `"ARGUMENTS"`) && p.line == p.argv[0] {
		return p.argv
	}
	if shell := q.Getenv("SHELL"); q.Client.Login && shell != "" {
		return []string{shell, "-lc", p.line}
	}
	return []string{"sh", "-c", p.line}
}

// programs looks at what the client starts, and what that becomes without a daemon.
func (q Request) programs(l *Looked, b *book, file, again string) {
	e, known := b.entry(q.Client.Name, file)
	text, err := os.ReadFile(q.program())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fail(again, "what the client starts isn't there: %s", q.program())
	case err != nil:
		l.fail(again, "what the client starts can't be read: %v", err)
	case !known:
		l.warn(again, "nothing says what was installed, so %s can't be compared", q.program())
	case hash(text) != e.Program:
		l.fail(again, "%s isn't what was installed: somebody changed it", q.program())
	default:
		l.ok("%s is what was installed, SHA-256 %s", q.program(), e.Program[:16])
		if ours, err := Program(q.Places.Program); err == nil && !bytes.Equal(ours, text) {
			l.warn(again, "%s is that of another agentd than this one", q.program())
		}
	}
	argv, err := os.ReadFile(filepath.Join(q.dir(), argvName))
	if err != nil {
		l.fail(again, "what is started where no daemon answers can't be read: %v", err)
		return
	}
	agentd, _, _ := strings.Cut(string(argv), "\n")
	switch st, err := os.Stat(agentd); {
	case err != nil:
		l.fail(again, "agentd isn't where it was at the install, so without a daemon nothing decides: %v", err)
	case st.Mode()&0o111 == 0:
		l.fail(again, "agentd can't be started: %s is no program", agentd)
	case !bytes.Equal(argv, q.argv()):
		l.warn(again, "without a daemon %s is started, and this is another agentd or another project", agentd)
	}
}

// layers looks for switches in all files that the client reads.
func (q Request) layers(l *Looked) {
	var there []string
	for _, layer := range q.Client.Layers {
		if strings.HasPrefix(layer.Path, "./") && q.Places.Project == "" {
			continue
		}
		path := q.resolve(layer.Path)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var root *node
		if err == nil {
			root, err = parse(text)
		}
		if err != nil {
			l.warn("correct the file", "the %s settings %s can't be read, so whether they turn hooks off isn't known: %v", layer.Name, path, err)
			continue
		}
		there = append(there, layer.Name+" "+path)
		for _, s := range q.Client.Switches {
			if (s.Layers == nil || slices.Contains(s.Layers, layer.Name)) && s.off(text, root) {
				l.fail(s.Fix+" in "+path, "%s in the %s settings", s.Means, layer.Name)
			}
		}
	}
	if len(there) > 0 {
		l.ok("settings: %s", strings.Join(there, ", "))
	}
}

// off reports whether a switch is thrown.
func (s Switch) off(text []byte, root *node) bool {
	n := root.get(strings.Split(s.Path, ".")...)
	if n == nil {
		return false
	}
	if s.Has == "" {
		return string(text[n.start:n.end]) == s.Is
	}
	return slices.ContainsFunc(n.children, func(c child) bool { return c.value.text == s.Has })
}

func members(n *node) []child {
	if n == nil {
		return nil
	}
	return n.children
}

// byHand finds handlers below a value that start agentd hook itself.
func byHand(n *node) (found [][]string) {
	for _, name := range commandFields {
		if c := n.get(name); c != nil && c.kind == '"' {
			if w := words(c.text); len(w) > 1 && path.Base(w[0]) == "agentd" && slices.Contains(w, "hook") {
				found = append(found, w)
			}
		}
	}
	for i := range n.children {
		found = append(found, byHand(&n.children[i].value)...)
	}
	return found
}

// eventOf is what a command line says the event is, "" if it doesn't.
func eventOf(argv []string) string {
	for i, arg := range argv {
		if event, ok := strings.CutPrefix(arg, "--event="); ok {
			return event
		}
		if arg == "--event" && i+1 < len(argv) {
			return argv[i+1]
		}
	}
	return ""
}

// CanaryInput is the event that agentd always refuses, as the client would write it.
func (c Client) CanaryInput(tool, cwd, now string) []byte {
	text := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string always can be
		}
		return string(b)
	}
	return []byte(strings.NewReplacer(`"TOOL"`, text(tool), `"CWD"`, text(cwd), `"TIME"`, text(now)).Replace(c.Canary))
}
