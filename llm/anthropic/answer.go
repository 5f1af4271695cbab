package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// answer assembles the events of one stream.
type answer struct {
	builder *llm.Builder
	calls   *llm.Calls
	open    map[int64]*block
	id      string
	stop    anthropic.StopReason
	usage   perdure.Usage
	done    bool // message_stop was received
	echo    echo
}

// block is an open content block.
type block struct {
	kind  string
	call  *llm.Call
	input string // arguments that came complete with the start
}

func newAnswer(emit func(llm.Delta) error) *answer {
	b := llm.NewWireBuilder(emit)
	return &answer{builder: b, calls: llm.NewCalls(b, Name), open: map[int64]*block{}}
}

func (a *answer) take(e anthropic.MessageStreamEventUnion) error {
	a.echo.take(e)
	switch e.Type {
	case "message_start":
		a.id = e.Message.ID
		u := e.Message.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		a.countThinking(u.OutputTokensDetails)
	case "content_block_start":
		return a.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		return a.delta(e.Index, e.Delta)
	case "content_block_stop":
		return a.end(e.Index)
	case "message_delta":
		a.stop = e.Delta.StopReason
		u := e.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		a.countThinking(u.OutputTokensDetails)
	case "message_stop":
		a.done = true
	}
	return nil
}

// count stores token counts. The counts are cumulative; a field that an event omits is 0.
func (a *answer) count(input, output, cacheRead, cacheWrite int64) {
	a.usage.Input = max(a.usage.Input, input)
	a.usage.Output = max(a.usage.Output, output)
	a.usage.CacheRead = max(a.usage.CacheRead, cacheRead)
	a.usage.CacheWrite = max(a.usage.CacheWrite, cacheWrite)
}

// countThinking stores the number of reasoning tokens in the output, if the API reports it.
func (a *answer) countThinking(d anthropic.OutputTokensDetails) {
	if d.JSON.ThinkingTokens.Valid() && (a.usage.Reasoning == nil || *a.usage.Reasoning < d.ThinkingTokens) {
		a.usage.Reasoning = &d.ThinkingTokens
	}
}

func (a *answer) start(index int64, b anthropic.ContentBlockStartEventContentBlockUnion) error {
	a.builder.Break()
	open := &block{kind: b.Type}
	a.open[index] = open
	switch b.Type {
	case "text":
		return a.builder.Text(b.Text)
	case "thinking":
		if b.Signature != "" {
			a.builder.Sign(b.Signature)
		}
		return a.builder.Thinking(b.Thinking)
	case "redacted_thinking":
		a.builder.Redacted(b.Data)
	case "tool_use":
		if raw := b.JSON.Input.Raw(); raw != "{}" && raw != "null" {
			open.input = string(llm.Escaped([]byte(raw)))
		}
		call, err := a.calls.Start(b.Name, b.ID)
		open.call = call
		return err
	}
	return nil
}

func (a *answer) delta(index int64, d anthropic.MessageStreamEventUnionDelta) error {
	open := a.open[index]
	if open == nil {
		return nil
	}
	switch {
	case d.Type == "text_delta" && open.kind == "text":
		return a.builder.Text(d.Text)
	case d.Type == "thinking_delta" && open.kind == "thinking":
		return a.builder.Thinking(d.Thinking)
	case d.Type == "signature_delta" && open.kind == "thinking":
		a.builder.Sign(d.Signature)
	case d.Type == "input_json_delta" && open.call != nil:
		return a.calls.Append(open.call, d.PartialJSON)
	}
	return nil
}

func (a *answer) end(index int64) error {
	open := a.open[index]
	delete(a.open, index)
	a.builder.Break()
	if open == nil || open.call == nil {
		return nil
	}
	if open.call.Arguments == "" {
		if err := a.calls.Append(open.call, open.input); err != nil {
			return err
		}
	}
	return a.calls.End(open.call)
}

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
	switch a.stop {
	case anthropic.StopReasonToolUse:
		return perdure.StopToolUse
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return perdure.StopMaxTokens
	case anthropic.StopReasonRefusal:
		return perdure.StopRefusal
	case anthropic.StopReasonPauseTurn:
		if len(a.calls.All()) == 0 {
			return perdure.StopTurnLimit // it paused more often than maxPauses
		}
	}
	if len(a.calls.All()) > 0 {
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
