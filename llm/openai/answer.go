package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// answer assembles the chunks of one stream.
type answer struct {
	builder *llm.Builder
	calls   toolCalls
	id      string
	reason  string
	refused bool
	usage   perdure.Usage
}

func newAnswer(emit func(llm.Delta) error) *answer {
	b := llm.NewWireBuilder(emit)
	return &answer{builder: b, calls: toolCalls{calls: llm.NewCalls(b, Name)}}
}

func (a *answer) take(c openai.ChatCompletionChunk) error {
	if a.id == "" {
		a.id = c.ID
	}
	if c.JSON.Usage.Valid() {
		a.count(c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	return nil
}

func (a *answer) delta(d openai.ChatCompletionChunkChoiceDelta) error {
	if field, text := reasoningText(d); text != "" {
		if err := a.think(field, text); err != nil {
			return err
		}
	}
	if err := a.builder.Text(d.Content); err != nil {
		return err
	}
	if d.Refusal != "" {
		a.refused = true
		if err := a.builder.Text(d.Refusal); err != nil {
			return err
		}
	}
	for _, fragment := range d.ToolCalls {
		if err := a.calls.take(fragmentOf(fragment)); err != nil {
			return err
		}
	}
	return nil
}

// reasoningFieldNames are the fields in which servers stream reasoning. The part's signature stores
// the name, so that the text is sent back in the same field.
var reasoningFieldNames = []string{"reasoning_content", "reasoning"}

func isReasoningField(name string) bool {
	for _, field := range reasoningFieldNames {
		if field == name {
			return true
		}
	}
	return false
}

func reasoningText(d openai.ChatCompletionChunkChoiceDelta) (field, text string) {
	for _, field := range reasoningFieldNames {
		// A field that is not a string belongs to another protocol.
		if err := json.Unmarshal([]byte(d.JSON.ExtraFields[field].Raw()), &text); err == nil && text != "" {
			return field, text
		}
	}
	return "", ""
}

func (a *answer) think(field, text string) error {
	if err := a.builder.Thinking(text); err != nil {
		return err
	}
	a.builder.SetSignature(field)
	return nil
}

// count splits the prompt's tokens: tokens read from or written to the cache are not counted as
// input.
func (a *answer) count(u openai.CompletionUsage) {
	d := u.PromptTokensDetails
	a.usage.CacheRead, a.usage.CacheWrite = d.CachedTokens, d.CacheWriteTokens
	a.usage.Input = max(0, u.PromptTokens-d.CachedTokens-d.CacheWriteTokens)
	a.usage.Output = u.CompletionTokens
	if d := u.CompletionTokensDetails; d.JSON.ReasoningTokens.Valid() {
		a.usage.Reasoning = &d.ReasoningTokens
	}
}

// finish returns the response. It requires a finish reason: a stream without one was interrupted,
// even if a gateway closed it normally.
func (a *answer) finish(model string, prices llm.Prices) (*llm.Response, error) {
	switch a.reason {
	case "":
		return nil, llm.CutStream(Name)
	case "error":
		return nil, &llm.Error{Kind: llm.Unknown, Retryable: true, Provider: Name, Message: "the provider failed in the middle of its answer"}
	}
	if err := a.calls.finish(); err != nil {
		return nil, err
	}
	resp, err := a.builder.Finish(llm.Model{Provider: Name, ID: model}, a.stopReason(), a.usage, prices)
	if err != nil {
		return nil, err
	}
	resp.ProviderResponseID = a.id
	return resp, nil
}

func (a *answer) stopReason() perdure.StopReason {
	switch {
	case a.refused, a.reason == "content_filter":
		return perdure.StopRefusal
	case a.reason == "length":
		return perdure.StopMaxTokens
	case len(a.calls.calls.All()) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
