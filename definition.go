package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// ModelConfig names a model. BaseURL and APIKeyEnv are taken only where the
// worker's operator allows exactly that pair.
type ModelConfig struct {
	Provider  string `json:"provider"`
	ModelID   string `json:"modelId"`
	BaseURL   string `json:"baseUrl,omitempty"`
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
}

func (m ModelConfig) String() string { return m.Provider + "/" + m.ModelID }

// AgentConfig are the limits and settings of a react agent. A nil field stands
// for the default.
type AgentConfig struct {
	// MaxTurns bounds the model calls of one response; default 50.
	MaxTurns *int `json:"maxTurns,omitempty"`
	// MaxTokens bounds the output of one model call; default: the provider's.
	MaxTokens   *int     `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	// Thinking is off, low, medium or high; default off.
	Thinking string `json:"thinking,omitempty"`
}

// Merge gives the config with every field that over sets replaced.
func (c AgentConfig) Merge(over AgentConfig) AgentConfig {
	if over.MaxTurns != nil {
		c.MaxTurns = over.MaxTurns
	}
	if over.MaxTokens != nil {
		c.MaxTokens = over.MaxTokens
	}
	if over.Temperature != nil {
		c.Temperature = over.Temperature
	}
	if over.Thinking != "" {
		c.Thinking = over.Thinking
	}
	return c
}

// Definition is a stored agent configuration. An execution copies it at its
// start, so that later edits do not touch it.
type Definition struct {
	ID           uuid.UUID     `json:"id"`
	Org          string        `json:"-"`
	Name         string        `json:"name"`
	Slug         string        `json:"slug"`
	Description  string        `json:"description"`
	SystemPrompt string        `json:"systemPrompt"`
	Models       []ModelConfig `json:"models"`
	Tools        []string      `json:"tools"`
	Config       AgentConfig   `json:"config"`
	// Retention stands over the org's for executions that start from it.
	Retention *Retention      `json:"retention,omitempty"`
	Metadata  json.RawMessage `json:"metadata"`
	CreatedAt Time            `json:"createdAt"`
	UpdatedAt Time            `json:"updatedAt"`
	Version   int64           `json:"version"`
}

// ReactKind is the kind of the built-in react agent.
const ReactKind = "react-agent"

// ReactInput is the input of an execution of the react agent: its definition
// as it was at the start, and what the user asked.
type ReactInput struct {
	UserPrompt   string        `json:"userPrompt"`
	Parts        []Part        `json:"parts,omitempty"` // in place of UserPrompt, where it holds more than text
	SystemPrompt string        `json:"systemPrompt,omitempty"`
	Models       []ModelConfig `json:"models"`
	Tools        []string      `json:"tools"`
	Config       AgentConfig   `json:"config"`
	OneShot      bool          `json:"oneShot"`
}

// ReactOutput is what an execution of the react agent ends with.
type ReactOutput struct {
	Text         string           `json:"text"`
	StopReason   StopReason       `json:"stopReason"`
	UsageByModel map[string]Usage `json:"usageByModel"`
}

// KeyRole is what an API key may do.
type KeyRole string

const (
	KeyAdmin  KeyRole = "admin"
	KeyClient KeyRole = "client"
	KeyWorker KeyRole = "worker"
)

// APIKey is a stored key. The secret itself is shown once, at creation, and
// only its hash is kept.
type APIKey struct {
	ID        uuid.UUID `json:"id"`
	Org       string    `json:"org"`
	Name      string    `json:"name"`
	Role      KeyRole   `json:"role"`
	Hash      Hash      `json:"-"`
	CreatedAt Time      `json:"createdAt"`
	RevokedAt *Time     `json:"revokedAt"`
}
