package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The terms of a question can have the flag NotAsker. The askers of such a question cannot answer
// it. The askers are API keys: the key that started the execution, and the keys that sent the
// signals which the current response has taken. The askers are stored with the question when it is
// asked, and later signals do not change them. A vote therefore reads no signals, and only the keys
// of one response are stored.

// respond sets the execution's current response. If id is another response than before, the list of
// askers becomes empty.
func (d *draft) respond(id string) {
	if id != d.x.ResponseID {
		d.x.ResponseID, d.x.Askers = id, []uuid.UUID{}
	}
}

// recordAskers adds the senders of the signals that a commit takes to the askers of the current
// response. Older servers did not record askers. If the response began on such a server, the
// execution has no askers, and none are added. At most store.AskerLimit askers are recorded. If a
// response has that many askers, a question with NotAsker accepts no vote.
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
// on an older server, which recorded no askers, they are the keys of all signals of the execution.
// In that case s must contain those keys.
func askersOf(s *store.State, q *perdure.Question) []uuid.UUID {
	if q.Askers != nil {
		return q.Askers
	}
	return Askers(s.Execution, s.SignalKeys)
}
