package gemini

import (
	"encoding/base64"

	"google.golang.org/genai"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// answer assembles the chunks of one stream.
type answer struct {
	builder *llm.Builder
	calls   *llm.Calls
	wire    *wire
	id      string
	reason  genai.FinishReason
	blocked bool // the prompt was blocked
	usage   perdure.Usage
}

func newAnswer(emit func(llm.Delta) error, w *wire) *answer {
	b := llm.NewWireBuilder(emit)
	return &answer{builder: b, calls: llm.NewCalls(b, Name), wire: w}
}

func (a *answer) take(c *genai.GenerateContentResponse) error {
	if a.id == "" {
		a.id = c.ResponseID
	}
	if c.UsageMetadata != nil {
		a.count(c.UsageMetadata)
	}
	if c.PromptFeedback != nil && c.PromptFeedback.BlockReason != "" {
		a.blocked = true
	}
	for _, candidate := range c.Candidates {
		if err := a.candidate(candidate); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) candidate(c *genai.Candidate) error {
	if c.Content != nil {
		for _, p := range c.Content.Parts {
			if err := a.part(p, c.Index == 0); err != nil {
				return err
			}
		}
	}
	if c.Index == 0 && c.FinishReason != "" && c.FinishReason != genai.FinishReasonUnspecified {
		a.reason = c.FinishReason
	}
	return nil
}

// part adds a part of a chunk. A part with a signature stays separate, because the signature covers
// exactly that part and is sent back with it.
func (a *answer) part(p *genai.Part, wanted bool) error {
	signature := base64.StdEncoding.EncodeToString(p.ThoughtSignature)
	switch {
	case p.FunctionCall != nil:
		return a.call(p.FunctionCall, a.wire.take(), signature, wanted)
	case !wanted || p.InlineData != nil || p.FileData != nil:
		return nil
	case p.Thought && signature != "":
		return a.builder.SignedThinking(p.Text, signature)
	case p.Thought:
		return a.builder.Thinking(p.Text)
	case signature != "":
		return a.builder.SignedText(p.Text, signature)
	}
	return a.builder.Text(p.Text)
}

func (a *answer) call(f *genai.FunctionCall, arguments, signature string, wanted bool) error {
	if !wanted {
		return nil
	}
	call, err := a.calls.Start(f.Name, f.ID)
	if err != nil {
		return err
	}
	if err := a.calls.AppendRaw(call, arguments); err != nil {
		return err
	}
	if err := a.calls.End(call); err != nil {
		return err
	}
	if signature != "" {
		a.calls.Sign(call, signature)
	}
	return nil
}

// count stores the token counts, which are cumulative. Tokens read from the cache are not counted
// as input; reasoning counts as output.
func (a *answer) count(u *genai.GenerateContentResponseUsageMetadata) {
	a.usage.CacheRead = max(a.usage.CacheRead, int64(u.CachedContentTokenCount))
	a.usage.Input = max(a.usage.Input, int64(u.PromptTokenCount+u.ToolUsePromptTokenCount-u.CachedContentTokenCount))
	a.usage.Output = max(a.usage.Output, int64(u.CandidatesTokenCount+u.ThoughtsTokenCount))
	if thoughts := int64(u.ThoughtsTokenCount); thoughts > 0 && (a.usage.Reasoning == nil || *a.usage.Reasoning < thoughts) {
		a.usage.Reasoning = &thoughts
	}
}

// finish returns the response. It requires a finish reason or a blocked prompt; a stream without
// either was interrupted.
func (a *answer) finish(model string, prices llm.Prices) (*llm.Response, error) {
	if a.reason == "" && !a.blocked {
		return nil, llm.CutStream(Name)
	}
	if failed := a.failure(); failed != nil {
		return nil, failed
	}
	resp, err := a.builder.Finish(llm.Model{Provider: Name, ID: model}, a.stopReason(), a.usage, prices)
	if err != nil {
		return nil, err
	}
	resp.ProviderResponseID = a.id
	return resp, nil
}

// failure returns the error of an answer that ended because of a fault of the model or the service.
// It is retryable.
func (a *answer) failure() *llm.Error {
	switch a.reason {
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls,
		genai.FinishReasonOther, genai.FinishReasonContinuation, "MALFORMED_RESPONSE":
		return &llm.Error{
			Kind: llm.Unknown, Retryable: true, Provider: Name,
			Message: "the model's answer ended as " + string(a.reason),
		}
	case "MISSING_THOUGHT_SIGNATURE":
		return &llm.Error{
			Kind: llm.InvalidRequest, Provider: Name,
			Message: "the provider misses a thought signature in the conversation",
		}
	}
	return nil
}

// refusals are the finish reasons with which the service or the model refuses.
var refusals = map[genai.FinishReason]bool{
	genai.FinishReasonSafety: true, genai.FinishReasonRecitation: true, genai.FinishReasonLanguage: true,
	genai.FinishReasonBlocklist: true, genai.FinishReasonProhibitedContent: true, genai.FinishReasonSPII: true,
	genai.FinishReasonImageSafety: true, genai.FinishReasonImageProhibitedContent: true, genai.FinishReasonImageRecitation: true,
}

func (a *answer) stopReason() perdure.StopReason {
	switch {
	case a.blocked, refusals[a.reason]:
		return perdure.StopRefusal
	case a.reason == genai.FinishReasonMaxTokens:
		return perdure.StopMaxTokens
	case len(a.calls.All()) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}
