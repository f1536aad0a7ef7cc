package install

import (
	"bytes"
	_ "embed" // the plugin
	"errors"
	"strings"
	"time"
)

// opencodePlugin is what speaks for OpenCode, which starts no commands.
//
//go:embed opencode.js
var opencodePlugin string

// pluginTimeout is how long a plugin of ours waits; its client waits for it as long as it takes.
const pluginTimeout = time.Minute

// plugin is the file as it has to be. A file of that name that isn't ours is refused.
func (q Request) plugin(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) > 0 && !ourPlugin(text) {
		return nil, errors.New("it isn't the plugin that agentd writes; move it away")
	}
	closed := []string{}
	for _, r := range q.Client.Registrations(q.Policy) {
		if r.Closed {
			closed = append(closed, r.Event)
		}
	}
	settings := quoted(map[string]any{"program": q.program(), "anywhere": q.User, "timeout": int(pluginTimeout / time.Second), "closed": closed})
	return []byte(strings.Replace(q.Client.Plugin, "SETTINGS", settings, 1)), nil
}

// ourPlugin reports whether a file begins as ours do.
func ourPlugin(text []byte) bool { return bytes.HasPrefix(text, []byte("// agentd's plugin for ")) }

// lookAtPlugin looks at a plugin, and reports whether it is ours.
func (q Request) lookAtPlugin(l *Looked, b *book, file Change) bool {
	if !ourPlugin(file.before) {
		l.warn("move it away, and then "+q.again(), "%s isn't the plugin that agentd writes", file.Path)
		return false
	}
	l.ok("the plugin is %s", file.Path)
	if want, err := q.plugin(file.before); err != nil || !bytes.Equal(want, file.before) {
		l.fail(q.again(), "%s isn't as agentd would write it: somebody changed it, or another agentd wrote it", file.Path)
	}
	r := Registration{Event: q.Client.CanaryEvent, Closed: true, Timeout: pluginTimeout}
	l.Canary = append(l.Canary, Start{q.scope(), append([]string{q.program()}, r.arguments(q.Client.Name, q.User)...)})
	q.programs(l, b, file.Path, q.again())
	return true
}
