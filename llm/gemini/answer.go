package gemini

import (
	"encoding/base64"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// chunk is the JSON of one event in the stream of a response.
type chunk struct {
	ResponseID     string
	Error          json.RawMessage
	PromptFeedback struct{ BlockReason string }
	UsageMetadata  tokenCounts
	Candidates     []struct {
		Index        int
		FinishReason string
		Content      struct{ Parts []receivedPart }
	}
}

type tokenCounts struct {
	PromptTokenCount, ToolUsePromptTokenCount, CachedContentTokenCount int64
	CandidatesTokenCount, ThoughtsTokenCount                           int64
}

type receivedPart struct {
	Text                 markedText
	Thought              bool
	ThoughtSignature     []byte
	InlineData, FileData *struct{}
	FunctionCall         *receivedCall
}

// receivedCall is a function call in a response. Args is the JSON text of the arguments as
// received, so that the order of keys and the form of numbers are kept.
type receivedCall struct {
	ID, Name markedText
	Args     json.RawMessage
}

// markedText is a string in a response, in which llm.Marked has marked the halves of surrogate
// pairs.
type markedText string

// UnmarshalJSON implements json.Unmarshaler.
func (m *markedText) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(llm.Marked(raw), (*string)(m))
}

// answer assembles a response from the chunks of one stream.
type answer struct {
	adapter.Answer
	reason  string
	blocked bool // whether the API blocked the prompt
}

func newAnswer(c *adapter.Call) *answer { return &answer{Answer: adapter.NewAnswer(c)} }

func (a *answer) take(c *chunk) error {
	if a.ID == "" {
		a.ID = c.ResponseID
	}
	a.count(c.UsageMetadata)
	if c.PromptFeedback.BlockReason != "" {
		a.blocked = true
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 {
			continue
		}
		for _, p := range candidate.Content.Parts {
			if err := a.part(p); err != nil {
				return err
			}
		}
		if reason := candidate.FinishReason; reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
			a.reason = reason
		}
	}
	return nil
}

// part adds a received part to the response. A part with a signature is not joined with other
// parts, because the signature covers exactly this part, and both are sent back in the next
// request.
func (a *answer) part(p receivedPart) error {
	signature, text := base64.StdEncoding.EncodeToString(p.ThoughtSignature), string(p.Text)
	switch {
	case p.FunctionCall != nil:
		return a.call(p.FunctionCall, signature)
	case p.InlineData != nil || p.FileData != nil:
		return nil
	case p.Thought && signature != "":
		return a.Builder.SignedThinking(text, signature)
	case p.Thought:
		return a.Builder.Thinking(text)
	case signature != "":
		return a.Builder.SignedText(text, signature)
	}
	return a.Builder.Text(text)
}

func (a *answer) call(f *receivedCall, signature string) error {
	call, err := a.Calls.Start(string(f.Name), string(f.ID))
	if err != nil {
		return err
	}
	if err := a.Calls.AppendRaw(call, string(f.Args)); err != nil {
		return err
	}
	if err := a.Calls.End(call); err != nil {
		return err
	}
	if signature != "" {
		a.Calls.Sign(call, signature)
	}
	return nil
}

// count stores the token counts of a chunk, which are totals of the stream so far. Tokens read from
// the cache are not counted as input; reasoning tokens are counted as output.
func (a *answer) count(u tokenCounts) {
	a.Usage.CacheRead = max(a.Usage.CacheRead, u.CachedContentTokenCount)
	a.Usage.Input = max(a.Usage.Input, u.PromptTokenCount+u.ToolUsePromptTokenCount-u.CachedContentTokenCount)
	a.Usage.Output = max(a.Usage.Output, u.CandidatesTokenCount+u.ThoughtsTokenCount)
	if thoughts := u.ThoughtsTokenCount; thoughts > 0 && (a.Usage.Reasoning == nil || *a.Usage.Reasoning < thoughts) {
		a.Usage.Reasoning = &thoughts
	}
}

// finish returns the assembled response. If the stream had no finish reason and did not report a
// blocked prompt, it was interrupted, and finish returns an error.
func (a *answer) finish() (*llm.Response, error) {
	if a.reason == "" && !a.blocked {
		return nil, a.Cut()
	}
	if failed := a.failure(); failed != nil {
		return nil, failed
	}
	return a.Finish(a.stopReason())
}

// failure returns the error for an answer that ended because the model or the service failed. The
// error is retryable.
func (a *answer) failure() *llm.Error {
	switch a.reason {
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "OTHER", "CONTINUATION":
		return &llm.Error{
			Kind: llm.Unknown, Retryable: true, Provider: Name,
			Message: "the model's answer ended as " + a.reason,
		}
	case "MISSING_THOUGHT_SIGNATURE":
		return &llm.Error{
			Kind: llm.InvalidRequest, Provider: Name,
			Message: "the provider misses a thought signature in the conversation",
		}
	}
	return nil
}

func (a *answer) stopReason() perdure.StopReason {
	if a.blocked {
		return perdure.StopRefusal
	}
	switch a.reason {
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return perdure.StopRefusal
	case "MAX_TOKENS":
		return perdure.StopMaxTokens
	}
	if len(a.Calls.All()) > 0 {
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
