package revision

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// ConfigFile is the name of a layer's configuration.
const ConfigFile = "agentd.yaml"

// Config is the part of agentd.yaml that a revision freezes. Live keys are read elsewhere; here they
// are only known not to be mistakes.
type Config struct {
	Agents map[string]Agent
	Hooks  []Entry
	Facts  []string            // patterns of keys that hooks may ask for
	Grants map[string][]string // effects by the id of a hook or binding

	Webhooks []string // where webhooks may send to

	FactLines    []int          // the line of each pattern of Facts
	GrantLines   map[string]int // the line of each id of Grants
	WebhookLines []int          // the line of each entry of Webhooks
}

// Agent is one agent. Zero fields have the defaults of Defaults.
type Agent struct {
	Model    Model    `json:"model"`
	Tools    []string `json:"tools"`
	Confirm  string   `json:"confirm"`   // allow, ask or deny: when no tool.confirm hook answers
	MaxSteps int      `json:"max_steps"` // model calls a turn
	Budget   Budget   `json:"budget,omitzero"`
}

// Budget is what a session of an agent may use. It stops nothing by itself: hooks see how much is left.
type Budget struct {
	Tokens int64 `json:"tokens"` // as the model's server counts them; 0: nothing is said
}

// Model says which model answers, and where.
type Model struct {
	Provider  string `json:"provider"` // openai or scripted
	Name      string `json:"name,omitempty"`
	BaseURL   string `json:"base_url,omitempty"`
	APIKeyEnv string `json:"api_key_env,omitempty"` // the name of the variable, never the key
	File      string `json:"file,omitempty"`        // of scripted: the scenario, from the project's folder
}

// Entry is one binding of agentd.yaml. Nil fields were not written.
type Entry struct {
	Line          int
	BindingID     string
	HookID        string
	Version       string
	Points        []string
	Priority      *int
	Timeout       *time.Duration
	FailurePolicy *string
	Config        payload.Value
	Enabled       *bool
	Purposes      []string
	Instances     []string
	Targets       []string
	Kinds         []string
	Clients       []string
}

// liveKeys are read by the daemon while it runs and aren't frozen, with the keys below them.
var liveKeys = map[string][]string{"listen": nil, "log": {"level"}, "store": {"key_file"}, "questions": {"timeout"}, "require_signature": nil, "clients": {"open", "closed"}, "allow_unconfined": nil}

// MaxConfigFile bounds agentd.yaml, in bytes.
const MaxConfigFile = 1 << 20

// ParseConfig reads agentd.yaml from its YAML nodes. Unknown keys are faults with their line. No
// text is an empty configuration. A fault of an entry of hooks has its binding_id as written.
func ParseConfig(text []byte) (Config, []Fault) {
	c := Config{}
	root, fault := document(text)
	if fault != nil {
		return c, []Fault{*fault}
	}
	if root == nil {
		return c, nil
	}
	d := &yamlDecoder{}
	d.mapping(root, "", func(key string, k, v *yaml.Node) {
		switch key {
		case "agents":
			c.Agents = map[string]Agent{}
			d.mapping(v, "agents", func(name string, _, v *yaml.Node) { c.Agents[name] = d.agent(name, v) })
		case "hooks":
			for _, item := range d.sequence(v, "hooks") {
				c.Hooks = append(c.Hooks, d.entry(item))
			}
		case "facts":
			c.Facts, c.FactLines = d.allowed(v, "facts")
		case "grants":
			c.Grants, c.GrantLines = map[string][]string{}, map[string]int{}
			d.mapping(v, "grants", func(hook string, k, v *yaml.Node) {
				c.Grants[hook], c.GrantLines[hook] = d.texts(v, "grants."+hook), k.Line
			})
		case "webhooks":
			c.Webhooks, c.WebhookLines = d.allowed(v, "webhooks")
		default:
			below, live := liveKeys[key]
			switch {
			case !live:
				d.unknown(k, key, append([]string{"agents", "facts", "grants", "hooks", "webhooks"}, slices.Sorted(maps.Keys(liveKeys))...)...)
			case below != nil:
				d.mapping(v, key, func(name string, k, _ *yaml.Node) {
					if !slices.Contains(below, name) {
						d.unknown(k, key+"."+name, below...)
					}
				})
			}
		}
	})
	return c, d.faults
}

// allowed reads a mapping with the one key allow: a list, with the line of each item.
func (d *yamlDecoder) allowed(n *yaml.Node, name string) (items []string, lines []int) {
	d.mapping(n, name, func(key string, k, v *yaml.Node) {
		if key != "allow" {
			d.unknown(k, name+"."+key, "allow")
			return
		}
		items = d.texts(v, name+".allow")
		for _, item := range v.Content {
			lines = append(lines, item.Line)
		}
	})
	return items, lines
}

func (d *yamlDecoder) agent(name string, n *yaml.Node) Agent {
	a, faults := Agent{}, len(d.faults)
	d.mapping(n, "agents."+name, func(key string, k, v *yaml.Node) {
		switch key {
		case "model":
			a.Model = d.model(v)
		case "tools":
			a.Tools = d.texts(v, "tools")
		case "confirm":
			a.Confirm = d.oneOf(v, "confirm", "allow", "ask", "deny")
		case "max_steps":
			if a.MaxSteps = d.integer(v, "max_steps"); a.MaxSteps < 1 || a.MaxSteps > 10000 {
				d.fault(v, "use 1 to 10000", "max_steps is %d", a.MaxSteps)
			}
		case "budget":
			a.Budget = d.budget(v)
		default:
			d.unknown(k, key, "model", "tools", "confirm", "max_steps", "budget")
		}
	})
	if a.Model.Provider == "" && len(d.faults) == faults {
		d.fault(n, "write model: {provider: openai, name: NAME} or {provider: scripted}", "the agent %q has no model with a provider", name)
	}
	return a
}

// maxTokens bounds a budget, so that sums of tokens stay far from the end of an int64.
const maxTokens = 1_000_000_000_000

func (d *yamlDecoder) budget(n *yaml.Node) (b Budget) {
	d.mapping(n, "budget", func(key string, k, v *yaml.Node) {
		if key != "tokens" {
			d.unknown(k, "budget."+key, "tokens")
			return
		}
		if b.Tokens = int64(d.integer(v, "tokens")); b.Tokens < 1 || b.Tokens > maxTokens {
			d.fault(v, fmt.Sprintf("use 1 to %d", int64(maxTokens)), "tokens is %d", b.Tokens)
		}
	})
	return b
}

func (d *yamlDecoder) model(n *yaml.Node) Model {
	m := Model{}
	d.mapping(n, "model", func(key string, k, v *yaml.Node) {
		switch key {
		case "provider":
			m.Provider = d.oneOf(v, "provider", "openai", "scripted")
		case "name":
			m.Name = d.text(v, key)
		case "base_url":
			m.BaseURL = d.text(v, key)
		case "api_key_env":
			m.APIKeyEnv = d.text(v, key)
		case "file":
			m.File = d.text(v, key)
		default:
			d.unknown(k, key, "provider", "name", "base_url", "api_key_env", "file")
		}
	})
	return m
}

func (d *yamlDecoder) entry(n *yaml.Node) Entry {
	e, from := Entry{Line: n.Line}, len(d.faults)
	d.mapping(n, "hooks", func(key string, k, v *yaml.Node) {
		switch key {
		case "binding_id":
			e.BindingID = d.text(v, key)
		case "hook_id":
			e.HookID = d.text(v, key)
		case "version":
			e.Version = d.text(v, key)
		case "point":
			if v.Kind == yaml.SequenceNode {
				e.Points = d.texts(v, key)
			} else {
				e.Points = []string{d.text(v, key)}
			}
		case "priority":
			p := d.integer(v, key)
			if p < -10000 || p > 10000 {
				d.fault(v, "use -10000 to 10000", "priority is %d", p)
			}
			e.Priority = &p
		case "timeout":
			t := d.duration(v, key)
			e.Timeout = &t
		case "failure_policy":
			p := d.oneOf(v, key, hookpoints.Block, hookpoints.Continue)
			e.FailurePolicy = &p
		case "config":
			e.Config = d.json(v)
		case "enabled":
			b := d.oneOf(v, key, "true", "false") == "true"
			e.Enabled = &b
		case "purposes":
			e.Purposes = d.texts(v, key)
		case "instances":
			e.Instances = d.texts(v, key)
		case "targets":
			e.Targets = d.texts(v, key)
		case "kinds":
			e.Kinds = d.texts(v, key)
		case "clients":
			e.Clients = d.texts(v, key)
		default:
			d.unknown(k, key, "binding_id", "hook_id", "version", "point", "priority", "timeout", "failure_policy", "config", "enabled",
				"purposes", "instances", "targets", "kinds", "clients")
		}
	})
	if e.BindingID == "" {
		d.fault(n, "write binding_id: NAME", "an entry of hooks has no binding_id")
	}
	for i := range d.faults[from:] {
		d.faults[from+i].BindingID = e.BindingID
	}
	return e
}
