package install

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/internal/client"
)

// Client is where a client keeps its hooks, and how that looks. Paths begin with ./ (the project), ~/ (the
// home folder) or / and have slashes.
type Client struct {
	Name, Title string
	// Project and User are the files that are written. A project's is one that isn't shared with others where
	// the client has such a file, as what is written are paths of this machine.
	Project, User string
	// Homes are variables that move a folder, by the folder.
	Homes map[string]string
	// Start is what a new file begins as, "{}" if empty. Its members are added to an old one too.
	Start string
	// Grouped: handlers stand in groups, {"hooks": [HANDLER]}, each with a matcher of its own.
	Grouped bool
	// Handler is a registration; the words in capitals are filled in.
	Handler string
	// Closed is what is added where the client itself can refuse what wasn't answered: at events that fail
	// closed, or, with ClosedAt, at those.
	Closed   string
	ClosedAt []string
	// Skip are events that aren't registered, with the reason.
	Skip map[string]string
	// Beside are further files that the client needs, by their path.
	Beside map[string]string
	// Then is what a person has to do, "" if nothing.
	Then string
	// Layers are the files that the client reads settings from, the strongest last; Switches are what turns
	// hooks off in them.
	Layers   []Layer
	Switches []Switch
	// Canary is an event about the tool that agentd always refuses; TOOL is filled in.
	Canary, CanaryEvent string
}

// Layer is a file of settings.
type Layer struct{ Name, Path string }

// Switch is a setting that turns hooks off.
type Switch struct {
	Layers []string // where it counts; nil is everywhere
	Path   string   // keys with dots between them
	Is     string   // the value that turns hooks off, as JSON
	Has    string   // or: an item of a list
	Means  string
	Fix    string
}

// patience is how long a client is told to wait where something is decided and it has no limit of its own: the
// longest that any client has without being told. observing is that for events where nothing can be decided.
const (
	patience  = 10 * time.Minute
	observing = time.Minute
)

// Registration is one handler of a client's configuration.
type Registration struct {
	Event   string
	Point   string
	Closed  bool // without an answer the event is refused
	Timeout time.Duration
}

// For finds a client that can be installed.
func For(name string) (Client, error) {
	for _, c := range Clients {
		if c.Name == name {
			if _, err := client.For(name); err != nil {
				return c, err
			}
			return c, nil
		}
	}
	return Client{}, fmt.Errorf("nothing can be installed for the client %q; those that can: %s", name, strings.Join(Names(), ", "))
}

// Names lists the clients that agentd can be installed for.
func Names() (names []string) {
	for _, c := range Clients {
		if _, err := client.For(c.Name); err == nil {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Registrations are the events that are registered, in the order of the client's manual.
func (c Client) Registrations() (out []Registration) {
	codec, err := client.For(c.Name)
	if err != nil {
		return nil
	}
	for _, k := range codec.Events() {
		if _, skip := c.Skip[k.Name]; !skip {
			out = append(out, Registration{Event: k.Name, Point: k.Point, Closed: closed(k.Point), Timeout: timeout(k)})
		}
	}
	return out
}

// closed are the points at which something runs, or is shown, that nobody has looked at.
func closed(point string) bool {
	return point == "tool.before" || point == "tool.confirm" || point == "tool.after"
}

func timeout(k client.Known) time.Duration {
	if k.Longest > 0 {
		return k.Longest
	}
	if p := hookpoints.Standard().Point(k.Point); p != nil && p.Allows&^observed == 0 {
		return max(k.Limit, observing)
	}
	return max(k.Limit, patience)
}

// observed is what hooks may say that decides nothing.
var observed = hookpoints.SetOf(hookpoints.Annotate, hookpoints.Remember, hookpoints.Effect, hookpoints.Halt)

// Clients is the table.
var Clients = []Client{
	{
		Name: "gemini", Title: "Gemini CLI", Project: "./.gemini/settings.json", User: "~/.gemini/settings.json",
		Homes: map[string]string{"~": "GEMINI_CLI_HOME"}, Grouped: true,
		Handler: `{"type":"command","name":"agentd","command":"LINE","timeout":"MILLISECONDS"}`,
		Layers: []Layer{
			{"system defaults", "/etc/gemini-cli/system-defaults.json"}, {"user", "~/.gemini/settings.json"}, {"project", "./.gemini/settings.json"}, {"system", "/etc/gemini-cli/settings.json"},
		},
		Switches: []Switch{
			{Path: "hooksConfig.enabled", Is: "false", Means: "hooks are switched off", Fix: `remove "enabled": false from hooksConfig`},
			{Path: "hooksConfig.disabled", Has: "agentd", Means: "the hook named agentd is switched off", Fix: `take "agentd" out of hooksConfig.disabled, or say /hooks enable agentd`},
		},
		CanaryEvent: "BeforeTool",
		Canary:      `{"session_id":"agentd-doctor","transcript_path":"","cwd":"CWD","hook_event_name":"BeforeTool","timestamp":"TIME","tool_name":"TOOL","tool_input":{}}`,
	},
}

// Skipped lists the events that aren't registered, sorted.
func (c Client) Skipped() []string { return sortedKeys(c.Skip) }
