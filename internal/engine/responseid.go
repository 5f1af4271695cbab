package engine

import (
	"crypto/rand"
	"math/big"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewResponseID makes the id of a response: resp_ and 24 characters of base 62.
func NewResponseID() string {
	id := []byte("resp_")
	radix := big.NewInt(int64(len(base62)))
	for range 24 {
		n, err := rand.Int(rand.Reader, radix)
		if err != nil {
			panic(err) // the system has no randomness; nothing can go on
		}
		id = append(id, base62[n.Int64()])
	}
	return string(id)
}

// here is the place of what the engine says itself: in the response that runs.
func (d *draft) here() perdure.Place { return perdure.Place{ResponseID: d.x.ResponseID} }

// placed is a place that a worker gave: in the response that runs unless it
// names another, and without ids that name nothing.
func (d *draft) placed(p perdure.Place) perdure.Place {
	p.ResponseID, p.MessageID = response.Real(p.ResponseID), response.Real(p.MessageID)
	if p.ResponseID == "" {
		p.ResponseID = d.x.ResponseID
	}
	return p
}

// belong gives an entry its place. A message without an id has its entry's. What
// the user said shows which response runs: the one that it began, or joined.
func (d *draft) belong(e *perdure.Entry) {
	p := d.placed(perdure.Place{ResponseID: e.ResponseID, MessageID: e.MessageID})
	e.ResponseID, e.MessageID = p.ResponseID, p.MessageID
	if e.OnPath() && e.MessageID == "" {
		e.MessageID = e.ID.String()
	}
	for _, s := range d.s.Signals {
		if e.Key == s.EntryKey() {
			d.x.ResponseID = e.ResponseID
		}
	}
}

// waitsForInput is the reason of a wait by which a response is over.
const waitsForInput = "signal"

// between reports whether the execution's last response is over, and no other has
// begun.
func between(x *perdure.Execution) bool {
	return x.Status == perdure.StatusWaiting && x.WaitReason == waitsForInput && x.Wait.TakesSignal(perdure.UserMessage)
}

// begins notes the response that a signal begins: a user's message to an
// execution that waited for one. A message that comes while a response runs
// joins it when it is taken.
func (d *draft) begins(s perdure.Signal, waited string) {
	if s.Name == perdure.UserMessage && waited == waitsForInput {
		d.x.ResponseID = s.ResponseID
	}
}

// goesOn notes the same where the message was there before the wait for it. What
// is pending is what the wait names, oldest first.
func (d *draft) goesOn(w perdure.Wait) {
	for _, s := range d.s.Pending {
		if !slices.Contains(d.c.Take, s.ID) {
			d.begins(s, w.Reason()) // the first of them is what the wait gives
			return
		}
	}
}
