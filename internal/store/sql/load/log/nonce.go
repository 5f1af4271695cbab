package log

import (
	"encoding/binary"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// StoredNonce returns a nonce in the form in which tables store it: as a signed 32-bit number.
func StoredNonce(n uint32) int64 { return int64(int32(n)) }

// NonceInto returns a destination with which a row's nonce is scanned into p.
func NonceInto(p *uint32) *nonceScan { return (*nonceScan)(p) }

type nonceScan uint32

// ScanNumber implements NumberScanner. It never returns an error.
func (n *nonceScan) ScanNumber(stored int64) error {
	*n = nonceScan(uint32(stored))
	return nil
}

func (n *nonceScan) Scan(src any) error {
	stored, _ := src.(int64)
	return n.ScanNumber(stored)
}

// NonceList contains the nonces of a closed block's chunks, four bytes each, in the order of the
// chunks. It is empty for a block that a version without nonces has closed.
type NonceList []byte

// Add appends a nonce.
func (l *NonceList) Add(n uint32) { *l = binary.BigEndian.AppendUint32(*l, n) }

// Of returns the nonce of the cut with the index i; 0 if it is unknown.
func (l NonceList) Of(i int) uint32 {
	if len(l) < 4*(i+1) {
		return 0
	}
	return binary.BigEndian.Uint32(l[4*i:])
}

var (
	eventNonce  = statement.Read("SELECT nonce FROM log_record WHERE agent_execution_id = ?1 AND pos >= ?2 AND pos <= ?2 ORDER BY pos LIMIT 1")
	openNonce   = statement.Read("SELECT c.nonce FROM log_block b CROSS JOIN log_chunk c WHERE b.agent_execution_id = ?1 AND b.open = 1 AND c.agent_execution_id = ?1 AND c.seq = b.seq AND c.pos = ?2")
	closedNonce = statement.Alone(SpanClasses + " SELECT b.cuts, b.nonces" + FromSpans)
)

// StoredNonceAt returns the nonce of the stored record at pos: an event, or a chunk of an open or
// closed block.
func StoredNonceAt(v statement.View, execution uuid.UUID, pos int64) (nonce uint32, found bool, err error) {
	for _, query := range []*statement.Statement{eventNonce, openNonce} {
		found, err = v.One(query, []any{execution[:], pos}, NonceInto(&nonce))
		if err != nil || found {
			return nonce, found, err
		}
	}
	err = v.Each(closedNonce, []any{execution[:], pos - 1, pos, MaxSpanClass}, func(row func(...any) error) error {
		var cuts, nonces []byte
		if err := row(&cuts, &nonces); err != nil {
			return err
		}
		at, err := ReadCuts(cuts, nonces, pos-1, pos)
		if err == nil && len(at) > 0 {
			nonce, found, err = at[0].Nonce, true, statement.ErrStop
		}
		return err
	})
	return nonce, found, err
}
