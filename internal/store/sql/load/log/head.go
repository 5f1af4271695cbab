package log

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
)

const (
	// HeadColumns is the list of the columns of a log head h that HeadInto scans. A row that a left
	// join does not find is the zero head.
	HeadColumns = "coalesce(h.last_seq, 0), coalesce(h.last_pos, 0), coalesce(h.epoch, 0), " + headNonce
	// headNonce is 0 if a server without nonces has moved the head since the nonce was stored.
	headNonce = "CASE WHEN h.nonce_pos = h.last_pos THEN h.nonce ELSE 0 END"
	// WrittenHead is the list of the columns to which HeadValues are written.
	WrittenHead = "last_seq, last_pos, epoch, nonce, nonce_pos"
)

// HeadInto returns the destinations of HeadColumns.
func HeadInto(h *store.Head) []any {
	return []any{&h.LastSeq, &h.LastPos, column.UnsignedInto(&h.Epoch), NonceInto(&h.Nonce)}
}

// HeadValues returns the values for WrittenHead. The position of the nonce is stored with it: a server
// without nonces moves the head without changing nonce or position, so the nonce is valid only if the
// position is the head's.
func HeadValues(h *store.Head) []any {
	noncePos := h.LastPos
	if h.Nonce == 0 {
		noncePos = 0
	}
	return []any{h.LastSeq, h.LastPos, int64(h.Epoch), StoredNonce(h.Nonce), noncePos}
}
