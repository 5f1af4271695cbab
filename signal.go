package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// UserMessage is the name of the signal that carries what the user says.
const UserMessage = "userMessage"

// SignalState is how far a signal has come.
type SignalState string

const (
	// SignalPending waits to be taken.
	SignalPending SignalState = "pending"
	// SignalTaken was used by a commit; a re-entry before the next checkpoint
	// is given it again.
	SignalTaken SignalState = "taken"
	// SignalConsumed is done with.
	SignalConsumed SignalState = "consumed"
)

// Signal is a durable message into an execution, first in first out per name.
type Signal struct {
	ID         string          `json:"signalId"`
	Name       string          `json:"signalName"`
	Value      json.RawMessage `json:"signalValue"`
	State      SignalState     `json:"state"`
	ResponseID string          `json:"responseId,omitempty"`
	CreatedAt  Time            `json:"createdAt"`

	// Order is the place of the signal among those of its execution.
	Order int64 `json:"-"`
	// TakenAt is the checkpoint number that was newest at the taking.
	TakenAt int64 `json:"-"`
	// Blob holds the value where it is over InlineLimit and not loaded.
	Blob *BlobRef `json:"-"`
}

// EntryKey is the key of the entry that is made from the signal.
func (s Signal) EntryKey() string { return "signal:" + s.ID }

// TaskEntryKey is the key of the entry that is made from a task's result.
func TaskEntryKey(id uuid.UUID) string { return "task:" + id.String() }
