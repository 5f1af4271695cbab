package perdure

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// CheckEndpoint reports whether BaseURL and APIKeyEnv are what their names say, so
// that neither a password nor a key is stored where they stand. The error is
// invalid_argument, names the field under at, and does not repeat it.
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

// HidePassword returns a URL, or what was meant to be one, without what stands before
// its last @, and without its query: for errors that say which URL is meant.
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

// ParseBaseURL reads the base URL of a model's endpoint. The error is
// invalid_argument for field, and does not repeat the URL: it may hold a password.
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

// OriginOf returns the scheme, host and port of a base URL as
// scheme://host:port, in lower case and with the port always given. The error is
// that of [ParseBaseURL].
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

// AgentConfig are the limits and settings of a react agent. A nil field stands
// for the default.
type AgentConfig struct {
	// MaxTurns bounds the model calls of one response; default 50.
	MaxTurns *int `json:"maxTurns,omitempty"`
	// MaxTokens bounds the output of one model call; default: the provider's.
	MaxTokens   *int     `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	// Thinking is one of Thinkings; default off.
	Thinking string `json:"thinking,omitempty"`
	// Net limits the network of the commands that bash runs: open, loopback or
	// none; default open. The stricter of this and the worker's own limit holds.
	Net string `json:"net,omitempty"`
}

// nets are the values of Net, those that allow less last.
var nets = []string{"open", "loopback", "none"}

// Thinkings are the values of AgentConfig.Thinking, the least first. The last is the
// highest level that the model has.
var Thinkings = []string{"off", "low", "medium", "high", "xhigh"}

// CheckThinking reports whether Thinking is one of its values. The error is
// invalid_argument.
func (c AgentConfig) CheckThinking() error {
	if c.Thinking != "" && !slices.Contains(Thinkings, c.Thinking) {
		return FieldErrorf("config.thinking", "%q is not one of %s", c.Thinking, strings.Join(Thinkings, ", "))
	}
	return nil
}

// strictness is larger for what allows less; what is unknown counts as the most, so
// that a merge keeps it and CheckNet refuses it.
func strictness(net string) int {
	if net != "" && !slices.Contains(nets, net) {
		return len(nets)
	}
	return slices.Index(nets, net)
}

// CheckNet reports whether Net is one of its values. The error is
// invalid_argument.
func (c AgentConfig) CheckNet() error {
	if c.Net != "" && !slices.Contains(nets, c.Net) {
		return FieldErrorf("config.net", "%q is not one of open, loopback, none", c.Net)
	}
	return nil
}

// Merge returns the config with every field replaced that over sets. Of Net the
// stricter of both holds, so that a start cannot open what its definition closes.
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
	// Messages are, in place of UserPrompt and Parts, what the user gives where
	// it is more than one message of their own.
	Messages []InputMessage `json:"messages,omitempty"`
	// From is where in another execution the conversation begins: its path is
	// copied before anything else.
	From *EntryRef `json:"from,omitempty"`
	Turns
}

// InputMessage is a message that a client gives: what the user says, what an
// assistant has said elsewhere, or the result of a call of a client's tool.
type InputMessage struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Provider and Model are of an assistant's message whose parts came back as that
	// model made them: only it takes their signatures.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// EntryRef names an entry of an execution.
type EntryRef struct {
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	EntryID     uuid.UUID `json:"entryId"`
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
	Limits    KeyLimits `json:"limits"`
	// Operator marks the token of a data directory, which may act in every org and
	// create, disable and enable orgs.
	Operator bool `json:"-"`
	// Use is shown where keys are listed.
	Use *KeyUse `json:"use,omitempty"`
}
