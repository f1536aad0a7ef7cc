package operation

import (
	"slices"

	"agentd/hookpoints"
)

// DecidedIn is what was decided before an action, in the rows that say so: ready, waiting and intent.
// Of an operation the last one counts.
func DecidedIn(r Row) (d Decided, ok bool) {
	switch r := r.(type) {
	case ReadyRow:
		return r.Decided, true
	case WaitingRow:
		return r.Decided, true
	case IntentRow:
		return r.Decided, true
	}
	return Decided{}, false
}

// ChainsIn is what a row carries of the chains that ran for it, and the binding that ended them, or who
// answered; by is "" if nobody did. Other rows carry nothing.
func ChainsIn(r Row) (c Chained, by string) {
	switch r := r.(type) {
	case PointRow:
		return r.Chained, r.By
	case AfterRow:
		return r.Chained, r.By
	case FailedRow:
		return r.Chained, r.By
	}
	d, _ := DecidedIn(r)
	return d.Chained, d.By
}

// Records are those of every chain of an operation, in the order in which they ran: those before the
// action first. What a ready or waiting row held stands in the intent again.
func Records(rows []Row) []hookpoints.Record {
	var before, rest []hookpoints.Record
	for _, r := range rows {
		c, _ := ChainsIn(r)
		if _, decided := DecidedIn(r); decided {
			before = c.Records
		} else {
			rest = append(rest, c.Records...)
		}
	}
	return slices.Concat(before, rest)
}
