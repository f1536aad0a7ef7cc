package operation

import (
	"cmp"
	"context"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Action is one thing to do, and what surrounds it. The functions are called in the order in which
// they stand; those that may be nil say so.
type Action struct {
	Head   Head
	Points Points
	Around *hookpoints.Around
	Input  payload.Value // of the before point

	// Overlaps: it may run beside its neighbours in a batch (kinds read, search, fetch).
	Overlaps bool
	// Shares: it and its neighbours that do share their intent commit and run one by one.
	Shares bool
	// Idempotent: it may run again when nobody knows how it ended.
	Idempotent bool
	// Again: a composite one that failed or was cancelled runs again, through its parts.
	Again bool
	// Policy answers where no tool.confirm hook did: "allow", "ask" or "deny".
	Policy string

	// Elicits: it asks a person for something, of this kind, and what they answer is its result. Answer
	// checks it, and Do is never called.
	Elicits string

	// Validate checks the input after each patch and once more at the end; it may normalise. May be nil.
	Validate func(ctx context.Context, in payload.Value) (payload.Value, error)
	// Answer checks the value of a respond, and what a person answered. May be nil.
	Answer func(value payload.Value) error
	// Insert puts context that hooks gave into the input, for points where it is request-only. May be nil.
	Insert func(in payload.Value, texts []hookpoints.Text) payload.Value
	// Prepare computes what a tool that writes a file will write: path, kind, content, base_hash.
	// Absent means that it writes none. May be nil.
	Prepare func(ctx context.Context, in payload.Value) (payload.Value, error)
	// Confirm makes the payload of the confirm point. Nil without Points.Confirm.
	Confirm func(in, write payload.Value) payload.Value
	// Preview is what a person is shown of the action; it may read what is there now. Nil: the preview of
	// the confirm point's payload.
	Preview func(in, write payload.Value) string
	// Do acts. An error means that there is no outcome to record: the process is going down, a part
	// waits, or the journal failed.
	Do func(ctx context.Context, in, write payload.Value) (value payload.Value, status string, err error)
	// After makes the payload of the after point; absent means that this result has no after chain.
	// Nil without Points.After.
	After func(in, raw payload.Value, status string) payload.Value
	// ValidateAfter checks that payload after each patch. May be nil.
	ValidateAfter func(ctx context.Context, after payload.Value) (payload.Value, error)
	// Effective takes what everybody sees out of the payload that the after chain left. Nil: the
	// payload itself, or the raw value without Points.After.
	Effective func(after payload.Value) payload.Value
	// AfterUnknown: the after chain also looks at what nobody knows, as UnknownText.
	AfterUnknown bool
	// UnknownText is what everybody is told when nobody knows how it ended. Absent: the batch fails
	// with ErrUnknownModel.
	UnknownText payload.Value

	// Note is called with what was decided just before that is committed, and may keep something of it in
	// the session, see [Session.Keep]. It may be called again if the decision was computed again. Of a
	// client's event only; may be nil.
	Note func(Done)
	// Allowed says whose guards look at what was allowed at a point without an action, as it was asked for or as an
	// edit made it, and at what payload. May be nil.
	Allowed func(in payload.Value) (point string, guarded payload.Value)
	// Report is the client's key for the event that reports an action's end, so that one that comes twice
	// is known. Of a client's after event only.
	Report string

	depth int // of an effect
}

// Points are the names that an action fires; an empty one is skipped.
type Points struct{ Before, Confirm, After string }

// Done is how an action came out.
type Done struct {
	Head      Head
	State     State
	Status    string
	Raw       payload.Value // the real result, for whoever made the action
	Effective payload.Value // what everybody else sees
	By        string
	Reason    string
	Code      string
	Texts     []hookpoints.Text
	Write     payload.Value // what was written, if it was
	Stop      bool          // the run ends here
	Clear     bool
	Proceed   string
	Outcome   hookpoints.Outcome // of the chain that decided about it; of one without an action, of that
	Asked     bool               // of a client's action: whoever tends its session has effects to do
}

// open is an action on its way.
type open struct {
	a         Action
	d         Decided
	state     State
	stage     stage
	n         int // attempt, from 0
	raw       payload.Value
	status    string
	after     AfterRow
	before    int64 // hook time spent in the before chain
	confirm   int64
	asked     int        // questions so far
	q         Question   // the last one
	shown     Decided    // what it was about
	answer    Answer     // to it
	why       string     // the next one is asked
	allowance string     // what answered instead of a person
	again     bool       // an answer has changed what the guards saw
	kept      bool       // a row keeps what was decided
	retry     string     // why a started action runs again, "" if it doesn't or that is saved
	intent    bool       // its intent is saved
	report    OutcomeRow // of a client: what it said otherwise than before the action
	came      []Done     // the effects before it, once they are over
	blocked   bool       // by one of them
	was       mark       // before what isn't in a row yet
}

// stage is where an action has to go on.
type stage uint8

const (
	toDecide   stage = iota // nothing is saved
	toAsk                   // a question is open
	toRun                   // decided
	toFinish                // there is a result and no after row
	closed                  // nothing is left
	toTell                  // unknown: say so
	unrecorded              // unknown, and nothing may be said: a person has to allow a retry
)

// fresh is an action of which nothing is saved.
func (a Action) fresh() *open {
	d := Decided{Head: a.Head, Original: a.Input, Final: a.Input, Outcome: hookpoints.Continued, Policy: a.Policy}
	if a.Around != nil {
		d.Scope = a.Around.Scope.Value
	}
	return &open{a: a, d: d, state: NotStarted}
}

// take finds out where an action stands.
func (s *Session) take(a Action) *open {
	o := a.fresh()
	for _, r := range s.saved[a.Head.ID] {
		switch r := r.(type) {
		case ReadyRow:
			o.d, o.stage, o.again, o.kept = r.Decided, toRun, false, true
		case EffectRow:
			o.d, o.stage, o.kept = r.Decided, toRun, true
		case WaitingRow:
			o.parked(r)
		case AnswerRow:
			if r.Answer.Verb == Retry {
				o.starts()
				o.retry = cmp.Or(r.Answer.Reason, Retry)
				break
			}
			o.answered(r)
		case IntentRow:
			o.d, o.state, o.intent = r.Decided, r.State, true
			o.stage = map[State]stage{Running: unrecorded, Responded: toFinish}[r.State]
			if o.stage == toDecide {
				o.stage = closed
			}
			if r.State == Responded {
				o.raw, o.status = r.Response, Succeeded
			}
		case RetryRow:
			o.starts()
			o.n, o.retry = r.N+1, ""
		case OutcomeRow:
			if o.stage == closed { // it was told as unknown, and that stays told; this is for the record
				break
			}
			o.raw, o.status, o.n, o.state, o.stage = r.Value, r.Status, r.N, Finished, toFinish
		case AfterRow:
			if o.after, o.stage = r, closed; r.Unknown {
				o.state, o.status = Unknown, UnknownStat
			}
		}
	}
	if o.a.Again && o.d.Head.Composite && o.state == Finished && o.status != Succeeded && o.status != Blocked {
		o.starts()
		o.retry = "resumed"
	}
	if o.stage == unrecorded && !s.preceded(o) {
		o.stage = toRun
	}
	if o.stage == unrecorded {
		o.unrecorded()
	}
	if a.Around != nil && !o.d.Head.Began.IsZero() { // the operation began when it began
		around := *a.Around
		around.Now = o.d.Head.Began
		o.a.Around = &around
	}
	return o
}

// starts takes the operation back to where its action was started.
func (o *open) starts() {
	o.state, o.stage, o.raw, o.status, o.after = Running, unrecorded, payload.Value{}, "", AfterRow{}
}

// unrecorded decides about an action that was started and has no outcome.
func (o *open) unrecorded() {
	switch {
	case o.retry != "", o.d.Head.Composite:
		o.stage = toRun
	case o.a.Idempotent:
		o.retry, o.stage = "idempotent", toRun
	case o.a.UnknownText.Exists():
		o.state, o.stage = Unknown, toTell
	}
}

// closes fills in why there will be no action.
func (o *open) closes(state State, res *hookpoints.Result) {
	o.state, o.stage = state, closed
	o.d.decided(res)
}

func (o *open) done() Done {
	d := Done{Head: o.d.Head, Outcome: o.d.Outcome, State: o.state, Status: o.status, Raw: o.raw, By: o.d.By, Reason: o.d.Reason, Code: o.d.Code, Texts: o.d.Texts, Clear: o.d.Clear}
	if o.state == Finished && o.status == Succeeded {
		d.Write = o.d.Write
	}
	if o.status == "" {
		d.Status = NotRun
	}
	switch o.state {
	case Stopped:
		d.Stop = true
	case Finished, Responded, Unknown:
		d.Effective, d.Proceed = o.after.Effective, o.after.Proceed
		d.Texts = append(d.Texts[:len(d.Texts):len(d.Texts)], o.after.Texts...)
		if o.after.Proceed != "" {
			d.By = o.after.By
		}
		if o.after.Stopped {
			d.Stop, d.By, d.Reason = true, o.after.By, o.after.Reason
		}
	}
	return d
}
