package hookpoints

import (
	"time"

	"agentd/hookpoints/payload"
)

// Layer orders and limits bindings.
type Layer uint8

// The layers, first to last.
const (
	Shipped Layer = iota
	User
	Project
)

var layerNames = [...]string{"shipped", "user", "project"}

// String is "shipped", "user" or "project".
func (l Layer) String() string { return layerNames[l] }

// Layers lists the layers, first to last.
func Layers() []Layer { return []Layer{Shipped, User, Project} }

// ParseLayer is the inverse of String.
func ParseLayer(s string) (Layer, bool) {
	for i, n := range layerNames {
		if n == s {
			return Layer(i), true
		}
	}
	return 0, false
}

// DefaultPriority is that of a binding that says nothing. Smaller runs first.
const DefaultPriority = 100

// The failure policies.
const (
	Block    = "block"
	Continue = "continue" // only for observation hooks
)

// Streams of a binding at an after point.
const (
	Held        = "held"        // live output waits for the chain
	Provisional = "provisional" // it doesn't
)

// Binding puts a hook at a point. Its fields are named as in the manifest. It is immutable once it is
// in a Table.
type Binding struct {
	BindingID     string // layer/id
	HookID        string
	Version       string
	Point         string
	Priority      int
	Layer         Layer
	File          string // where the hook is defined, as a path in its layer
	Line          int
	ConfigOrder   int      // the place of its entry, from 1, where agentd.yaml bound it; 0 elsewhere
	Purposes      []string // nil: the point's default; empty: never matches
	Instances     []string // nil: both
	Targets       []string // empty: all
	Kinds         []string // empty: all
	Clients       []string // empty: all
	Config        payload.Value
	Timeout       time.Duration
	FailurePolicy string
	Observation   bool
	Guard         bool
	Background    bool
	Isolate       bool
	Untrusted     bool
	ReplaySafe    bool
	Stream        string
	Contract      int                                              // the contract version that the hook was written for
	FactKeys      []string                                         // the list form of facts
	StateCell     string                                           // layer/id, or layer/name where the hook names a shared one
	StateProject  bool                                             // the state is the project's, not the session's
	Effects       []string                                         // that its hook declares
	Grants        []string                                         // those of them that it may ask for
	CheckEffect   func(name string, arguments payload.Value) error // of those; as pure as hooks are, nil takes everything
	Hook          Hook
}
