package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The terms of a question can have the flag NotAsker: the question's askers cannot answer it. The
// askers are API keys: the key that started the execution, and the keys that sent the signals that
// the current response has taken. They are stored with the question when it is asked.

// respond sets the execution's current response. At the start of a new response, it empties the
// list of askers.
func (d *draft) respond(id string) {
	if id != d.x.ResponseID {
		d.x.ResponseID, d.x.Askers = id, []uuid.UUID{}
	}
}

// recordAskers adds the senders of the signals that a commit takes to the askers of the current
// response, up to store.AskerLimit. If a response has that many askers, a question with NotAsker
// accepts no vote. If the response began on an older server that did not record askers, none are
// added.
func (d *draft) recordAskers(taken []string) {
	for _, id := range taken {
		s := d.s.Signals[id]
		if s == nil || d.x.Askers == nil || len(d.x.Askers) >= store.AskerLimit {
			continue
		}
		if key := keyOrToken(s.KeyID); !slices.Contains(d.x.Askers, key) {
			d.x.Askers = append(slices.Clip(d.x.Askers), key)
		}
	}
}

// askersOf returns the keys that cannot answer a question with NotAsker. If the question was asked
// on an older server that recorded no askers, these are the key that started the execution and the
// keys that sent any of its signals (SignalKeys in the state).
func askersOf(s *store.State, q *perdure.Question) []uuid.UUID {
	if q.Askers != nil {
		return q.Askers
	}
	return Askers(s.Execution, s.SignalKeys)
}
