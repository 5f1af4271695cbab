package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// CheckpointRow is a checkpoint with its execution.
type CheckpointRow struct {
	Execution uuid.UUID
	*perdure.Checkpoint
}

// CheckpointRows declares the rows of the table of checkpoints.
var CheckpointRows = row.New("agent_checkpoint", 2, []row.Field[CheckpointRow]{
	row.ID("agent_execution_id", func(x *CheckpointRow) *uuid.UUID { return &x.Execution }).Unread(),
	row.Number("sequence", func(x *CheckpointRow) *int64 { return &x.Sequence }),
	row.OptID("leaf_entry_id", func(x *CheckpointRow) **uuid.UUID { return &x.LeafEntryID }),
	row.RawText("metadata", func(x *CheckpointRow) *json.RawMessage { return &x.Metadata }),
	row.Time("created_at", func(x *CheckpointRow) *perdure.Time { return &x.CreatedAt }),
	row.Blob("state_blob", func(x *CheckpointRow) **perdure.BlobRef { return &x.Blob }),
}, "state")
