package react

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// modelRequest is the input of a model task. It names the leaf entry instead of holding the
// conversation. So it is small, and does not depend on how the prompt is built.
type modelRequest struct {
	Turn        int                 `json:"turn"`
	Try         int                 `json:"try"`
	Model       perdure.ModelConfig `json:"model"`
	LeafEntryID uuid.UUID           `json:"leafEntryId"`
	EntryID     uuid.UUID           `json:"entryId"`
	// Settings are the response's settings; they replace the execution's input. Later reports that
	// this is not the first turn of the response.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	Later    bool                `json:"later,omitempty"`
	// Spent reports that the response may not call any more tools that run here.
	Spent bool `json:"spent,omitempty"`
}

// modelAnswer is the result of a model task.
type modelAnswer struct {
	Content            perdure.Content `json:"content"`
	ProviderResponseID string          `json:"providerResponseId,omitempty"`
	LatencyMs          int64           `json:"latencyMs"`
	// Cost is absent if the price is unknown, and in answers of older workers.
	Cost *llm.Cost `json:"cost,omitempty"`
	// Prompt is absent in answers of workers that did not hash the prompt.
	Prompt *llm.Prompt `json:"prompt,omitempty"`
}

const (
	modelAttempts    = 8
	modelBackoff     = time.Second
	modelBackoffMost = time.Minute
)

func (l *loop) request(p *pending) modelRequest {
	r := modelRequest{Turn: p.Turn, Try: p.Try, Model: p.Model, LeafEntryID: *l.ctx.Leaf(), EntryID: p.EntryID, Settings: l.st.Settings}
	// Set only if it matters, so that other requests keep their input and key.
	r.Later = l.asked().ToolChoice != "" && l.st.ResponseTurns > 0
	r.Spent = l.spent()
	return r
}

// spent reports whether the response has reached its maximum number of tool calls.
func (l *loop) spent() bool {
	most := l.asked().MaxToolCalls
	return most != nil && l.st.ResponseCalls >= *most
}

func modelOptions(p *pending, at perdure.Place) []agent.TaskOption {
	return []agent.TaskOption{
		agent.Instance(fmt.Sprintf("%d.%d", p.Turn, p.Try)), agent.Attempts(modelAttempts),
		agent.Backoff(modelBackoff, modelBackoffMost), agent.OnLost(perdure.OnLostRetry), agent.At(at),
	}
}

// llmCall is the metadata of an llm_call entry.
func llmCall(m perdure.ModelConfig, a modelAnswer, changed bool) map[string]any {
	call := map[string]any{
		"model":     map[string]string{"provider": m.Provider, "modelId": m.ModelID},
		"usage":     a.Content.Usage,
		"latencyMs": a.LatencyMs, "stopReason": a.Content.StopReason,
	}
	if a.Content.Usage != nil {
		call["cost"] = costRecord(a)
	}
	if a.ProviderResponseID != "" {
		call["providerResponseId"] = a.ProviderResponseID
	}
	if a.Prompt != nil {
		call["prompt"] = promptRecord{*a.Prompt, changed}
	}
	return call
}

// costRecord returns the cost in an llm_call entry: input, output and total, each null if unknown.
func costRecord(a modelAnswer) any {
	if a.Cost != nil {
		return a.Cost
	}
	return map[string]any{"input": nil, "output": nil, "total": a.Content.Usage.Cost}
}

// modelTask is the task that calls a model. It reads the path to the leaf, streams the deltas, and
// returns the whole answer.
func modelTask(c Config) agent.TaskDefinition {
	lately := &conversations{}
	d := agent.DefineTask(ModelTask, func(ctx agent.TaskContext, in modelRequest) (modelAnswer, error) {
		began := time.Now()
		provider, err := c.Providers.Lookup(in.Model.Provider)
		if err != nil {
			return modelAnswer{}, agent.Permanent(err)
		}
		request, prompt, err := lately.ask(ctx, c, provider, in)
		if err != nil {
			return modelAnswer{}, err
		}
		show := newShower(ctx.Stream(), in.EntryID)
		if err := llm.CheckRequest(provider, request); err != nil {
			return modelAnswer{}, modelError(err)
		}
		answer, err := callModel(ctx, c, provider, in.Model, request, show.delta)
		if err != nil {
			return modelAnswer{}, modelError(err)
		}
		answer.Parts = perdure.AcceptableParts(perdure.RoleAssistant, answer.Parts)
		nameCalls(answer.Content.Parts, in.EntryID)
		return modelAnswer{
			Content: answer.Content, ProviderResponseID: response.Real(answer.ProviderResponseID),
			LatencyMs: time.Since(began).Milliseconds(), Prompt: &prompt, Cost: answer.Cost,
		}, nil
	})
	d.Spec.Description = "Calls a model with the conversation up to an entry."
	d.Replay = replayAnswer
	return d
}

// ask builds the request and its hash. It uses the cached conversation and adds the new entries.
func (c *conversations) ask(ctx agent.TaskContext, config Config, provider llm.Provider, in modelRequest) (r llm.Request, p llm.Prompt, err error) {
	if r, err = buildRequest(ctx, config, provider, in); err != nil {
		return r, p, err
	}
	id := ctx.Task().ExecutionID
	conv := c.take(id)
	same, err := conv.read(ctx.Path(in.LeafEntryID))
	if err != nil {
		return r, p, err
	}
	r.Messages = slices.Clip(conv.messages)
	if p, err = conv.hash.Of(r, same); err != nil {
		return r, p, agent.Permanent(err)
	}
	c.put(id, conv)
	return r, p, nil
}

// buildRequest builds the request without its messages. The same path produces the same bytes on
// every worker, so that a provider's prompt cache hits.
func buildRequest(ctx agent.TaskContext, c Config, provider llm.Provider, in modelRequest) (llm.Request, error) {
	input, err := settingsOf(ctx, in)
	if err != nil {
		return llm.Request{}, err
	}
	r := llm.Request{
		Model: in.Model.ModelID, BaseURL: in.Model.BaseURL, APIKeyEnv: in.Model.APIKeyEnv,
		System: input.SystemPrompt, Temperature: input.Config.Temperature, Thinking: llm.Thinking(input.Config.Thinking),
		Tools: specs(c.Tools, input.Tools), ParallelToolCalls: input.ParallelToolCalls, Format: input.Format, Hints: input.Hints,
	}
	for _, t := range input.ClientTools {
		r.Tools = append(r.Tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema, Strict: t.Strict})
	}
	if !in.Later || input.ToolChoice == perdure.ToolChoiceNone {
		r.ToolChoice, r.ToolName = input.ToolChoice, input.ToolName
	}
	if n := input.Config.MaxTokens; n != nil {
		r.MaxTokens = *n
	}
	if in.Spent {
		r = withoutCalls(r, provider, input.ClientTools)
	}
	return r, nil
}

// withoutCalls returns the request of a turn that may not call any more tools that run here. The
// tools stay in the request, for the provider's prompt cache, and the tool choice forbids their
// use. If there are client tools, or the provider has no tool choice, the request offers only the
// client tools.
func withoutCalls(r llm.Request, provider llm.Provider, client []perdure.ClientTool) llm.Request {
	if len(client) == 0 && llm.Can(provider, llm.AbleToChooseTools) {
		r.ToolChoice, r.ToolName = perdure.ToolChoiceNone, ""
		return r
	}
	r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t llm.ToolSpec) bool {
		return !slices.ContainsFunc(client, func(c perdure.ClientTool) bool { return c.Name == t.Name })
	})
	return r
}

// settingsOf returns the settings of the model call.
func settingsOf(ctx agent.TaskContext, in modelRequest) (perdure.ReactInput, error) {
	if in.Settings != nil {
		return *in.Settings, nil
	}
	var input perdure.ReactInput
	x, err := ctx.Execution()
	if err != nil {
		return input, err
	}
	if err := json.Unmarshal(x.Input, &input); err != nil {
		return input, agent.Permanent(err)
	}
	return input, nil
}

// specs returns the specifications of the tools that an execution names, in the execution's order.
func specs(tools []tool.Tool, names []string) []llm.ToolSpec {
	var all []llm.ToolSpec
	for _, name := range names {
		for _, t := range tools {
			if t.Name == name {
				all = append(all, llm.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
			}
		}
	}
	return all
}

// callID returns our id of a tool call. It is derived from the entry with the call and the call's
// index, and is valid at every provider.
func callID(entry uuid.UUID, part int) string {
	return fmt.Sprintf("call_%s_%d", base64.RawURLEncoding.EncodeToString(entry[:]), part)
}

func nameCalls(parts []perdure.Part, entry uuid.UUID) {
	for i := range parts {
		if parts[i].Type == perdure.PartToolCall {
			parts[i].ID, parts[i].ProviderID = callID(entry, i), response.Real(parts[i].ProviderID)
		}
	}
}

// shower streams a model's answer to clients.
type shower struct {
	stream agent.Stream
	entry  uuid.UUID
	calls  map[int]bool
	part   int // index of the part of the newest delta; a block holds one part
}

func newShower(stream agent.Stream, entry uuid.UUID) *shower {
	return &shower{stream: stream, entry: entry, calls: map[int]bool{}, part: -1}
}

func (s *shower) delta(d llm.Delta) error {
	if d.Part != s.part {
		s.stream.Break()
		s.part = d.Part
	}
	switch d.Kind {
	case llm.DeltaText:
		s.stream.Text(d.Text)
	case llm.DeltaThinking:
		s.stream.Thinking(d.Text)
	case llm.DeltaToolStart:
		if !s.calls[d.Part] {
			s.calls[d.Part] = true
			s.stream.Data(map[string]any{
				"type": "tool_call_start", "tool_call": map[string]any{"id": callID(s.entry, d.Part), "name": d.ToolName},
			})
		}
	case llm.DeltaToolArguments:
		s.stream.ToolArguments(callID(s.entry, d.Part), d.Text)
	case llm.DeltaToolEnd:
		s.stream.Break()
	}
	return nil
}

// modelError converts a provider's error to an error that determines the task's retries.
func modelError(err error) error {
	var failed *llm.Error
	if errors.As(err, &failed) {
		return &perdure.TaskError{
			Code: perdure.Code("model_" + string(failed.Kind)), Message: failed.Provider + ": " + failed.Message,
			Permanent: !failed.Retryable, RetryAfter: failed.RetryAfter,
		}
	}
	if code := perdure.CodeOf(err); code != perdure.Internal {
		return agent.Permanent(err)
	}
	return err
}
