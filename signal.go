package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// UserMessage is the name of the signal that carries a user's message.
const UserMessage = "userMessage"

// SignalState is the state of a signal: pending, taken, consumed.
type SignalState string

const (
	// SignalPending is the state of a signal that no commit has taken.
	SignalPending SignalState = "pending"
	// SignalTaken is the state of a signal that a commit has taken. If the agent's function is
	// entered again before the next checkpoint, the function receives the signal again.
	SignalTaken SignalState = "taken"
	// SignalConsumed is the state of a taken signal after the next checkpoint. The signal is not
	// delivered again.
	SignalConsumed SignalState = "consumed"
)

// Signal is a durable message to an execution, first in first out per name.
type Signal struct {
	ID    string          `json:"signalId"`
	Name  string          `json:"signalName"`
	Value json.RawMessage `json:"signalValue"`
	// ValueBytes and ValueSHA256 are the length and the hash of the value, for clients that do not
	// receive the value.
	ValueBytes  int64       `json:"signalValueBytes,omitempty" wire:"-"`
	ValueSHA256 string      `json:"signalValueSha256,omitempty" wire:"-"`
	State       SignalState `json:"state"`
	ResponseID  string      `json:"responseId,omitempty"`
	CreatedAt   Time        `json:"createdAt"`

	// Order is the position of the signal among the execution's signals.
	Order int64 `json:"-"`
	// TakenAt is the number of the checkpoint that was the newest when the signal was taken.
	TakenAt int64 `json:"-"`
	// Blob refers to the value if the value is over InlineLimit and has not been loaded.
	Blob *BlobRef `json:"-"`
	// KeyID is the API key of the sender; nil for the token of the data directory.
	KeyID *uuid.UUID `json:"-" wire:"-"`
}

// EntryKey returns the key of the entry that is created from the signal.
func (s Signal) EntryKey() string { return "signal:" + s.ID }

// TaskEntryKey returns the key of the entry that is created from a task's result.
func TaskEntryKey(id uuid.UUID) string { return "task:" + id.String() }
