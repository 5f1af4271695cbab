package perdure

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// ModelConfig names a model. A worker uses BaseURL and APIKeyEnv only if the worker's operator
// allows this pair.
type ModelConfig struct {
	Provider  string `json:"provider"`
	ModelID   string `json:"modelId"`
	BaseURL   string `json:"baseUrl,omitempty"`
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
}

func (m ModelConfig) String() string { return m.Provider + "/" + m.ModelID }

const (
	// MaxModels is the maximum number of models of an execution.
	MaxModels = 32
	// MaxModelID is the maximum length of the id of a model, in bytes.
	MaxModelID = 512
)

// CheckModelID checks that the model has an id of at most MaxModelID bytes of printable text. It does
// not compare the id with a list of models. The error is invalid_argument. The argument `at` is the
// prefix of the field name in the error.
func (m ModelConfig) CheckModelID(at string) error {
	switch {
	case m.ModelID == "":
		return FieldErrorf(at+"modelId", "is missing for provider %s", m.Provider)
	case len(m.ModelID) > MaxModelID:
		return FieldErrorf(at+"modelId", "has %d bytes; the maximum is %d", len(m.ModelID), MaxModelID)
	case strings.ContainsFunc(m.ModelID, func(r rune) bool { return !unicode.IsPrint(r) }):
		return FieldErrorf(at+"modelId", "must be printable text; %q is not", m.ModelID)
	}
	return nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// CheckEndpoint checks that BaseURL is a URL without a password and that APIKeyEnv is the name of an
// environment variable, not a key. So neither field can store a secret. The error is
// invalid_argument, and does not repeat the field's value. The argument `at` is the prefix of the
// field name in the error.
func (m ModelConfig) CheckEndpoint(at string) error {
	if m.BaseURL != "" {
		if _, err := ParseBaseURL(at+"baseUrl", m.BaseURL); err != nil {
			return err
		}
	}
	if m.APIKeyEnv != "" && !variableName.MatchString(m.APIKeyEnv) {
		return FieldErrorf(at+"apiKeyEnv", "must be the name of an environment variable of the worker, such as OPENAI_API_KEY, and never a key itself")
	}
	return nil
}

// HidePassword returns address without its query and without everything before its last @. It is for
// errors that show the URL. The address need not be a valid URL.
func HidePassword(address string) string {
	address, _, cut := strings.Cut(address, "?")
	if cut {
		address += "?..."
	}
	at := strings.LastIndex(address, "@")
	if at < 0 {
		return address
	}
	scheme, _, found := strings.Cut(address[:at], "://")
	if !found {
		return "..." + address[at:]
	}
	return scheme + "://..." + address[at:]
}

// ParseBaseURL parses the base URL of a model's endpoint. The error is invalid_argument and names
// the given field. The error does not repeat the URL, which may contain a password.
func ParseBaseURL(field, baseURL string) (*url.URL, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, FieldErrorf(field, "must be an http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, FieldErrorf(field, "must hold no user, query or fragment")
	}
	return u, nil
}

// OriginOf returns the scheme, host and port of a base URL as scheme://host:port. The result is in
// lower case and always has the port. Errors: those of [ParseBaseURL].
func OriginOf(field, baseURL string) (string, error) {
	u, err := ParseBaseURL(field, baseURL)
	if err != nil {
		return "", err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port, nil
}

// AgentConfig holds the limits and settings of a react agent. A nil field means the default.
type AgentConfig struct {
	// MaxTurns limits the number of model calls of one response; default 50.
	MaxTurns *int `json:"maxTurns,omitempty"`
	// MaxTokens limits the output of one model call, in tokens; default: the provider's limit.
	MaxTokens   *int     `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	// Thinking is one of the levels in Thinkings; default off.
	Thinking string `json:"thinking,omitempty"`
	// Net limits the network access of commands that the tool bash runs: open, loopback or none;
	// default open. If the worker has a limit of its own, the stricter of the two applies.
	Net string `json:"net,omitempty"`
	// Compaction says when the conversation is compacted.
	Compaction *CompactionConfig `json:"compaction,omitempty"`
}

// nets are the values of AgentConfig.Net, from the least to the most strict.
var nets = []string{"open", "loopback", "none"}

// Thinkings are the values of AgentConfig.Thinking in ascending order. The last one means the
// model's highest level.
var Thinkings = []string{"off", "low", "medium", "high", "xhigh"}

// CheckThinking checks that Thinking is one of [Thinkings]. Errors: invalid_argument.
func (c AgentConfig) CheckThinking() error {
	if c.Thinking != "" && !slices.Contains(Thinkings, c.Thinking) {
		return FieldErrorf("config.thinking", "%q is not one of %s", c.Thinking, strings.Join(Thinkings, ", "))
	}
	return nil
}

// strictness returns a rank of a value of Net; a higher rank allows less. An unknown value has the
// highest rank, so that Merge keeps it and CheckNet refuses it.
func strictness(net string) int {
	if net != "" && !slices.Contains(nets, net) {
		return len(nets)
	}
	return slices.Index(nets, net)
}

// CheckNet checks that Net is a known value. Errors: invalid_argument.
func (c AgentConfig) CheckNet() error {
	if c.Net != "" && !slices.Contains(nets, c.Net) {
		return FieldErrorf("config.net", "%q is not one of open, loopback, none", c.Net)
	}
	return nil
}

// Merge returns a copy of c in which the fields that are set in `over` replace those of c. Net
// becomes the stricter of both values, so that the start of an execution cannot allow network access
// that its definition forbids.
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
	if strictness(over.Net) > strictness(c.Net) {
		c.Net = over.Net
	}
	c.Compaction = c.Compaction.merge(over.Compaction)
	return c
}

// Definition is a stored agent configuration. An execution copies its definition at the start, so
// later edits do not change that execution.
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
	// Approvals decides which tool calls run in executions of the definition, and which calls people
	// must approve first.
	Approvals ApprovalPolicy `json:"approvals,omitempty"`
	// Retention overrides the org's retention for executions that start from the definition.
	Retention *Retention      `json:"retention,omitempty"`
	Metadata  json.RawMessage `json:"metadata"`
	CreatedAt Time            `json:"createdAt"`
	UpdatedAt Time            `json:"updatedAt"`
	Version   int64           `json:"version"`
}

// ModelTaskKind is the kind of the tasks that call models.
const ModelTaskKind = "llm-request"

// ReactKind is the kind of the built-in react agent.
const ReactKind = "react-agent"

// ReactInput is the input of an execution of the react agent: the definition as it was at the
// start, and the user's prompt.
type ReactInput struct {
	UserPrompt   string        `json:"userPrompt"`
	Parts        []Part        `json:"parts,omitempty"` // replaces UserPrompt if the prompt is more than text
	SystemPrompt string        `json:"systemPrompt,omitempty"`
	Models       []ModelConfig `json:"models"`
	Tools        []string      `json:"tools"`
	Config       AgentConfig   `json:"config"`
	OneShot      bool          `json:"oneShot"`
	// Approvals are the policies about tool calls, from the definition and from the request that
	// starts the execution. Settings in later messages do not change these policies.
	Approvals *Approvals `json:"approvals,omitempty"`
	// Messages replaces UserPrompt and Parts if the client starts with several messages, or with
	// messages of another role than user.
	Messages []InputMessage `json:"messages,omitempty"`
	// From, if set, names an entry of another execution. The path up to that entry is copied first,
	// and the conversation continues after it.
	From *EntryRef `json:"from,omitempty"`
	Turns
}

// InputMessage is a message that a client sends. It is a user's message, an assistant's message
// from another conversation, or the result of a tool that the client has run.
type InputMessage struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Provider and Model are set on an assistant's message whose parts are exactly as a model
	// returned them. They name this model, because no other model accepts the signatures of these
	// parts.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Compaction is set on a message with a PartCompaction. Such a message is a summary that the client
	// received from an earlier compaction, and the counts in the record are those of the earlier
	// compaction. The agent fills in the entries that the summary covers.
	Compaction *CompactionRecord `json:"compaction,omitempty"`
}

// EntryRef names an entry of an execution.
type EntryRef struct {
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	EntryID     uuid.UUID `json:"entryId"`
}

// ReactOutput is the output of an execution of the react agent.
type ReactOutput struct {
	Text         string           `json:"text"`
	StopReason   StopReason       `json:"stopReason"`
	UsageByModel map[string]Usage `json:"usageByModel"`
}

// KeyRole is the set of permissions of an API key.
type KeyRole string

const (
	KeyAdmin  KeyRole = "admin"
	KeyClient KeyRole = "client"
	KeyWorker KeyRole = "worker"
	// KeyApprover permits reading and answering questions. It permits reading no run, log or entry.
	KeyApprover KeyRole = "approver"
)

// APIKey is a stored key. The secret is shown once, at creation; only its hash is stored.
type APIKey struct {
	ID        uuid.UUID `json:"id"`
	Org       string    `json:"org"`
	Name      string    `json:"name"`
	Role      KeyRole   `json:"role"`
	Hash      Hash      `json:"-"`
	CreatedAt Time      `json:"createdAt"`
	RevokedAt *Time     `json:"revokedAt"`
	Limits    KeyLimits `json:"limits"`
	// Operator marks the token of a data directory. That token may act in every org, and may create,
	// disable and enable orgs.
	Operator bool `json:"-"`
	// Use says how much of the key's limits is used. It is set only in lists of keys.
	Use *KeyUse `json:"use,omitempty"`
}
