package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Checkpoint is a numbered position from which an execution can resume: the leaf of its
// conversation and a small state. A resume starts at the newest checkpoint.
type Checkpoint struct {
	Sequence    int64           `json:"sequence"`
	LeafEntryID *uuid.UUID      `json:"leafEntryId"`
	State       json.RawMessage `json:"state"`
	// StateBytes and StateSHA256 are the length and the hash of the state, for clients that do not
	// receive the state itself.
	StateBytes  int64           `json:"stateBytes,omitempty" wire:"-"`
	StateSHA256 string          `json:"stateSha256,omitempty" wire:"-"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // {checkpoint_reason, entry_count, state_version, traceparent}
	CreatedAt   Time            `json:"createdAt"`

	// Blob refers to the blob that contains the state, if the state is larger than InlineLimit and has
	// not been loaded.
	Blob *BlobRef `json:"-"`
}

// StateVersion returns the version of the state from the metadata, or 0 if the metadata has no
// version.
func (c Checkpoint) StateVersion() int { return c.told().StateVersion }

// Traceparent returns the W3C trace context of the span that made the checkpoint, or "" if none is
// known.
func (c Checkpoint) Traceparent() string { return c.told().Traceparent }

type checkpointMetadata struct {
	StateVersion int    `json:"state_version"`
	Traceparent  string `json:"traceparent"`
}

func (c Checkpoint) told() (m checkpointMetadata) {
	if err := json.Unmarshal(c.Metadata, &m); err != nil {
		return checkpointMetadata{} // no metadata, or of an unknown form
	}
	return m
}
