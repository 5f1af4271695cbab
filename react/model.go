package react

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// modelRequest is the input of a model task. It contains the id of the conversation's leaf instead
// of the conversation, so it is small and does not depend on how the prompt is built.
type modelRequest struct {
	Turn        int                 `json:"turn"`
	Try         int                 `json:"try"`
	Model       perdure.ModelConfig `json:"model"`
	LeafEntryID uuid.UUID           `json:"leafEntryId"`
	EntryID     uuid.UUID           `json:"entryId"`
	// Settings are the settings of the response, if they differ from the execution's input. If
	// Later is set, the call does not belong to the first turn of the response.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
	Later    bool                `json:"later,omitempty"`
	// Compaction, if set, means that the call asks for a summary of the conversation, not for an
	// answer.
	Compaction *compactionRequest `json:"compaction,omitempty"`
	// Spent says that the response has reached its maximum number of tool calls that run on
	// workers.
	Spent bool `json:"spent,omitempty"`
	// Generate is the request of a call of the function [Generate], with its messages. It is set only
	// if such a call has scheduled the model call.
	Generate *generation `json:"generate,omitempty"`
	// Run is set if the model call is a turn of the function [Run]. It says which turn.
	Run *runTurn `json:"run,omitempty"`
}

// modelAnswer is the result of a model task.
type modelAnswer struct {
	Content            perdure.Content `json:"content"`
	ProviderResponseID string          `json:"providerResponseId,omitempty"`
	LatencyMs          int64           `json:"latencyMs"`
	// Cost is nil if the price is unknown. Workers of older versions never set it.
	Cost *llm.Cost `json:"cost,omitempty"`
	// Prompt is the hash of the prompt. Workers of older versions never set it.
	Prompt *llm.Prompt `json:"prompt,omitempty"`
}

const (
	modelAttempts    = 8
	modelBackoff     = time.Second
	modelBackoffMost = time.Minute
)

func (l *loop) request(p *pending) modelRequest {
	r := modelRequest{Turn: p.Turn, Try: p.Try, Model: p.Model, LeafEntryID: *l.ctx.Leaf(), EntryID: p.EntryID, Settings: l.st.Settings}
	// Later and Spent are set only if they change the request, so that all other inputs, and with
	// them the keys of the tasks, are the same as in older versions.
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
		agent.Backoff(modelBackoff, modelBackoffMost), agent.OnLost(perdure.OnLostRetry), agent.ReadsContext(), agent.At(at),
	}
}

// llmCall returns the metadata of the llm_call entry about a model call.
func llmCall(m perdure.ModelConfig, a modelAnswer, prompt *promptRecord) map[string]any {
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
	if prompt != nil {
		call["prompt"] = prompt
	}
	return call
}

// costRecord returns the cost as an llm_call entry contains it, with the members input, output and
// total. A member is null if it is unknown.
func costRecord(a modelAnswer) any {
	if a.Cost != nil {
		return a.Cost
	}
	return map[string]any{"input": nil, "output": nil, "total": a.Content.Usage.Cost}
}

// modelTask returns the task kind that calls a model. The task reads the context at the leaf,
// streams the answer while it arrives, and returns the whole answer.
func modelTask(c Config) agent.TaskDefinition {
	lately, runs := &conversations{}, &runTurns{}
	d := agent.DefineTask(ModelTask, func(ctx agent.TaskContext, in modelRequest) (modelAnswer, error) {
		began := time.Now()
		provider, err := c.Providers.Lookup(in.Model.Provider)
		if err != nil {
			return modelAnswer{}, agent.Permanent(err)
		}
		if in.Generate != nil {
			return generate(ctx, c, provider, in)
		}
		if in.Run != nil {
			return runs.answerTurn(ctx, c, provider, in)
		}
		if in.Compaction != nil {
			return summarise(ctx, c, provider, in)
		}
		request, prompt, err := lately.ask(ctx, c, provider, in)
		if err != nil {
			return modelAnswer{}, err
		}
		show := newAnswerStream(ctx.Stream(), in.EntryID)
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
	return d.TaskDefinition
}

// ask returns the request of a model call and the hash of its prompt. It does not decode cached
// messages again.
func (c *conversations) ask(ctx agent.TaskContext, config Config, provider llm.Provider, in modelRequest) (r llm.Request, p llm.Prompt, err error) {
	if r, err = buildRequest(ctx, config, provider, in); err != nil {
		return r, p, err
	}
	id := ctx.Task().ExecutionID
	conv := c.take(id)
	same, err := conv.readContext(func() iter.Seq2[perdure.Entry, error] { return ctx.ContextPath(in.LeafEntryID) })
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

// requestSource reads the stored data from which a request is built, apart from the input of the
// model task. An agent.TaskContext implements it.
type requestSource interface {
	Execution() (*perdure.Execution, error)
	ContextPath(leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
}

// buildRequest returns the request of a model call, but without its messages. Equal inputs produce
// equal bytes on every worker, so that the provider's prompt cache can be used.
func buildRequest(ctx requestSource, c Config, provider llm.Provider, in modelRequest) (llm.Request, error) {
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

// withoutCalls changes the request of a turn that may no longer call tools that run on workers. The
// tools remain in the request, with the tool choice none, so that the provider's prompt cache can
// be used. But if there are client tools, or the provider has no tool choice, all tools except the
// client tools are removed.
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

// settingsOf returns the settings that apply to a model call: those of its response or, if there are none,
// those in the execution's input.
func settingsOf(ctx requestSource, in modelRequest) (perdure.ReactInput, error) {
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

// specs returns the specifications of the tools with these names, in the order of the names.
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

// callID returns Perdure's id of a tool call. It is derived from the id of the entry and the index
// of the call's part, and every provider accepts its form.
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

// answerStream streams a model's answer to the readers of the execution's log.
type answerStream struct {
	stream agent.Stream
	entry  uuid.UUID
	calls  map[int]bool
	part   int // index of the part of the newest delta; each part has its own block
}

func newAnswerStream(stream agent.Stream, entry uuid.UUID) *answerStream {
	return &answerStream{stream: stream, entry: entry, calls: map[int]bool{}, part: -1}
}

func (s *answerStream) delta(d llm.Delta) error {
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

// modelError converts the error of a model call to an error that says whether and when the task is
// retried.
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
