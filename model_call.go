package perdure

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"
)

// The purposes of model calls.
const (
	CallTurn       = "turn"       // a turn of the react agent
	CallCompaction = "compaction" // a summary of the conversation
	CallGenerate   = "generate"   // a call of react.Generate
)

// ModelCall is a model call together with its request, which is rebuilt from stored data.
type ModelCall struct {
	// TaskID is the id of the task that made the call. It is also the id of the call.
	TaskID  uuid.UUID   `json:"taskExecutionId"`
	Purpose string      `json:"purpose" enum:"turn,compaction,generate"`
	Status  TaskStatus  `json:"status"`
	Attempt int         `json:"attempt"`
	Error   *TaskError  `json:"error,omitempty"`
	Model   ModelConfig `json:"model"`
	// LeafEntryID is the last entry of the path that the context is built from; nil for CallGenerate.
	// EntryID is the id of the message entry with the model's answer.
	LeafEntryID  *uuid.UUID     `json:"leafEntryId"`
	EntryID      uuid.UUID      `json:"entryId"`
	SystemPrompt string         `json:"systemPrompt"`
	Tools        []CallTool     `json:"tools" nullable:"false"`
	Parameters   CallParameters `json:"parameters"`
	// Prompt says whether the rebuilt prompt equals the prompt that was sent; nil if no hash of the
	// sent prompt is stored.
	Prompt *CallPrompt `json:"prompt"`
	// Answer is nil until the call has succeeded. Its usage includes the tokens that the provider read
	// from its cache.
	Answer             *Content  `json:"answer"`
	Cost               *CallCost `json:"cost,omitempty"`
	LatencyMs          int64     `json:"latencyMs,omitempty"`
	ProviderResponseID string    `json:"providerResponseId,omitempty"`

	// Messages are the messages as the model sees them, without the system prompt.
	Messages []Message `json:"-"`
}

// CallTool is a tool as it is described to a model.
type CallTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// CallParameters are the parameters of a model call. For a parameter that is left out, the provider's
// default applies.
type CallParameters struct {
	MaxTokens         int           `json:"maxTokens,omitempty"`
	Temperature       *float64      `json:"temperature,omitempty"`
	Thinking          string        `json:"thinking,omitempty"`
	ToolChoice        string        `json:"toolChoice,omitempty"`
	ToolName          string        `json:"toolName,omitempty"`
	ParallelToolCalls *bool         `json:"parallelToolCalls,omitempty"`
	Format            *OutputFormat `json:"format,omitempty"`
	Hints
}

// CallPrompt contains the hashes of the sent and of the rebuilt prompt of a call.
type CallPrompt struct {
	// SHA256 is the hash of the prompt that was sent: the system prompt, the tools and the messages.
	// Shown is the hash of the rebuilt prompt. Matches reports whether the two are equal.
	SHA256  string `json:"sha256"`
	Shown   string `json:"shownSha256"`
	Matches bool   `json:"matches"`
}

// CallCost is the cost of a call in US dollars.
type CallCost struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Total  float64 `json:"total"`
}

// StoredCall is the stored data from which a model call is rebuilt.
type StoredCall struct {
	// Task is the task of the kind ModelTaskKind, with its input and result.
	Task *Task
	// Input is the input of the execution.
	Input json.RawMessage
	// Tools are the tools that this program knows, with their descriptions and schemas.
	Tools []ToolInfo
	// FindTasks returns tasks and records of steps of the execution, in the order of ids. It returns
	// nil in place of a task that does not exist.
	FindTasks func(ids ...uuid.UUID) ([]*Task, error)
	// ContextPath returns the entries from which ContextOf builds the context at the entry `leaf`.
	ContextPath func(leaf uuid.UUID) iter.Seq2[Entry, error]
}

// CallRebuilder rebuilds requests of model calls. Package react implements it.
type CallRebuilder interface {
	// Rebuild returns the call together with its request. Errors: not_found if the task is no model
	// call.
	Rebuild(StoredCall) (*ModelCall, error)
	// Body returns the body of the HTTP request that the provider with the name `provider` would
	// send for the call. If `provider` is "", this is the provider of the call. The body does not
	// contain the API key. Errors: not_found if the task is no model call; invalid_argument if the
	// provider sends no HTTP requests or cannot send this one.
	Body(ctx context.Context, s StoredCall, provider string) ([]byte, error)
}
