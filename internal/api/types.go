// Package api is the HTTP interface of the daemon, both ends: [Handler] serves it over a [Backend],
// [Client] speaks it. The same paths answer on the Unix socket and under --listen, where a token is
// asked for. Errors are problem details (RFC 9457).
package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
)

// What a Backend's errors mean to HTTP.
var (
	ErrNotFound = errors.New("not found")         // 404
	ErrBusy     = errors.New("busy")              // 409
	ErrInvalid  = errors.New("not valid")         // 400
	ErrConflict = errors.New("not possible")      // 409
	ErrClosing  = errors.New("not available now") // 503: the request wasn't taken
)

// Errorf is an error of a kind that says only what it is told: the kind is for those who branch.
func Errorf(kind error, format string, args ...any) error {
	return &kinded{kind, fmt.Errorf(format, args...)}
}

type kinded struct{ kind, err error }

// Error implements error.
func (k *kinded) Error() string { return k.err.Error() }

// Unwrap is for errors.Is and errors.As.
func (k *kinded) Unwrap() []error { return []error{k.kind, k.err} }

// Status is what serves, and what is wrong with what doesn't.
type Status struct {
	Mode       string            `json:"mode"` // "dev" or "published"
	Generation int64             `json:"generation"`
	Revisions  operation.Triple  `json:"revisions"`
	Hooks      int               `json:"hooks"`
	Errors     []revision.Fault  `json:"errors"`
	Ignored    []string          `json:"ignored"`
	Clients    map[string]string `json:"clients"` // those that the hook is installed for, with the scope: project, user or both
	Notes      []string          `json:"notes,omitempty"`
	Running    int               `json:"running"`
	Background agentd.Background `json:"background"` // calls of background hooks since the daemon began
	Daemon     bool              `json:"daemon"`
}

// HookRow is one binding as hooks list shows it.
type HookRow struct {
	BindingID     string   `json:"binding_id"`
	HookID        string   `json:"hook_id"`
	Version       string   `json:"version"`
	Point         string   `json:"point"`
	Layer         string   `json:"layer"`
	File          string   `json:"file"`
	Line          int      `json:"line"`
	Priority      int      `json:"priority"`
	Guard         bool     `json:"guard"`
	Observation   bool     `json:"observation"`
	FailurePolicy string   `json:"failure_policy"`
	Timeout       string   `json:"timeout"`
	Targets       []string `json:"targets"`
	Kinds         []string `json:"kinds"`
	Effects       []string `json:"effects"` // that its hook declares
	Grants        []string `json:"grants"`  // those of them that it may ask for
	Clients       []string `json:"clients"` // that it is bound for, none for all
	Lacks         []string `json:"lacks"`   // what those can't be told of what its source names
}

// Rows lists the bindings of a generation in the order in which they were loaded.
func Rows(g *revision.Generation) []HookRow {
	rows := []HookRow{}
	for _, b := range g.Table.Bindings() {
		rows = append(rows, HookRow{b.BindingID, b.HookID, b.Version, b.Point, b.Layer.String(), b.File, b.Line, b.Priority, b.Guard, b.Observation,
			b.FailurePolicy, b.Timeout.String(), nonNil(b.Targets), nonNil(b.Kinds), nonNil(b.Effects), nonNil(b.Grants), nonNil(b.Clients), []string{}})
	}
	return rows
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// StartRun asks for a run.
type StartRun struct {
	Task    string `json:"task"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	// Interactive: whoever reads the stream answers questions, at POST /v1/questions/ID.
	Interactive bool `json:"interactive,omitempty"`
	Yes         bool `json:"yes,omitempty"` // this run's questions are answered with allow
}

// ResumeRun takes a run up again.
type ResumeRun struct {
	RetryUnknownModels bool `json:"retry_unknown_models,omitempty"`
	AcceptEngine       bool `json:"accept_engine,omitempty"` // go on though another agentd made its revisions
	Interactive        bool `json:"interactive,omitempty"`
	Yes                bool `json:"yes,omitempty"`
}

// Engine is an agentd that a run went on under, though another one made its revisions.
type Engine struct {
	Who         string        `json:"who"`
	Differences payload.Value `json:"differences"`
}

// Run is a run as it stands.
type Run struct {
	RunID     string           `json:"run_id"`
	SessionID string           `json:"session_id"`
	Agent     string           `json:"agent,omitempty"`
	Task      string           `json:"task"`
	Status    string           `json:"status"`
	Answer    string           `json:"answer,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Revisions operation.Triple `json:"revisions"`
	Began     time.Time        `json:"began"`
	Engines   []Engine         `json:"accepted_engines,omitempty"`
}

// Operation is an operation as ops show prints it.
type Operation struct {
	ID            string              `json:"id"`
	Parent        string              `json:"parent,omitempty"`
	Kind          string              `json:"kind"`
	Tool          string              `json:"tool,omitempty"`
	RunID         string              `json:"run_id"`
	SessionID     string              `json:"session_id"`
	Client        string              `json:"client"`
	State         operation.State     `json:"state"`
	ActualStatus  string              `json:"actual_status"`
	Revisions     operation.Triple    `json:"revisions"`
	OriginalInput payload.Value       `json:"original_input,omitzero"`
	FinalInput    payload.Value       `json:"final_input,omitzero"`
	Output        payload.Value       `json:"output,omitzero"`
	Raw           payload.Value       `json:"raw,omitzero"` // only where it was asked for
	By            string              `json:"by,omitempty"`
	Reason        string              `json:"reason,omitempty"`
	Records       []hookpoints.Record `json:"records"`
	Attempts      int                 `json:"attempts"`
	Began         time.Time           `json:"began"`
	Engines       []Engine            `json:"accepted_engines,omitempty"`
}

// Reconcile is what a person says about an operation of which nobody knows how it ended.
type Reconcile struct {
	Verb   string        `json:"verb"`           // retry, succeeded or failed
	Value  payload.Value `json:"value,omitzero"` // of succeeded
	Reason string        `json:"reason,omitempty"`
}

// OperationFilter chooses operations.
type OperationFilter struct {
	Run, State, Kind, Client string
	Since                    time.Duration
	Limit                    int
}

// Publish asks for a revision of a layer's working files.
type Publish struct {
	Layer string `json:"layer,omitempty"` // default project
	Note  string `json:"note,omitempty"`
	// KeyFile is a private key that signs the manifest, absolute, as openssl writes it.
	KeyFile string `json:"key_file,omitempty"`
}

// Rollback asks for an earlier revision of a layer as its head.
type Rollback struct {
	Layer string `json:"layer,omitempty"` // default project
}

// Published is the revision, or why there is none. Parent is what was the head.
type Published struct {
	Revision string            `json:"revision,omitempty"`
	Parent   string            `json:"parent,omitempty"`
	Layer    string            `json:"layer,omitempty"`
	Bindings []string          `json:"bindings,omitzero"`
	Changed  []revision.Change `json:"changed,omitzero"`
	Grants   []string          `json:"grants,omitzero"`     // what hooks may ask for since the last revision, as "BINDING_ID: EFFECT"
	SignedBy string            `json:"signed_by,omitempty"` // the public key, as require_signature wants it
	Tests    *TestReport       `json:"tests,omitempty"`
	Errors   []revision.Fault  `json:"errors,omitempty"`
	Notes    []string          `json:"notes,omitempty"`
}

// TestReport is what agentd test prints.
type TestReport struct {
	Passed int          `json:"passed"`
	Failed int          `json:"failed"`
	Tests  []TestResult `json:"tests"`
}

// TestResult is one test function.
type TestResult struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
}

// RevisionRow is a revision as revisions list shows it.
type RevisionRow struct {
	Revision string    `json:"revision"`
	Parent   string    `json:"parent,omitempty"`
	Layer    string    `json:"layer"`
	Note     string    `json:"note,omitempty"`
	Created  time.Time `json:"created"`
	Head     bool      `json:"head"`
	SignedBy string    `json:"signed_by,omitempty"`
}

// StateRow is what one cell of hooks' state holds.
type StateRow struct {
	Layer     string        `json:"layer"`
	Name      string        `json:"name"`  // a binding's id, or the name that hooks share
	Scope     string        `json:"scope"` // session or project
	SessionID string        `json:"session_id,omitempty"`
	Instance  string        `json:"instance,omitempty"` // of a subagent
	Version   int64         `json:"version"`
	Bytes     int           `json:"bytes"`
	Value     payload.Value `json:"value"`
}

// ClearState says which state is to be forgotten: of a session, by name, or both; all of it if All says
// so.
type ClearState struct {
	Session string   `json:"session,omitempty"`
	Names   []string `json:"names,omitempty"`
	All     bool     `json:"all,omitempty"`
}

// Answer is what a person says to a question.
type Answer struct {
	Verb   string        `json:"verb"` // allow or deny; where a value is asked for, respond or deny
	Reason string        `json:"reason,omitempty"`
	Edit   payload.Value `json:"edit,omitzero"`  // the arguments to allow instead
	For    int           `json:"for,omitempty"`  // allow the next so many questions of the session too; -1: all
	Value  payload.Value `json:"value,omitzero"` // of a question that asks for one
	Who    string        `json:"who,omitempty"`  // default "a person"
}

// Answered is an answer that was saved.
type Answered struct {
	Question string `json:"question"`
	RunID    string `json:"run_id"`
	Resumed  bool   `json:"resumed"` // the run goes on; else somebody has to resume it
}

// Backend is what the daemon does.
type Backend interface {
	Decide(ctx context.Context, q agentd.DecideRequest) (agentd.DecideResult, error)
	Status(ctx context.Context) (Status, error)
	Hooks(ctx context.Context) ([]HookRow, error)
	Plan(ctx context.Context, q agentd.PlanRequest) ([]agentd.PlanRow, error)
	Subscribe(after string) Subscription
	StartRun(ctx context.Context, q StartRun) (Run, error)
	Runs(ctx context.Context) ([]Run, error)
	Run(ctx context.Context, id string) (Run, error)
	ResumeRun(ctx context.Context, id string, q ResumeRun) (Run, error)
	CancelRun(ctx context.Context, id string) error
	LeaveRun(id string) // whoever answered this run's questions is gone
	Operations(ctx context.Context, f OperationFilter) ([]Operation, error)
	Operation(ctx context.Context, id string, raw bool) (Operation, error)
	Reconcile(ctx context.Context, id string, q Reconcile) (Operation, error)
	Questions(ctx context.Context) ([]operation.Question, error)
	Answer(ctx context.Context, id string, a Answer) (Answered, error)
	State(ctx context.Context, session string) ([]StateRow, error)
	ClearState(ctx context.Context, q ClearState) ([]StateRow, error)
	Publish(ctx context.Context, q Publish) (Published, error)
	Rollback(ctx context.Context, id string, q Rollback) (Published, error)
	Reload(ctx context.Context) error
	Revisions(ctx context.Context) ([]RevisionRow, error)
	Revision(ctx context.Context, id string) (*revision.Revision, error)
	Hook(ctx context.Context, client, event string, stdin []byte) (stdout []byte, exit int, err error)
}

// Subscription is a flow of events. Next returns false when ctx ends, the daemon stops, or the
// subscriber fell too far behind; it can come back with the id of the last event it had.
type Subscription interface {
	Next(ctx context.Context) (Event, bool)
	Close()
}

// Event is one event, with its place in the flow.
type Event struct {
	ID   string
	Type string
	Run  string // in the daemon; whoever reads the flow finds it in Data as run_id
	Data []byte // one JSON object
}
