package log

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var prunedNonce = statement.Read("SELECT pruned_nonce FROM log_head WHERE agent_execution_id = ?")

// Nonces implements [store.Reader].
func (r *Logs) Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, store.Head, error) {
	var (
		nonces = make(map[int64]uint32, len(positions))
		head   store.Head
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if head, err = loadHead(v, execution); err != nil {
			return err
		}
		for _, pos := range positions {
			if _, known := nonces[pos]; known {
				continue
			}
			nonce, found, err := nonceAt(v, execution, head, pos)
			if err != nil {
				return err
			}
			if found {
				nonces[pos] = nonce
			}
		}
		return nil
	})
	return nonces, head, err
}

// nonceAt returns the nonce of the record at pos. The result `found` is true for stored records,
// for the last pruned record, and for position 0 of a log that is not pruned.
func nonceAt(v statement.View, execution uuid.UUID, head store.Head, pos int64) (nonce uint32, found bool, err error) {
	switch {
	case pos == 0:
		return 0, head.FirstPos <= 1, nil
	case pos > head.LastPos || pos < head.FirstPos-1:
		return 0, false, nil
	case pos == head.LastPos:
		return head.Nonce, true, nil
	case pos == head.FirstPos-1:
		found, err = v.One(prunedNonce, []any{execution[:]}, log.NonceInto(&nonce))
		return nonce, found, err
	}
	return log.StoredNonceAt(v, execution, pos)
}
