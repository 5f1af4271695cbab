package apply

import (
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// drawNonce returns a random number that is not 0.
func drawNonce() uint32 {
	for {
		if n := rand.Uint32(); n != 0 {
			return n
		}
	}
}

var (
	headEnds  = statement.Read("SELECT h.last_pos, h.first_pos FROM log_head h WHERE h.agent_execution_id = ?")
	setPruned = statement.Update("log_head", statement.Columns("pruned_nonce"), statement.Columns("agent_execution_id"))
)

// keepPruned stores a nonce before the records of the log of `id` are deleted, all except the newest
// one. It is the nonce of the record before the newest one, so a cursor with the position of that
// record remains valid.
func (t *Transaction) keepPruned(id uuid.UUID) error {
	var last, first int64
	found, err := t.One(headEnds, []any{id[:]}, &last, &first)
	if err != nil || !found || last < 2 || first == last {
		return err
	}
	nonce, _, err := log.StoredNonceAt(t.View, id, last-1)
	if err != nil {
		return err
	}
	return t.Write(setPruned, log.StoredNonce(nonce), id[:])
}
