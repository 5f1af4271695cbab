package openai

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// chunk is one event of a stream.
type chunk struct {
	ID      gpt.Text
	Usage   *tokenCounts
	Choices []struct {
		Index        gpt.Count
		FinishReason gpt.Text `json:"finish_reason"`
		Delta        delta
	}
}

type delta struct {
	Content, Refusal gpt.Text
	Reasoning        json.RawMessage
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ToolCalls        []receivedCall  `json:"tool_calls"`
}

type tokenCounts struct {
	Prompt        gpt.Count `json:"prompt_tokens"`
	Completion    gpt.Count `json:"completion_tokens"`
	PromptDetails struct {
		Cached  gpt.Count `json:"cached_tokens"`
		Written gpt.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning *gpt.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// answer assembles a response from the chunks of one stream.
type answer struct {
	adapter.Answer
	fragments toolCalls
	reason    string
	refused   bool
}

func newAnswer(c *adapter.Call) *answer {
	a := adapter.NewAnswer(c)
	return &answer{Answer: a, fragments: toolCalls{calls: a.Calls}}
}

func (a *answer) take(c chunk) error {
	if a.ID == "" {
		a.ID = string(c.ID)
	}
	if c.Usage != nil {
		a.count(*c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.reason = string(choice.FinishReason)
		}
	}
	return nil
}

func (a *answer) delta(d delta) error {
	if field, text := reasoningText(d); text != "" {
		if err := a.think(field, text); err != nil {
			return err
		}
	}
	if err := a.Builder.Text(string(d.Content)); err != nil {
		return err
	}
	if d.Refusal != "" {
		a.refused = true
		if err := a.Builder.Text(string(d.Refusal)); err != nil {
			return err
		}
	}
	for _, fragment := range d.ToolCalls {
		if err := a.fragments.take(fragmentOf(fragment)); err != nil {
			return err
		}
	}
	return nil
}

// reasoningFieldNames are the names of the members in which servers stream reasoning. A thinking
// part stores the name as its signature, so that the reasoning is sent back in the same member.
var reasoningFieldNames = []string{"reasoning_content", "reasoning"}

func isReasoningField(name string) bool {
	for _, field := range reasoningFieldNames {
		if field == name {
			return true
		}
	}
	return false
}

func reasoningText(d delta) (field, text string) {
	for i, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning} {
		// Some servers send another value than a string in one of these members.
		if err := json.Unmarshal(raw, &text); err == nil && text != "" {
			return reasoningFieldNames[i], text
		}
	}
	return "", ""
}

func (a *answer) think(field, text string) error {
	if err := a.Builder.Thinking(text); err != nil {
		return err
	}
	a.Builder.SetSignature(field)
	return nil
}

// count stores the token counts. Tokens read from or written to the cache are not counted as input.
func (a *answer) count(u tokenCounts) {
	d := u.PromptDetails
	a.Usage.CacheRead, a.Usage.CacheWrite = int64(d.Cached), int64(d.Written)
	a.Usage.Input = int64(max(0, u.Prompt-d.Cached-d.Written))
	a.Usage.Output = int64(u.Completion)
	if n := u.CompletionDetails.Reasoning; n != nil {
		a.Usage.Reasoning = new(int64(*n))
	}
}

// finish returns the response. It returns an error if the stream had no finish reason: the stream
// was then interrupted, even if a gateway closed it normally.
func (a *answer) finish() (*llm.Response, error) {
	switch a.reason {
	case "":
		return nil, a.Cut()
	case "error":
		return nil, &llm.Error{Kind: llm.Unknown, Retryable: true, Provider: Name, Message: "the provider failed in the middle of its answer"}
	}
	if err := a.fragments.finish(); err != nil {
		return nil, err
	}
	return a.Finish(a.stopReason())
}

func (a *answer) stopReason() perdure.StopReason {
	switch {
	case a.refused, a.reason == "content_filter":
		return perdure.StopRefusal
	case a.reason == "length":
		return perdure.StopMaxTokens
	case len(a.Calls.All()) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
