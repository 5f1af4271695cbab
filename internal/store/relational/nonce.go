package relational

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// drawNonce returns a random number that is not 0.
func drawNonce() uint32 {
	for {
		if n := rand.Uint32(); n != 0 {
			return n
		}
	}
}

// storedNonce returns a nonce as the tables store it: as a signed 32-bit number.
func storedNonce(n uint32) int64 { return int64(int32(n)) }

// nonceInto returns a destination for a nonce.
func nonceInto(p *uint32) *nonceScan { return (*nonceScan)(p) }

type nonceScan uint32

// ScanNumber implements NumberScanner.
func (n *nonceScan) ScanNumber(stored int64) error {
	*n = nonceScan(uint32(stored))
	return nil
}

func (n *nonceScan) Scan(src any) error {
	stored, _ := src.(int64)
	return n.ScanNumber(stored)
}

// nonceList holds the nonces of a closed block's chunks, four bytes each, in the order of its cuts.
// A block that was closed by a version without nonces has no list.
type nonceList []byte

func (l *nonceList) add(n uint32) { *l = binary.BigEndian.AppendUint32(*l, n) }

// of returns the nonce of the cut with index i; 0 if it is unknown.
func (l nonceList) of(i int) uint32 {
	if len(l) < 4*(i+1) {
		return 0
	}
	return binary.BigEndian.Uint32(l[4*i:])
}

// noncePos returns the position that is stored with a head's nonce. A server without nonces moves
// the head without changing nonce or position, so the nonce is valid only if the position is the
// head's.
func noncePos(h *store.Head) int64 {
	if h.Nonce == 0 {
		return 0
	}
	return h.LastPos
}

const (
	// headNonce is 0 if a server without nonces has moved the head since the nonce was stored.
	headNonce = "CASE WHEN h.nonce_pos = h.last_pos THEN h.nonce ELSE 0 END"
)

var (
	eventNonce  = read("SELECT nonce FROM log_record WHERE agent_execution_id = ? AND pos = ?")
	openNonce   = read("SELECT c.nonce FROM log_block b CROSS JOIN log_chunk c WHERE b.agent_execution_id = ?1 AND b.open = 1 AND c.agent_execution_id = ?1 AND c.seq = b.seq AND c.pos = ?2")
	closedNonce = alone(spanClasses + " SELECT b.cuts, b.nonces" + fromSpans)
	prunedNonce = read("SELECT pruned_nonce FROM log_head WHERE agent_execution_id = ?")
)

// Nonces implements [store.Reader].
func (r *Reader) Nonces(ctx context.Context, execution uuid.UUID, positions ...int64) (map[int64]uint32, store.Head, error) {
	var (
		nonces = make(map[int64]uint32, len(positions))
		head   store.Head
	)
	err := r.read(ctx, func(v view) (err error) {
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

// nonceAt returns the nonce of the record at pos, and reports whether it is known. It is known for
// a stored record, and for the last pruned one.
func nonceAt(v view, execution uuid.UUID, head store.Head, pos int64) (nonce uint32, found bool, err error) {
	switch {
	case pos == 0:
		return 0, head.FirstPos <= 1, nil
	case pos > head.LastPos || pos < head.FirstPos-1:
		return 0, false, nil
	case pos == head.LastPos:
		return head.Nonce, true, nil
	case pos == head.FirstPos-1:
		found, err = v.one(prunedNonce, []any{execution[:]}, nonceInto(&nonce))
		return nonce, found, err
	}
	return storedNonceAt(v, execution, pos)
}

// storedNonceAt returns the nonce of the stored record at pos: an event, or a chunk of an open or
// closed block.
func storedNonceAt(v view, execution uuid.UUID, pos int64) (nonce uint32, found bool, err error) {
	for _, query := range []*Statement{eventNonce, openNonce} {
		found, err = v.one(query, []any{execution[:], pos}, nonceInto(&nonce))
		if err != nil || found {
			return nonce, found, err
		}
	}
	err = v.each(closedNonce, []any{execution[:], pos - 1, pos, maxSpanClass}, func(row func(...any) error) error {
		var cuts, nonces []byte
		if err := row(&cuts, &nonces); err != nil {
			return err
		}
		at, err := readCuts(cuts, nonces, pos-1, pos)
		if err == nil && len(at) > 0 {
			nonce, found, err = at[0].nonce, true, ErrStop
		}
		return err
	})
	return nonce, found, err
}

var (
	headEnds  = read("SELECT h.last_pos, h.first_pos FROM log_head h WHERE h.agent_execution_id = ?")
	setPruned = update("log_head", columns("pruned_nonce"), columns("agent_execution_id"))
)

// keepPruned stores the nonce of the last record to be pruned, which is the record before the
// newest one. So a cursor after that record remains valid.
func (t *Transaction) keepPruned(id uuid.UUID) error {
	var last, first int64
	found, err := t.one(headEnds, []any{id[:]}, &last, &first)
	if err != nil || !found || last < 2 || first == last {
		return err
	}
	nonce, _, err := storedNonceAt(t.view, id, last-1)
	if err != nil {
		return err
	}
	return t.write(setPruned, storedNonce(nonce), id[:])
}
