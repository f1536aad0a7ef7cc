package operation

import "agentd/hookpoints/payload"

// Summary is an operation as its rows tell it.
type Summary struct {
	Head     Head
	State    State
	Status   string // what the action reported; "not_started" if it never ran
	Original payload.Value
	Final    payload.Value
	Raw      payload.Value // the real result
	Output   payload.Value // what everybody sees
	By       string
	Reason   string
	Attempts int  // outcomes, and starts without one
	Whole    bool // nothing is left to compute
}

// Summarise folds the rows of one operation, in commit order.
func Summarise(rows []Row) Summary {
	s := Summary{State: NotStarted, Status: NotRun}
	for _, r := range rows {
		s = s.Advance(r)
	}
	return s
}

// Advance is what an operation is after one more row; the zero Summary is one without rows. What it
// makes of Head, State, Status, Attempts and Whole depends on these and the row alone, so a store
// that keeps them can go on without reading the rows before.
func (s Summary) Advance(r Row) Summary {
	if s.State == "" {
		s.State, s.Status = NotStarted, NotRun
	}
	switch r := r.(type) {
	case PointRow:
		if s.Head.ID == "" {
			s.decide(r.Decided)
		}
		s.State, s.Whole = Finished, true
	case HookRow:
		if s.Head.ID == "" {
			s.Head, s.Original = r.Head, r.Original
		}
	case ReadyRow:
		s.decide(r.Decided)
	case EffectRow:
		s.decide(r.Decided)
	case WaitingRow:
		s.decide(r.Decided)
		s.State = Waiting
	case AnswerRow:
		if r.Answer.Verb == Retry { // unknown until it has run
			s.Whole = false
			break
		}
		s.State = NotStarted
	case IntentRow:
		s.decide(r.Decided)
		s.start(r)
	case RetryRow:
		s.Whole = false
		if s.State = Unknown; s.Head.Composite {
			s.State = Running
		}
		s.Status, s.Attempts = UnknownStat, s.Attempts+1
	case OutcomeRow:
		if s.State, s.Status, s.Raw = Finished, r.Status, r.Value; r.Who != "" {
			s.By, s.Reason = r.Who, r.Reason
		}
		if s.Head.Kind == KindEffect && r.Status == UnknownStat { // who did it doesn't know either
			s.State = Unknown
		}
	case AfterRow:
		s.Output, s.Whole = r.Effective, true
	}
	return s
}

func (s *Summary) decide(d Decided) {
	s.Head, s.Original, s.Final, s.By, s.Reason = d.Head, d.Original, d.Final, d.By, d.Reason
}

// start says what an intent without an outcome means.
func (s *Summary) start(r IntentRow) {
	switch {
	case r.State != Running:
		s.State = r.State
		s.Whole = r.State != Responded
		if r.State == Responded {
			s.Raw, s.Status = r.Response, Succeeded
		}
	case r.Head.Composite:
		s.State, s.Status, s.Attempts = Running, string(Running), 1
	case r.Head.Foreign:
		s.State, s.Status, s.Attempts = Unobserved, UnknownStat, 1
	default:
		s.State, s.Status, s.Attempts = Unknown, UnknownStat, 1
	}
}

// Done reports whether nothing more will happen by itself.
func (s Summary) Done() bool { return s.Whole && s.State != Waiting && s.State != Running }
