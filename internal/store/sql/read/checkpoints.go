package read

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var checkpointColumns = "SELECT " + load.CheckpointRows.List("") + ", state FROM agent_checkpoint WHERE agent_execution_id = ?"

var (
	checkpointByNo   = statement.Read(checkpointColumns + " AND sequence = ?")
	checkpointNewest = statement.Read(checkpointColumns + " ORDER BY sequence DESC LIMIT 1")
	checkpointsAfter = statement.Read(checkpointColumns + " AND sequence > ? ORDER BY sequence LIMIT ?")
)

// loadCheckpoints reads the checkpoints that a query selects, with their states. It stops early
// after about store.PageBytes.
func loadCheckpoints(v statement.View, join joiner, execution uuid.UUID, query *statement.Statement, args ...any) ([]*perdure.Checkpoint, error) {
	var (
		all   []*perdure.Checkpoint
		bytes int
	)
	err := v.Each(query, append([]any{execution[:]}, args...), func(row func(...any) error) error {
		var c perdure.Checkpoint
		if err := row(append(load.CheckpointRows.Scan(nil, &load.CheckpointRow{Checkpoint: &c}), column.RawInto(&c.State))...); err != nil {
			return err
		}
		all = append(all, &c)
		if bytes += len(c.State); bytes > store.PageBytes {
			return statement.ErrStop
		}
		return nil
	})
	bytes = 0
	for i, c := range all {
		if err != nil {
			return nil, err
		}
		if err = contents.CompleteRef(v, execution, c.Blob); err == nil {
			err = join(v, execution, &c.State, &c.Blob)
		}
		if bytes += store.Weight(c.State, c.Blob); bytes > store.PageBytes && i > 0 {
			return all[:i], err
		}
	}
	return all, err
}
