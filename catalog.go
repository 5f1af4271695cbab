package perdure

import "encoding/json"

// Catalog lists the model providers and tools that are built into a program. A server shows the
// catalog to clients, together with the providers and tools that workers have registered. Package
// llm and package tool describe the built-in ones.
type Catalog struct {
	Providers []ProviderInfo
	Tools     []ToolInfo
	// Calls rebuilds the requests of model calls from stored data. It is nil if the program cannot
	// rebuild them. Package react implements it.
	Calls CallRebuilder
}

// ProviderInfo describes a model provider.
type ProviderInfo struct {
	// Name is the provider's name in [ModelConfig].
	Name string `json:"name"`
	// Registered reports whether a worker of the org has registered an agent that can call the
	// provider. Registered does not say whether the worker has an API key for the provider. Only a
	// server sets it.
	Registered bool `json:"registered"`
	// APIKeyEnvs are the names of the environment variables of the worker that can hold the API
	// key. The worker uses the first one that is set. The list is empty for a provider without
	// keys.
	APIKeyEnvs []string `json:"apiKeyEnvs,omitempty" nullable:"false"`
	// DefaultModel is the id of the model that is used if the configuration names none; "" if there is
	// no default.
	DefaultModel string `json:"defaultModel,omitempty"`
	// Models are the models whose price is known, by id. The provider may offer other models.
	Models []ModelInfo `json:"models,omitempty" nullable:"false"`
}

// ModelInfo describes a model of a provider.
type ModelInfo struct {
	ID    string `json:"id"`
	Price Price  `json:"price"`
	// Window is the number of tokens of the model's context window, and MaxOutput the maximum number of
	// tokens of the model's answer. Both are absent if they are unknown.
	Window    int `json:"window,omitempty"`
	MaxOutput int `json:"maxOutput,omitempty"`
}

// Price is a list price in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// ToolInfo describes a tool that a model can call.
type ToolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the arguments.
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// ReadOnly reports whether a call of the tool changes nothing.
	ReadOnly bool `json:"readOnly"`
	// Network reports whether a call of the tool may use the network.
	Network bool `json:"network"`
	// Registered reports whether a worker of the org has registered a task with the tool's name. Only a
	// server sets it.
	Registered bool `json:"registered"`
}

// KindType distinguishes kinds of agents from kinds of tasks.
type KindType string

// KindAgent and KindTask are the types of kinds.
const (
	KindAgent KindType = "agent"
	KindTask  KindType = "task"
)

// KindInfo describes a kind that workers of an org have registered.
type KindInfo struct {
	Kind        string          `json:"kind"`
	Type        KindType        `json:"type"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema is the JSON Schema of an agent's output or a task's result, as the newest
	// registration stated it.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Tags are words by which clients filter lists of kinds.
	Tags []string `json:"tags,omitempty" nullable:"false"`
	// Providers are the model providers that the kind can call; nil for kinds that call no model.
	Providers []string `json:"providers,omitempty" nullable:"false"`
	// Signals are the signals that an agent takes. If builds of the agent declare different schemas
	// for a signal, its name occurs once for each schema. A value must fit one of them.
	Signals []SignalSpec `json:"signals,omitempty" nullable:"false"`
	// RegisteredAt is the last time at which a worker registered the kind. Workers register when
	// they connect, so a kind whose workers are connected may have been registered long ago.
	RegisteredAt Time `json:"registeredAt"`
}
