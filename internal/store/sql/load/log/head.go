package log

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
)

const (
	// HeadColumns is the list of the columns of a log's head h that HeadInto scans. After a left
	// join that finds no row, the values are zero.
	HeadColumns = "coalesce(h.last_seq, 0), coalesce(h.last_pos, 0), coalesce(h.epoch, 0), " + headNonce
	// headNonce is an SQL expression for the nonce of the head of a log. It is 0 if the newest
	// record was written by a server of an earlier version, which stores no nonces.
	headNonce = "CASE WHEN h.nonce_pos = h.last_pos THEN h.nonce ELSE 0 END"
	// WrittenHead is the list of the columns of a log's head that HeadValues returns values for.
	WrittenHead = "last_seq, last_pos, epoch, nonce, nonce_pos"
)

// HeadInto returns the destinations for scanning HeadColumns into h.
func HeadInto(h *store.Head) []any {
	return []any{&h.LastSeq, &h.LastPos, column.UnsignedInto(&h.Epoch), NonceInto(&h.Nonce)}
}

// HeadValues returns the values for WrittenHead. The last one is the position for which the nonce
// is valid. A server of an earlier version moves the head without changing nonce and nonce_pos, so
// the nonce is valid only if nonce_pos equals last_pos.
func HeadValues(h *store.Head) []any {
	noncePos := h.LastPos
	if h.Nonce == 0 {
		noncePos = 0
	}
	return []any{h.LastSeq, h.LastPos, int64(h.Epoch), StoredNonce(h.Nonce), noncePos}
}
