package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"agentd/internal/client"
	"agentd/operation"
)

// Bounds of what one name of a call can stand for: what a client says twice it says at once, and where names
// come again and again the later actions have no operation that follows from the name.
const (
	sameWithin = time.Minute
	maxUses    = 32
)

// place is where the event's operation stands: its id, and what is saved of it if the event came before. Many
// models count their calls anew with each reply or after a compaction, so a name that a client has for a call
// may stand for several actions, one after the other. What was decided about one says nothing about the next.
func (j *judged) place(ctx context.Context) (id string, saved []operation.Row, err error) {
	key := j.key()
	if key == "" {
		return newID("op"), nil, nil
	}
	if j.confirms() {
		if key, err = j.question(ctx); key == "" || err != nil {
			return newID("op"), nil, err
		}
	}
	reports := j.e.Point == "tool.after"
	var last []operation.Row // a report's, if all of its name's are over
	lastID := ""
	for use := range maxUses {
		id := j.id(key, use)
		rows, err := j.d.store.Rows(ctx, id)
		switch {
		case err != nil:
			return "", nil, err
		case len(rows) == 0 && last != nil:
			if again, err := j.askedSince(ctx); again || err != nil {
				return id, nil, err
			}
			j.next = id
			return lastID, last, nil
		case len(rows) == 0 && reports && use > 0:
			return newID("op"), nil, nil
		case len(rows) == 0, j.e.CallID == "":
			return id, rows, nil
		case !sameCall(rows, j.e), !reports && !sameTurn(rows, j.e):
		case reports && operation.Summarise(rows).State == operation.Unobserved && !ended(rows), !reports && !j.over(rows):
			return id, rows, nil
		case reports:
			last, lastID = rows, id
		}
	}
	return newID("op"), nil, nil
}

// confirms reports whether the client is about to ask its person about a call that it names.
func (j *judged) confirms() bool { return j.e.Point == "tool.confirm" && j.e.CallID != "" }

// question is the key of what a client asks its person about the call. A question has no end of its own: it is
// over when its call is, so it is told by how many calls of the name have ended. It is "" where that can't be told.
func (j *judged) question(ctx context.Context) (string, error) {
	ends := 0
	for use := range maxUses {
		rows, err := j.d.store.Rows(ctx, j.id(callKey(j.e), use))
		switch {
		case err != nil:
			return "", err
		case len(rows) == 0:
			return questionKey(j.e, ends), nil
		case ended(rows):
			ends++
		}
	}
	return "", nil
}

// askedSince reports whether a person was asked about the call since it ended last: then it was called again.
func (j *judged) askedSince(ctx context.Context) (bool, error) {
	key, err := j.question(ctx)
	if key == "" || err != nil {
		return false, err
	}
	rows, err := j.d.store.Rows(ctx, j.id(key, 0))
	return len(rows) > 0 && sameCall(rows, j.e), err
}

func callKey(e client.Event) string { return "call\x00" + called(e) }

func questionKey(e client.Event, ends int) string {
	return "tool.confirm\x00" + called(e) + "\x00" + strconv.Itoa(ends)
}

// called is a client's name of a call. Agents of one session may count theirs alike.
func called(e client.Event) string {
	if e.Agent == "" {
		return e.CallID
	}
	return e.CallID + "\x00agent\x00" + e.Agent
}

// key is equal for events of one operation: those that come twice, and an action's before and after events where
// the client names the action. It is "" where that can't be told.
func (j *judged) key() string {
	switch {
	case j.e.CallID != "" && (j.e.Point == "tool.before" || j.e.Point == "tool.after"):
		return callKey(j.e)
	case j.e.CallID != "":
		return j.e.Point + "\x00" + called(j.e)
	case j.e.Key != "":
		return j.e.Point + "\x00key\x00" + j.e.Key
	}
	return ""
}

// id is that of the operation which is the use of a key, counted from 0.
func (j *judged) id(key string, use int) string {
	if use > 0 {
		key += "\x00use\x00" + strconv.Itoa(use)
	}
	sum := sha256.Sum256([]byte(j.s.ID + "\x00" + key))
	return "op-" + hex.EncodeToString(sum[:16])
}

// over reports whether an action is none that a client could still be asking about: it is past, or it is too long ago.
func (j *judged) over(rows []operation.Row) bool {
	return j.past(rows) || j.d.rt.Now().Sub(operation.Summarise(rows).Head.Began) > sameWithin
}

// past reports whether an action has ended, or another turn has begun since.
func (j *judged) past(rows []operation.Row) bool {
	return ended(rows) || operation.Summarise(rows).Head.Began.UnixMilli() < j.was.turned
}

// sameCall reports whether an event is about the tool and the input that are saved.
func sameCall(saved []operation.Row, e client.Event) bool {
	sum := operation.Summarise(saved)
	if sum.Head.Tool != e.Target {
		return false
	}
	if !e.Input.Exists() {
		return true
	}
	input := normal(e.Input)
	return normal(sum.Original.Get("arguments")) == input || normal(sum.Final.Get("arguments")) == input
}

// sameTurn reports whether an event is of the turn that is saved, as far as both say one. Clients tell of turns only
// where a hook is registered for them, and each of their events says its own.
func sameTurn(saved []operation.Row, e client.Event) bool {
	was := ""
	for _, r := range saved {
		switch r := r.(type) {
		case operation.IntentRow:
			was = r.Scope.Get("turn").Text()
		case operation.PointRow:
			was = r.Scope.Get("turn").Text()
		}
	}
	return was == "" || e.Turn == "" || was == e.Turn
}
