package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Who a question with NotAsker excludes is decided when it is asked: the key that started the
// execution, and the keys of the signals that the current response has taken. What others send
// afterwards does not change what was asked. So a vote reads no signals, and what is stored is bounded
// by the keys of one response.

// respond sets the current response. Another one begins with no askers.
func (d *draft) respond(id string) {
	if id != d.x.ResponseID {
		d.x.ResponseID, d.x.Askers = id, []uuid.UUID{}
	}
}

// recordAskers records the senders of signals that a commit takes, in the response that the commit
// belongs to or begins. An execution whose response began before servers recorded them has none. At most
// store.AskerLimit are recorded; a question with so many takes no vote.
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

// askersOf returns the keys that a question with NotAsker excludes. Those of a question that was asked
// before servers recorded them are the keys of all signals of the execution, which the state then
// contains.
func askersOf(s *store.State, q *perdure.Question) []uuid.UUID {
	if q.Askers != nil {
		return q.Askers
	}
	return Askers(s.Execution, s.SignalKeys)
}
