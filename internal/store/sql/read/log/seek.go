package log

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	recordAt   = statement.Read("SELECT pos, seq FROM log_record WHERE agent_execution_id = ? AND pos >= ? ORDER BY pos LIMIT 1")
	lastRecord = statement.Read("SELECT pos, seq FROM log_record WHERE agent_execution_id = ? ORDER BY pos DESC LIMIT 1")
)

// posOf returns the position of the first record of an execution with the given seq or a greater
// one. Without an index by seq, it uses bisection, because seqs never decrease with the position.
// The first probe assumes that no chunks follow the searched record.
func posOf(v statement.View, execution uuid.UUID, seq int64) (pos int64, found bool, err error) {
	if v.Dialect.RecordsBySeq {
		found, err = v.One(firstRecord, []any{execution[:], seq}, &pos)
		return pos, found, err
	}
	var last, lastSeq int64
	found, err = v.One(lastRecord, []any{execution[:]}, &last, &lastSeq)
	if err != nil || !found || lastSeq <= seq {
		return last, found && lastSeq == seq, err
	}
	// The searched record is at pos, or between low and high.
	pos = last
	low, high := int64(0), last
	for at := last - (lastSeq - seq); low+1 < high; at = low + (high-low)/2 {
		at = max(low+1, min(at, high-1))
		var near, nearSeq int64
		if _, err := v.One(recordAt, []any{execution[:], at}, &near, &nearSeq); err != nil {
			return 0, false, err
		}
		switch {
		case nearSeq == seq:
			return near, true, nil
		case nearSeq > seq:
			pos, high = near, at
		default:
			low = near
		}
	}
	return pos, true, nil
}

// newestRecord and newestBlock read an index backwards to the first match. The names of the event
// types are passed as one text, so that the statement is always the same.
var (
	newestRecord = statement.Read("SELECT seq FROM log_record WHERE agent_execution_id = ?1 AND pos <= ?2 AND ?3 LIKE '%,' || type || ',%' ORDER BY pos DESC LIMIT 1")
	newestBlock  = statement.Read("SELECT b.seq FROM log_block b WHERE b.agent_execution_id = ?1" + ofBlocks +
		" AND b.first_pos <= ?2 AND ?3 LIKE '%,' || b.type || ',%' ORDER BY b.seq DESC LIMIT 1")
)

// LastSeqOf implements [store.Reader].
func (r *Logs) LastSeqOf(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error) {
	var names strings.Builder
	names.WriteByte(',')
	for _, t := range types {
		names.WriteString(string(t))
		names.WriteByte(',')
	}
	newest := int64(0)
	err := r.Read(ctx, func(v statement.View) error {
		for _, query := range []*statement.Statement{newestRecord, newestBlock} {
			var seq int64
			if _, err := v.One(query, []any{execution[:], pos, names.String()}, &seq); err != nil {
				return err
			}
			newest = max(newest, seq)
		}
		return nil
	})
	return newest, err
}
