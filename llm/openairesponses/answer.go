package openairesponses

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/responses"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// answer assembles the events of one stream.
type answer struct {
	builder *llm.Builder
	calls   *llm.Calls
	items   []*item
	id      string
	cutBy   string // the reason for which the response is incomplete
	refused bool
	usage   perdure.Usage
	done    bool // the terminal event was received
}

func newAnswer(emit func(llm.Delta) error) *answer {
	b := llm.NewWireBuilder(emit)
	return &answer{builder: b, calls: llm.NewCalls(b, Name)}
}

func (a *answer) take(e responses.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.created", "response.in_progress":
		a.name(e.Response.ID)
	case "response.output_item.added":
		return a.start(e.OutputIndex, e.Item)
	case "response.output_item.done":
		return a.end(e.OutputIndex, e.Item)
	case "response.output_text.delta":
		return a.text(e, e.Delta)
	case "response.refusal.delta":
		a.refused = true
		return a.text(e, e.Delta)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			return a.think(e, "\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.think(e, e.Delta)
	case "response.function_call_arguments.delta":
		return a.arguments(e, e.Delta)
	case "response.function_call_arguments.done":
		return a.wholeArguments(a.find(e.OutputIndex, e.ItemID), e.Arguments)
	default:
		return a.terminal(e)
	}
	return nil
}

func (a *answer) terminal(e responses.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.completed", "response.incomplete":
		a.name(e.Response.ID)
		a.done = true
		a.count(e.Response.Usage)
		if e.Type == "response.incomplete" {
			a.cutBy = e.Response.IncompleteDetails.Reason
		}
	case "response.failed":
		return llm.EventError(Name, []byte(e.Response.RawJSON()))
	case "error":
		return llm.EventError(Name, []byte(e.RawJSON()))
	}
	return nil
}

func (a *answer) name(id string) {
	if a.id == "" {
		a.id = id
	}
}

// count splits the input tokens: tokens read from or written to the cache are not counted as input.
// Reasoning is part of the output.
func (a *answer) count(u responses.ResponseUsage) {
	d := u.InputTokensDetails
	a.usage.CacheRead, a.usage.CacheWrite = d.CachedTokens, d.CacheWriteTokens
	a.usage.Input = max(0, u.InputTokens-d.CachedTokens-d.CacheWriteTokens)
	a.usage.Output = u.OutputTokens
	if d := u.OutputTokensDetails; d.JSON.ReasoningTokens.Valid() {
		a.usage.Reasoning = &d.ReasoningTokens
	}
}

func (a *answer) text(e responses.ResponseStreamEventUnion, text string) error {
	if it := a.find(e.OutputIndex, e.ItemID); it != nil {
		it.said.Add(text)
	}
	return a.builder.Text(text)
}

func (a *answer) think(e responses.ResponseStreamEventUnion, text string) error {
	if it := a.find(e.OutputIndex, e.ItemID); it != nil {
		it.said.Add(text)
	}
	return a.builder.Thinking(text)
}

func (a *answer) arguments(e responses.ResponseStreamEventUnion, text string) error {
	it := a.find(e.OutputIndex, e.ItemID)
	if it == nil || it.call == nil {
		return nil
	}
	return a.calls.Append(it.call, text)
}

// wholeArguments appends the rest of the arguments that no delta contained. Some servers send the
// arguments only at the end.
func (a *answer) wholeArguments(it *item, whole string) error {
	if it == nil || it.call == nil {
		return nil
	}
	return a.calls.Complete(it.call, whole)
}

// finish returns the response. It requires the terminal event; a stream without one was
// interrupted.
func (a *answer) finish(model string, prices llm.Prices) (*llm.Response, error) {
	if !a.done {
		return nil, llm.CutStream(Name)
	}
	if err := a.calls.Finish(); err != nil {
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
	case a.refused, a.cutBy == "content_filter":
		return perdure.StopRefusal
	case a.cutBy != "":
		return perdure.StopMaxTokens
	case len(a.calls.All()) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}

// reasoningBlock is the stored part of a reasoning item, without its encrypted content. Its members
// are unchanged.
type reasoningBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Summary json.RawMessage `json:"summary"`
	Content json.RawMessage `json:"content,omitempty"`
	// EncryptedContent is stored as the part's signature, and inserted here when the block is sent.
	EncryptedContent string `json:"encrypted_content,omitempty"`
}
