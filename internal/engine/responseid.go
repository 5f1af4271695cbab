package engine

import (
	"crypto/rand"
	"math/big"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewResponseID returns a new id of a response: resp_ and 24 random characters of base 62.
func NewResponseID() string {
	id := []byte("resp_")
	radix := big.NewInt(int64(len(base62)))
	for range 24 {
		n, err := rand.Int(rand.Reader, radix)
		if err != nil {
			panic(err) // the system has no randomness
		}
		id = append(id, base62[n.Int64()])
	}
	return string(id)
}

// here returns the place of the engine's own events: the current response.
func (d *draft) here() perdure.Place { return perdure.Place{ResponseID: d.x.ResponseID} }

// placed returns the place that a worker sent, without ids that name nothing. If it names no
// response, it is placed in the current one.
func (d *draft) placed(p perdure.Place) perdure.Place {
	p.ResponseID, p.MessageID = response.Real(p.ResponseID), response.Real(p.MessageID)
	if p.ResponseID == "" {
		p.ResponseID = d.x.ResponseID
	}
	return p
}

// belong sets the place of an entry. A message without an id gets the id of its entry. The entry of
// a user's message determines the current response: the response that the message began or joined.
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

// waitsForInput is the reason of the wait that ends a response.
const waitsForInput = "signal"

// between reports whether the execution's last response has ended and no other has begun.
func between(x *perdure.Execution) bool {
	return x.Status == perdure.StatusWaiting && x.WaitReason == waitsForInput && x.Wait.TakesSignal(perdure.UserMessage)
}

// begins sets the current response if a signal begins one: a user's message to an execution that
// waited for it. A message that arrives during a response joins that response when it is taken.
func (d *draft) begins(s perdure.Signal, waited string) {
	if s.Name == perdure.UserMessage && waited == waitsForInput {
		d.x.ResponseID = s.ResponseID
	}
}

// goesOn sets the current response if the message was there before the wait for it. The pending
// signals are those that the wait names, oldest first.
func (d *draft) goesOn(w perdure.Wait) {
	for _, s := range d.s.Pending {
		if !slices.Contains(d.c.Take, s.ID) {
			d.begins(s, w.Reason()) // the wait returns the first of them
			return
		}
	}
}
