package rules

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/internal/store"
)

// ResponseRequest is a client's request for a response, without the input.
type ResponseRequest struct {
	// Request is the body of the request. It is stored unchanged with the response.
	Request json.RawMessage
	// Hidden reports whether the response cannot be looked up by its id.
	Hidden bool
}

// row returns the row of a new response. When row is called, the last record of the log must be the
// event of the response's input.
func (r *ResponseRequest) row(d *draft, id, signal string) store.Response {
	row := store.Response{ID: id, Execution: d.x.ID, SignalID: signal, FirstPos: d.s.Head.LastPos, CreatedAt: d.s.Now}
	if r != nil {
		row.Request, row.Hidden = r.Request, r.Hidden
	}
	return row
}

// join handles a user's message that got a response id of its own when it was sent, but was then
// taken by a running response. It records that the message's response id now stands for the running
// response. The parameter e is the message's entry.
func (d *draft) join(e perdure.Entry) {
	for _, s := range d.s.Signals {
		if s.EntryKey() == e.Key && s.ResponseID != "" && e.ResponseID != "" && s.ResponseID != e.ResponseID {
			d.c.Join = append(d.c.Join, store.Join{ID: s.ResponseID, Into: e.ResponseID})
		}
	}
}

// runs reports whether the response is the execution's current one and has not ended.
func runs(x *perdure.Execution, id string) bool { return x.ResponseID == id && !between(x) }

// idleAt reports whether the execution waits for its user, has no pending messages, and its
// conversation ends with the given response, or with a compaction after it.
func idleAt(s *store.State, response string) bool {
	x := s.Execution
	if !between(x) || len(s.Pending) > 0 || x.Leaf == nil {
		return false
	}
	leaf := s.Entries[*x.Leaf]
	if leaf.Type == perdure.EntryCompaction { // a compaction belongs to no response
		return x.ResponseID == response
	}
	return leaf.ResponseID == response
}

// here returns the place of events that the server itself writes: the current response. A Place
// names the response, the turn and the message to which an event belongs.
func (d *draft) here() perdure.Place { return perdure.Place{ResponseID: d.x.ResponseID} }

// placed returns the place of an event or entry that a worker has sent, without placeholder ids. If
// the place has no response id, it gets that of the current response.
func (d *draft) placed(p perdure.Place) perdure.Place {
	p.ResponseID, p.MessageID = response.Real(p.ResponseID), response.Real(p.MessageID)
	if p.ResponseID == "" {
		p.ResponseID = d.x.ResponseID
	}
	return p
}

// belong sets the response, the turn and the message to which an entry belongs. If the entry is a
// message without a message id, the entry's id becomes the message id. If the entry is a user's
// message, the entry's response becomes the current one. A compaction belongs to no response.
func (d *draft) belong(e *perdure.Entry) {
	if e.Type == perdure.EntryCompaction {
		e.ResponseID, e.TurnID, e.MessageID = "", "", e.ID.String()
		return
	}
	p := d.placed(perdure.Place{ResponseID: e.ResponseID, MessageID: e.MessageID})
	e.ResponseID, e.MessageID = p.ResponseID, p.MessageID
	if e.OnPath() && e.MessageID == "" {
		e.MessageID = e.ID.String()
	}
	for _, s := range d.s.Signals {
		if e.Key == s.EntryKey() {
			d.respond(e.ResponseID)
		}
	}
}

// waitsForInput is the WaitReason of an execution that waits for its user.
const waitsForInput = "signal"

// between reports whether the execution waits for its user: the last response has ended and no
// other has begun.
func between(x *perdure.Execution) bool {
	return x.Status == perdure.StatusWaiting && x.WaitReason == waitsForInput && x.Wait.TakesSignal(perdure.UserMessage)
}

// begins sets the execution's current response if a signal begins a new one. A user's message does
// so if the execution waits for its user; `waited` is the reason of the wait. A message that
// arrives during a response belongs to that response.
func (d *draft) begins(s perdure.Signal, waited string) {
	if s.Name == perdure.UserMessage && waited == waitsForInput {
		d.respond(s.ResponseID)
	}
}

// goesOn is called when a commit suspends the execution with a wait that a pending signal already
// meets. If the signal is a user's message, it begins the next response. The pending signals in the
// state match the wait, oldest first.
func (d *draft) goesOn(w perdure.Wait) {
	for _, s := range d.s.Pending {
		if !slices.Contains(d.c.Take, s.ID) {
			d.begins(s, w.Reason()) // the first of them meets the wait
			return
		}
	}
}

// HideResponse hides a response from lookups by its id. Error: not_found.
func HideResponse(s *store.State, execution uuid.UUID, id string) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(execution)
	}
	return &store.Changes{HideResponse: id, Answer: &Decision{}}, nil
}

// EndResponse stores the history of a response: hashes of the messages of the conversation, as
// clients receive them, up to the end of the response. Error: not_found.
func EndResponse(s *store.State, execution uuid.UUID, end store.ResponseEnd) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(execution)
	}
	return &store.Changes{EndResponse: &end, Answer: &Decision{}}, nil
}

// CancelResponse cancels the execution if the response is the execution's current one and has not
// ended. Otherwise the command's result is false. Error: not_found.
func CancelResponse(s *store.State, cfg Config, execution uuid.UUID, id string) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(execution)
	}
	if !runs(s.Execution, id) {
		return Answer(false), nil
	}
	return Cancel(s, cfg, execution)
}
