package perdure

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/google/uuid"
)

// CompactSignal is the name of the signal that asks the react agent to compact its conversation as soon
// as no turn is running. Its value is a CompactionRequest.
const CompactSignal = "perdure.compact"

// MaxCompactionInstructions is the maximum length of a compaction's instructions in bytes.
const MaxCompactionInstructions = 4 << 10

// CompactionRequest is the value of a CompactSignal.
type CompactionRequest struct {
	// Instructions are added to the prompt that requests the summary; for example, they say what the
	// summary must not omit.
	Instructions string `json:"instructions,omitempty"`
}

// Check returns an error if the instructions are longer than MaxCompactionInstructions. Errors:
// invalid_argument.
func (r CompactionRequest) Check() error {
	if n := len(r.Instructions); n > MaxCompactionInstructions {
		return FieldErrorf("instructions", "have %d bytes; the limit is %d", n, MaxCompactionInstructions)
	}
	return CheckText("instructions", r.Instructions)
}

// CompactionReason says why a conversation was compacted.
type CompactionReason string

const (
	// CompactionAutomatic is a compaction of a context that is close to the model's window.
	CompactionAutomatic CompactionReason = "automatic"
	// CompactionContextLength is a compaction after the provider refused a context as too long.
	CompactionContextLength CompactionReason = "context_length"
	// CompactionManual is a compaction that a client asked for.
	CompactionManual CompactionReason = "manual"
	// CompactionInput is a compaction that a client sent with its input. Its summary replaces a
	// conversation that the client had compacted before it sent the input.
	CompactionInput CompactionReason = "input"
)

var compactionReasons = []CompactionReason{CompactionAutomatic, CompactionContextLength, CompactionManual, CompactionInput}

// CompactionRecord is the metadata of a compaction entry. It says which earlier entries of the path
// are covered by the summary: all that the model saw up to the entry Last.
type CompactionRecord struct {
	// Last is the last entry that the summary covers. All tool calls up to Last have a result. Last
	// is absent only in a compaction of reason input that begins the conversation.
	Last uuid.UUID `json:"last,omitzero"`
	// KeepFrom is the entry after Last. The model sees this entry and all later ones unchanged.
	// KeepFrom is null if the summary covers the whole path before the compaction.
	KeepFrom *uuid.UUID `json:"keepFrom"`
	// Pinned are covered entries that the model still sees, before the summary. They are messages of
	// the user or of the system.
	Pinned []uuid.UUID `json:"pinned"`
	// ResultBytes is the maximum number of bytes of each tool result's text, and of each tool
	// call's arguments, in the entries before the compaction. The model sees only the head and the
	// tail of a longer text. 0 means no limit.
	ResultBytes int              `json:"resultBytes,omitempty"`
	Reason      CompactionReason `json:"reason"`
	// Messages is the number of messages that the summary replaces. TokensBefore and TokensAfter
	// are estimates of the number of tokens of the context before and after the compaction.
	Messages     int `json:"messages"`
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
}

// MaxPinned is the maximum number of entries in CompactionRecord.Pinned.
const MaxPinned = 50

// Compaction decodes the metadata of a compaction entry. Errors: invalid_argument.
func (e Entry) Compaction() (CompactionRecord, error) {
	var c CompactionRecord
	if err := json.Unmarshal(e.Metadata, &c); err != nil {
		return c, FieldErrorf("metadata", "of compaction %s does not decode: %v", e.ID, err)
	}
	switch {
	case c.Last == uuid.Nil && c.Reason != CompactionInput:
		return c, FieldErrorf("metadata.last", "of compaction %s is missing", e.ID)
	case len(c.Pinned) > MaxPinned:
		return c, FieldErrorf("metadata.pinned", "of compaction %s has %d entries; the limit is %d", e.ID, len(c.Pinned), MaxPinned)
	case c.ResultBytes < 0 || c.Messages < 0 || c.TokensBefore < 0 || c.TokensAfter < 0:
		return c, FieldErrorf("metadata", "of compaction %s has a negative number", e.ID)
	case !slices.Contains(compactionReasons, c.Reason):
		return c, FieldErrorf("metadata.reason", "%q of compaction %s is unknown", clip(string(c.Reason)), e.ID)
	}
	return c, nil
}

// CompactionRange is the part of a CompactionRecord that a server needs to find the context. It
// contains ids of entries, and no content.
type CompactionRange struct {
	Last     uuid.UUID
	KeepFrom *uuid.UUID
	Pinned   []uuid.UUID
}

// Range returns the range of the record.
func (c CompactionRecord) Range() CompactionRange {
	return CompactionRange{Last: c.Last, KeepFrom: c.KeepFrom, Pinned: c.Pinned}
}

// Range returns which entries the compaction covers. It reads the range from the metadata or, if
// only the worker has the metadata, from Covers. Errors: invalid_argument.
func (e NewEntry) Range() (CompactionRange, error) {
	switch {
	case e.Metadata != nil || e.Covers == nil:
		c, err := e.Compaction()
		return c.Range(), err
	case e.Covers.Last == uuid.Nil:
		return CompactionRange{}, FieldErrorf("covers.last", "of compaction %s is missing", e.ID)
	case len(e.Covers.Pinned) > MaxPinned:
		return CompactionRange{}, FieldErrorf("covers.pinned", "of compaction %s has %d entries; the limit is %d", e.ID, len(e.Covers.Pinned), MaxPinned)
	}
	return *e.Covers, nil
}

// CompactionConfig says when a conversation is compacted.
type CompactionConfig struct {
	// At is the fraction of the usable window that a conversation may fill before it is compacted.
	// The usable window is the model's context window minus the model's maximum output. At is from
	// MinCompactionAt to MaxCompactionAt; default DefaultCompactionAt.
	At *float64 `json:"at,omitempty"`
	// Off turns off automatic compaction. A client can still ask for a compaction.
	Off *bool `json:"off,omitempty"`
}

const (
	MinCompactionAt     = 0.1
	DefaultCompactionAt = 0.75
	MaxCompactionAt     = 0.95
)

// Threshold returns the field At, or its default.
func (c *CompactionConfig) Threshold() float64 {
	if c == nil || c.At == nil {
		return DefaultCompactionAt
	}
	return *c.At
}

// Disabled reports whether automatic compaction is off.
func (c *CompactionConfig) Disabled() bool { return c != nil && c.Off != nil && *c.Off }

// merge returns a copy of c in which the fields that are set in `over` replace those of c.
func (c *CompactionConfig) merge(over *CompactionConfig) *CompactionConfig {
	if c == nil || over == nil {
		if over == nil {
			return c
		}
		return over
	}
	merged := *c
	if over.At != nil {
		merged.At = over.At
	}
	if over.Off != nil {
		merged.Off = over.Off
	}
	return &merged
}

// CheckCompaction checks the settings of the compaction. Errors: invalid_argument.
func (c AgentConfig) CheckCompaction() error {
	at := c.Compaction.Threshold()
	if at < MinCompactionAt || at > MaxCompactionAt || math.IsNaN(at) {
		return FieldErrorf("config.compaction.at", "is %v; it must be from %v to %v", at, MinCompactionAt, MaxCompactionAt)
	}
	return nil
}
