package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// answer assembles a response from the events of one stream.
type answer struct {
	adapter.Answer
	open map[int64]*block
	stop anthropic.StopReason
	echo blockEcho
}

// block is a content block that is being received.
type block struct {
	kind  string
	call  *llm.Call
	input string // arguments that the start event already contains
}

func newAnswer(c *adapter.Call) *answer {
	return &answer{Answer: adapter.NewAnswer(c), open: map[int64]*block{}}
}

func (a *answer) take(e anthropic.MessageStreamEventUnion) error {
	a.echo.take(e)
	switch e.Type {
	case "message_start":
		a.ID = e.Message.ID
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
		a.Done = true
	}
	return nil
}

// count stores the token counts of an event. An event contains the totals of the stream so far, or
// 0 for a count that it omits.
func (a *answer) count(input, output, cacheRead, cacheWrite int64) {
	a.Usage.Input = max(a.Usage.Input, input)
	a.Usage.Output = max(a.Usage.Output, output)
	a.Usage.CacheRead = max(a.Usage.CacheRead, cacheRead)
	a.Usage.CacheWrite = max(a.Usage.CacheWrite, cacheWrite)
}

// countThinking stores how many of the output tokens are reasoning, if the API reports it.
func (a *answer) countThinking(d anthropic.OutputTokensDetails) {
	if d.JSON.ThinkingTokens.Valid() && (a.Usage.Reasoning == nil || *a.Usage.Reasoning < d.ThinkingTokens) {
		a.Usage.Reasoning = &d.ThinkingTokens
	}
}

func (a *answer) start(index int64, b anthropic.ContentBlockStartEventContentBlockUnion) error {
	a.Builder.Break()
	open := &block{kind: b.Type}
	a.open[index] = open
	switch b.Type {
	case "text":
		return a.Builder.Text(b.Text)
	case "thinking":
		if b.Signature != "" {
			a.Builder.Sign(b.Signature)
		}
		return a.Builder.Thinking(b.Thinking)
	case "redacted_thinking":
		a.Builder.Redacted(b.Data)
	case "tool_use":
		if raw := b.JSON.Input.Raw(); raw != "{}" && raw != "null" {
			open.input = string(llm.Escaped([]byte(raw)))
		}
		call, err := a.Calls.Start(b.Name, b.ID)
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
		return a.Builder.Text(d.Text)
	case d.Type == "thinking_delta" && open.kind == "thinking":
		return a.Builder.Thinking(d.Thinking)
	case d.Type == "signature_delta" && open.kind == "thinking":
		a.Builder.Sign(d.Signature)
	case d.Type == "input_json_delta" && open.call != nil:
		return a.Calls.Append(open.call, d.PartialJSON)
	}
	return nil
}

func (a *answer) end(index int64) error {
	open := a.open[index]
	delete(a.open, index)
	a.Builder.Break()
	if open == nil || open.call == nil {
		return nil
	}
	if open.call.Arguments == "" {
		if err := a.Calls.Append(open.call, open.input); err != nil {
			return err
		}
	}
	return a.Calls.End(open.call)
}

func (a *answer) finish() (*llm.Response, error) {
	if !a.Done {
		return nil, a.Cut()
	}
	return a.Finish(a.stopReason())
}

func (a *answer) stopReason() perdure.StopReason {
	switch a.stop {
	case anthropic.StopReasonToolUse:
		return perdure.StopToolUse
	case anthropic.StopReasonMaxTokens:
		return perdure.StopMaxTokens
	case anthropic.StopReasonModelContextWindowExceeded:
		return perdure.StopContextLength
	case anthropic.StopReasonRefusal:
		return perdure.StopRefusal
	case anthropic.StopReasonPauseTurn:
		if len(a.Calls.All()) == 0 {
			return perdure.StopTurnLimit // the answer paused more often than maxPauses
		}
	}
	if len(a.Calls.All()) > 0 {
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
