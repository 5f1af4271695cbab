package read

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Both queries walk an index backwards to the first match. The names of the types are passed as one
// text, so that the statement is always the same.
var (
	newestRecord = statement.Read("SELECT seq FROM log_record WHERE agent_execution_id = ?1 AND pos <= ?2 AND ?3 LIKE '%,' || type || ',%' ORDER BY pos DESC LIMIT 1")
	newestBlock  = statement.Read("SELECT b.seq FROM log_block b WHERE b.agent_execution_id = ?1" + ofBlocks +
		" AND b.first_pos <= ?2 AND ?3 LIKE '%,' || b.type || ',%' ORDER BY b.seq DESC LIMIT 1")
)

// LastSeqOf implements [store.Reader].
func (r *Reader) LastSeqOf(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error) {
	var names strings.Builder
	names.WriteByte(',')
	for _, t := range types {
		names.WriteString(string(t))
		names.WriteByte(',')
	}
	newest := int64(0)
	err := r.read(ctx, func(v statement.View) error {
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
