package install

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/internal/client"
	"agentd/internal/config"
)

// Client is where a client keeps its hooks, and how that looks. Paths begin with ./ (the project), ~/ (the
// home folder) or / and have slashes.
type Client struct {
	Name, Title string
	// Project and User are the files that are written. A project's is one that isn't shared with others where
	// the client has such a file, as what is written are paths of this machine.
	Project, User string
	// Homes are variables that move a folder or a file, by what they move.
	Homes map[string]string
	// Start is what a new file begins as, "{}" if empty. Its members are added to an old one too; one that has them
	// otherwise isn't touched.
	Start string
	// Grouped: handlers stand in groups, {"hooks": [HANDLER]}, each with a matcher of its own.
	Grouped bool
	// Handler is a registration; the words in capitals are filled in.
	Handler string
	// Closed is what is added where the client itself can refuse what wasn't answered: at events that fail
	// closed, or, with ClosedAt, at those.
	Closed   string
	ClosedAt []string
	// Login: the client starts handlers with its user's login shell, so that what a profile prints comes before the
	// answer.
	Login bool
	// Plain: the client reads plain JSON, and nothing of a file with a comment or a comma too many in it. Mark: it
	// takes a byte-order mark all the same. Top are the only keys that it takes at the top of a file, if it doesn't
	// take all.
	Plain, Mark bool
	Top         []string
	// Strict: the client reads nothing of a file with an event in it that it doesn't know.
	Strict bool
	// Shadows are files whose presence keeps the client from reading ours, as its manual says, by ours.
	Shadows map[string][]string
	// Skip are events that aren't registered, with the reason.
	Skip map[string]string
	// Also are events that are registered though no point of ours is their own.
	Also []string
	// Plugin is the file as it is written, where that is one of ours and no configuration; SETTINGS is filled in.
	Plugin string
	// Manifest is what a plugin of the client says about itself, in plugin.json two folders up; "" if the hook
	// is no plugin.
	Manifest string
	// Then is what a person has to do, "" if nothing.
	Then string
	// Needs are the versions of the client that run what is registered, if not all do.
	Needs Needs
	// Layers are the files that the client reads settings from, the strongest last; Switches are what turns
	// hooks off in them.
	Layers   []Layer
	Switches []Switch
	// Canary is an event about the tool that agentd always refuses; TOOL is filled in.
	Canary, CanaryEvent string
}

// Needs are the versions of a client that will do, with why no other does; Argv starts what tells the version.
type Needs struct {
	Argv     []string
	Versions client.Versions
	Why      string
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

// Registrations are the events that are registered, in the order of the client's manual. The policy says which
// of them fail closed, where it says something.
func (c Client) Registrations(policy config.Clients) (out []Registration) {
	codec, err := client.For(c.Name)
	if err != nil {
		return nil
	}
	for _, k := range codec.Events() {
		if c.registers(k) {
			r := Registration{Event: k.Name, Point: k.Point, Closed: closed(policy, k.Point), Timeout: timeout(k)}
			if c.Plugin != "" {
				r.Timeout = pluginTimeout
			}
			out = append(out, r)
		}
	}
	return out
}

// registers reports whether an event is registered. Those that no point is for would start a process for
// nothing, and a client of another version may refuse a name that it doesn't know, and all the rest with it.
func (c Client) registers(k client.Known) bool {
	if _, skip := c.Skip[k.Name]; skip {
		return false
	}
	return k.Point != "client.event" || slices.Contains(c.Also, k.Name)
}

// closed reports whether an event is refused when nobody answers at all: by default where hooks may refuse what
// would happen, and at a tool's result. The only refusal that every client understands without its own words is
// an exit code, and at the end of a turn or of a subagent that would send the agent on, so there nothing is.
func closed(policy config.Clients, point string) bool {
	p := catalogue.Point(point)
	if p == nil || point == "turn.after" || point == "subagent.after" {
		return false
	}
	switch {
	case slices.Contains(policy.Closed, point):
		return true
	case slices.Contains(policy.Open, point), point == "client.event", point == "context.compact.before":
		return false
	}
	return point == "tool.after" || p.Phase != hookpoints.After && p.Allows&hookpoints.SetOf(hookpoints.Reject, hookpoints.Deny) != 0
}

var catalogue = hookpoints.Standard()

func timeout(k client.Known) time.Duration {
	if k.Longest > 0 {
		return k.Longest
	}
	if p := catalogue.Point(k.Point); p != nil && p.Allows&^observed == 0 {
		return max(k.Limit, observing)
	}
	return max(k.Limit, patience)
}

// observed is what hooks may say that decides nothing.
var observed = hookpoints.SetOf(hookpoints.Annotate, hookpoints.Remember, hookpoints.Effect, hookpoints.Halt)

// Skipped lists the events that aren't registered, sorted.
func (c Client) Skipped() []string { return sortedKeys(c.Skip) }
