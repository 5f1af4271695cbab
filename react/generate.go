package react

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/scope"
	"github.com/perdure/perdure/llm"
)

// GenerateOptions are the options of Generate. Only Model is required.
type GenerateOptions struct {
	Model perdure.ModelConfig
	// Name identifies the model call within the execution or, in the function of an agent.Loop,
	// within one iteration. Without a Name, the messages and options identify the call: two calls
	// with the same messages and options get the same answer. Two such calls, or two calls with the
	// same Name, are separate calls only if their Instances differ.
	Name, Instance string
	// System is the system prompt.
	System string
	// Tools are the tools that the model may call. Generate does not run them: it returns the calls in
	// GenerateResult.Message.
	Tools []llm.ToolSpec
	// ToolChoice and ToolName have the same meaning as in perdure.Turns.
	ToolChoice, ToolName string
	// MaxTokens is the maximum size of the answer in tokens; 0 means the provider's default.
	MaxTokens   int
	Temperature *float64
	Thinking    llm.Thinking
	// Format is the format that the text of the answer must have; nil means free text.
	Format *perdure.OutputFormat
	// Silent, if set, keeps the answer from being streamed to clients.
	Silent bool
}

// GenerateResult is the answer of a model.
type GenerateResult struct {
	// Message is the answer. Append it to the messages to continue the conversation.
	Message perdure.Message
	// EntryID is the id with which clients see the streamed text of the answer. To store the answer
	// in the conversation of the execution under the same id, pass EntryID to agent.WithEntryID.
	EntryID uuid.UUID
	// Usage is the usage of the call in tokens, with its cost if the price is known.
	Usage      perdure.Usage
	StopReason perdure.StopReason
	// Latency is the duration of the model call.
	Latency time.Duration
}

// Text returns the text of the answer.
func (g GenerateResult) Text() string { return g.Message.PlainText() }

// Generate asks a model once, from an agent of any kind, and returns the answer. The call is a
// task, so its answer is stored. If the agent's function is entered again, Generate returns the
// stored answer, which is not paid for twice. While the answer arrives, it is streamed to the
// clients of the execution. After a temporary failure, the call is repeated, with growing pauses.
//
// The parameter messages is the conversation, from the first message to the last one. The last
// message is a user message or a tool result. Neither the messages nor the answer become part of
// the execution's conversation. The worker that makes the model calls must register ModelTasks, or
// the react agent's Tasks. Generate blocks. Errors: invalid_argument; a *perdure.TaskError whose
// code begins with model_ if the call has failed for good.
func Generate(ctx agent.Context, messages []perdure.Message, o GenerateOptions) (GenerateResult, error) {
	r, err := o.request(ctx, messages)
	if err != nil {
		return GenerateResult{}, err
	}
	at := ctx.Place()
	at.MessageID, at.ToolCallID = r.EntryID.String(), ""
	options := []agent.TaskOption{
		agent.Attempts(modelAttempts), agent.Backoff(modelBackoff, modelBackoffMost), agent.OnLost(perdure.OnLostRetry), agent.At(at),
	}
	switch {
	case o.Name != "":
		options = append(options, agent.Key(scope.Of(ctx)+generateKey(o)))
	case o.Instance != "":
		options = append(options, agent.Instance(o.Instance))
	}
	results, err := ctx.Await(agent.All, ctx.Schedule(ModelTask, r, options...))
	if err != nil {
		return GenerateResult{}, err
	}
	if err := results[0].Err(); err != nil {
		return GenerateResult{}, err
	}
	return generated(r.EntryID, results[0].Task.Result)
}

// ModelTasks returns the task kind of model calls, for Worker.RegisterTask. It is for a worker that
// does not register Tasks.
func ModelTasks(c Config) []agent.TaskDefinition { return []agent.TaskDefinition{modelTask(c)} }

func generateKey(o GenerateOptions) string {
	if o.Instance == "" {
		return "generate:" + o.Name
	}
	return "generate:" + o.Name + "#" + o.Instance
}

func generated(entry uuid.UUID, result json.RawMessage) (GenerateResult, error) {
	var a modelAnswer
	if err := json.Unmarshal(result, &a); err != nil {
		return GenerateResult{}, perdure.FieldErrorf("result", "of the model call does not decode: %v", err)
	}
	g := GenerateResult{
		Message: perdure.Message{Role: perdure.RoleAssistant, Content: a.Content}, EntryID: entry, StopReason: a.Content.StopReason,
		Latency: time.Duration(a.LatencyMs) * time.Millisecond,
	}
	if a.Content.Usage != nil {
		g.Usage = *a.Content.Usage
	}
	return g, nil
}

// generation is the request of Generate, as a part of a model task's input. It is also a part of
// the runRecord of Run.
type generation struct {
	System     string                 `json:"system,omitempty"`
	Messages   []perdure.InputMessage `json:"messages"`
	Tools      []llm.ToolSpec         `json:"tools,omitempty"`
	ToolChoice string                 `json:"toolChoice,omitempty"`
	ToolName   string                 `json:"toolName,omitempty"`
	MaxTokens  int                    `json:"maxTokens,omitempty"`

	Temperature *float64              `json:"temperature,omitempty"`
	Thinking    llm.Thinking          `json:"thinking,omitempty"`
	Format      *perdure.OutputFormat `json:"format,omitempty"`
	Silent      bool                  `json:"silent,omitempty"`
}

// generation returns the generation for these options and messages.
func (o GenerateOptions) generation(messages []perdure.Message) generation {
	g := generation{
		System: o.System, Tools: o.Tools, ToolChoice: o.ToolChoice, ToolName: o.ToolName, MaxTokens: o.MaxTokens,
		Temperature: o.Temperature, Thinking: o.Thinking, Format: o.Format, Silent: o.Silent,
	}
	for _, m := range messages {
		g.Messages = append(g.Messages, perdure.InputMessage{Role: m.Role, Parts: m.Parts, Provider: m.Provider, Model: m.Model})
	}
	return g
}

// request returns the input of the model task for these options and messages. Error: invalid_argument.
func (o GenerateOptions) request(ctx agent.Context, messages []perdure.Message) (modelRequest, error) {
	g := o.generation(messages)
	r := modelRequest{Model: o.Model, Generate: &g}
	if err := o.check(g.Messages); err != nil {
		return r, err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return r, perdure.FieldErrorf("messages", "do not encode: %v", err)
	}
	if o.Name != "" {
		raw = []byte(o.Name)
	}
	r.EntryID = uuid.NewSHA1(ctx.Execution().ID, append(append([]byte("generate\x00"), raw...), "\x00"+scope.Of(ctx)+o.Instance...))
	return r, nil
}

// check checks the options and the messages. Error: invalid_argument.
func (o GenerateOptions) check(messages []perdure.InputMessage) error {
	if o.Model.Provider == "" {
		return perdure.FieldErrorf("model", `is missing; name one, such as {"provider": "anthropic", "modelId": "..."}`)
	}
	if err := o.Model.CheckModelID("model."); err != nil {
		return err
	}
	if err := o.Model.CheckEndpoint("model."); err != nil {
		return err
	}
	if n := len(messages); n == 0 || messages[n-1].Role != perdure.RoleUser && messages[n-1].Role != perdure.RoleToolResult {
		return perdure.FieldErrorf("messages", "must end with a message of the user or the result of a tool")
	}
	if o.MaxTokens < 0 {
		return perdure.FieldErrorf("maxTokens", "must not be negative")
	}
	for _, text := range []struct{ field, value string }{{"name", o.Name}, {"instance", o.Instance}, {"system", o.System}} {
		if err := perdure.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	return perdure.CheckMessages("messages", nil, messages)
}

// generate runs a task that the function [Generate] has scheduled: it calls the model with the request
// in in.Generate.
func generate(ctx agent.TaskContext, c Config, provider llm.Provider, in modelRequest) (modelAnswer, error) {
	return answerAlone(ctx, c, provider, in, in.Generate.ask(in.Model), in.Generate.Silent)
}

func (g *generation) ask(m perdure.ModelConfig) llm.Request {
	r := llm.Request{
		Model: m.ModelID, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv, System: g.System, Tools: g.Tools, ToolChoice: g.ToolChoice, ToolName: g.ToolName,
		MaxTokens: g.MaxTokens, Temperature: g.Temperature, Thinking: g.Thinking, Format: g.Format,
	}
	r.Messages = g.firstMessages()
	return r
}

// firstMessages returns the messages before the first answer: those that were passed to Generate or Run.
func (g *generation) firstMessages() []perdure.Message {
	messages := make([]perdure.Message, len(g.Messages))
	for i, m := range g.Messages {
		messages[i] = perdure.Message{Role: m.Role, Content: perdure.Content{Parts: m.Parts, Provider: m.Provider, Model: m.Model}}
	}
	return messages
}
