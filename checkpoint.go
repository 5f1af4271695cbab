package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Checkpoint is a numbered position of an execution: the leaf and a small
// state. The newest is where a resume starts.
type Checkpoint struct {
	Sequence    int64           `json:"sequence"`
	LeafEntryID *uuid.UUID      `json:"leafEntryId"`
	State       json.RawMessage `json:"state"`
	// StateBytes and StateSHA256 are shown to clients where the state itself is
	// not.
	StateBytes  int64           `json:"stateBytes,omitempty" wire:"-"`
	StateSHA256 string          `json:"stateSha256,omitempty" wire:"-"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // {checkpoint_reason, entry_count, state_version, traceparent}
	CreatedAt   Time            `json:"createdAt"`

	// Blob holds the state where it is over InlineLimit and not loaded.
	Blob *BlobRef `json:"-"`
}

// StateVersion is the version of the state that the metadata tells; 0 for none.
func (c Checkpoint) StateVersion() int { return c.told().StateVersion }

// Traceparent names the span that it was made under; "" for none.
func (c Checkpoint) Traceparent() string { return c.told().Traceparent }

type checkpointMetadata struct {
	StateVersion int    `json:"state_version"`
	Traceparent  string `json:"traceparent"`
}

func (c Checkpoint) told() (m checkpointMetadata) {
	if err := json.Unmarshal(c.Metadata, &m); err != nil {
		return checkpointMetadata{} // there is none, or it is not ours
	}
	return m
}
