package openairesponses

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// event is one event of a stream.
type event struct {
	Type         gpt.Text
	OutputIndex  gpt.Count       `json:"output_index"`
	SummaryIndex gpt.Count       `json:"summary_index"`
	ItemID       gpt.Text        `json:"item_id"`
	Delta        gpt.Text        `json:"delta"`
	Arguments    gpt.Text        `json:"arguments"`
	Item         receivedItem    `json:"item"`
	Response     json.RawMessage `json:"response"`
	raw          []byte
}

// UnmarshalJSON implements json.Unmarshaler. It also stores the JSON of the whole event, for error
// messages.
func (e *event) UnmarshalJSON(raw []byte) error {
	type members event
	err := json.Unmarshal(raw, (*members)(e))
	e.raw = raw
	return err
}

// receivedResponse is the member "response" that some events have.
type receivedResponse struct {
	ID         gpt.Text
	Incomplete struct{ Reason gpt.Text } `json:"incomplete_details"`
	Usage      struct {
		Input        gpt.Count `json:"input_tokens"`
		Output       gpt.Count `json:"output_tokens"`
		InputDetails struct {
			Cached  gpt.Count `json:"cached_tokens"`
			Written gpt.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning *gpt.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
}

// response returns the member "response" of the event. It is empty if the member is missing or
// malformed.
func (e event) response() (r receivedResponse) {
	_ = json.Unmarshal(e.Response, &r) // members of an unexpected type stay empty
	return r
}

// answer assembles a response from the events of one stream.
type answer struct {
	adapter.Answer
	items   []*item
	cutBy   string // the reason why the response is incomplete
	refused bool
}

func newAnswer(c *adapter.Call) *answer { return &answer{Answer: adapter.NewAnswer(c)} }

func (a *answer) take(e event) error {
	switch e.Type {
	case "response.created", "response.in_progress":
		a.name(string(e.response().ID))
	case "response.output_item.added":
		return a.start(e.OutputIndex, e.Item)
	case "response.output_item.done":
		return a.end(e.OutputIndex, e.Item)
	case "response.output_text.delta":
		return a.text(e, string(e.Delta))
	case "response.refusal.delta":
		a.refused = true
		return a.text(e, string(e.Delta))
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			return a.think(e, "\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return a.think(e, string(e.Delta))
	case "response.function_call_arguments.delta":
		return a.arguments(e, string(e.Delta))
	case "response.function_call_arguments.done":
		return a.wholeArguments(a.find(e.OutputIndex, e.ItemID), string(e.Arguments))
	default:
		return a.terminal(e)
	}
	return nil
}

func (a *answer) terminal(e event) error {
	switch e.Type {
	case "response.completed", "response.incomplete":
		r := e.response()
		a.name(string(r.ID))
		a.Done = true
		a.count(r)
		if e.Type == "response.incomplete" {
			a.cutBy = string(r.Incomplete.Reason)
		}
	case "response.failed":
		return llm.EventError(Name, e.Response)
	case "error":
		return llm.EventError(Name, e.raw)
	}
	return nil
}

func (a *answer) name(id string) {
	if a.ID == "" {
		a.ID = id
	}
}

// count stores the token counts. Tokens read from or written to the cache are not counted as input.
// Reasoning is counted as output.
func (a *answer) count(r receivedResponse) {
	u, d := r.Usage, r.Usage.InputDetails
	a.Usage.CacheRead, a.Usage.CacheWrite = int64(d.Cached), int64(d.Written)
	a.Usage.Input = int64(max(0, u.Input-d.Cached-d.Written))
	a.Usage.Output = int64(u.Output)
	if n := u.OutputDetails.Reasoning; n != nil {
		a.Usage.Reasoning = new(int64(*n))
	}
}

func (a *answer) text(e event, text string) error {
	if it := a.find(e.OutputIndex, e.ItemID); it != nil {
		it.said.Add(text)
	}
	return a.Builder.Text(text)
}

func (a *answer) think(e event, text string) error {
	if it := a.find(e.OutputIndex, e.ItemID); it != nil {
		it.said.Add(text)
	}
	return a.Builder.Thinking(text)
}

func (a *answer) arguments(e event, text string) error {
	it := a.find(e.OutputIndex, e.ItemID)
	if it == nil || it.call == nil {
		return nil
	}
	return a.Calls.Append(it.call, text)
}

// wholeArguments appends the arguments that no delta contained: some servers send arguments only at
// the end of a call. The parameter `whole` is the complete text of the arguments.
func (a *answer) wholeArguments(it *item, whole string) error {
	if it == nil || it.call == nil {
		return nil
	}
	return a.Calls.Complete(it.call, whole)
}

// finish returns the response. It returns an error if the stream was interrupted before its
// terminal event.
func (a *answer) finish() (*llm.Response, error) {
	if !a.Done {
		return nil, a.Cut()
	}
	return a.Finish(a.stopReason())
}

func (a *answer) stopReason() perdure.StopReason {
	switch {
	case a.refused, a.cutBy == "content_filter":
		return perdure.StopRefusal
	case a.cutBy != "":
		return perdure.StopMaxTokens
	case len(a.Calls.All()) > 0:
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}

// reasoningBlock is a reasoning item as it is stored: unchanged, except that its encrypted content
// is left out.
type reasoningBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Summary json.RawMessage `json:"summary"`
	Content json.RawMessage `json:"content,omitempty"`
	// EncryptedContent is stored as the signature of the thinking part, and inserted here when the item
	// is sent back.
	EncryptedContent string `json:"encrypted_content,omitempty"`
}
