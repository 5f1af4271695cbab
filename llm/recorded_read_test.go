package llm_test

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
)

// read decodes each line with encoding/json and passes the value to the function `each`. It panics
// if a line is not valid.

func read[T any](lines []string, each func(T)) {
	for _, line := range lines {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			panic(err)
		}
		each(v)
	}
}

func stopOf(reason string, calls []saidCall) perdure.StopReason {
	switch reason {
	case "length", "max_tokens", "MAX_TOKENS":
		return perdure.StopMaxTokens
	}
	if len(calls) > 0 {
		return perdure.StopToolUse
	}
	return perdure.StopEndTurn
}

func readAnthropic(lines []string) said {
	type usage struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
	}
	type event struct {
		Type    string
		Message struct{ Usage usage }
		Block   struct{ Type, ID, Name string } `json:"content_block"`
		Delta   struct {
			Text, Thinking, Signature string
			Piece                     string `json:"partial_json"`
			Stop                      string `json:"stop_reason"`
		}
		Usage struct {
			usage
			Details struct {
				Thinking *int64 `json:"thinking_tokens"`
			} `json:"output_tokens_details"`
		}
	}
	var s said
	var stop string
	read(lines, func(e event) {
		if e.Block.Type == "tool_use" {
			s.Calls = append(s.Calls, saidCall{ID: e.Block.ID, Name: e.Block.Name})
		}
		s.Text += e.Delta.Text
		s.Thinking += e.Delta.Thinking
		if e.Delta.Signature != "" {
			s.Signatures = append(s.Signatures, e.Delta.Signature)
		}
		if e.Delta.Piece != "" {
			s.Calls[len(s.Calls)-1].Arguments += e.Delta.Piece
		}
		if e.Type == "message_start" {
			u := e.Message.Usage
			s.Usage = perdure.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		}
		if e.Type == "message_delta" {
			s.Usage.Output, s.Usage.Reasoning, stop = e.Usage.Output, e.Usage.Details.Thinking, e.Delta.Stop
		}
	})
	for i := range s.Calls {
		if s.Calls[i].Arguments == "" {
			s.Calls[i].Arguments = "{}"
		}
	}
	s.Stop = stopOf(stop, s.Calls)
	return s
}

func readChat(lines []string) said {
	type chunk struct {
		Choices []struct {
			Delta struct {
				Content, Reasoning string
				ReasoningContent   string `json:"reasoning_content"`
				Calls              []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Reason string `json:"finish_reason"`
		}
		Usage *struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
			Details    struct {
				Cached  int64 `json:"cached_tokens"`
				Written int64 `json:"cache_write_tokens"`
			} `json:"prompt_tokens_details"`
			Out struct {
				Reasoning *int64 `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	var s said
	var reason string
	at := map[int]int{}
	read(lines, func(c chunk) {
		for _, choice := range c.Choices {
			d := choice.Delta
			s.Text += d.Content
			if s.Thinking += d.ReasoningContent; d.ReasoningContent == "" {
				s.Thinking += d.Reasoning
			}
			for _, call := range d.Calls {
				if _, known := at[call.Index]; !known {
					at[call.Index] = len(s.Calls)
					s.Calls = append(s.Calls, saidCall{ID: call.ID, Name: call.Function.Name})
				}
				s.Calls[at[call.Index]].Arguments += call.Function.Arguments
			}
			if choice.Reason != "" {
				reason = choice.Reason
			}
		}
		if u := c.Usage; u != nil {
			d := u.Details
			s.Usage = perdure.Usage{Input: u.Prompt - d.Cached - d.Written, Output: u.Completion, Reasoning: u.Out.Reasoning, CacheRead: d.Cached, CacheWrite: d.Written}
		}
	})
	s.Stop = stopOf(reason, s.Calls)
	return s
}

// readResponses returns the content of a Responses stream from its last event, which contains the
// whole answer. But readResponses takes the encrypted content from the last event of each item,
// because the last event of the stream contains the same content encrypted differently.
func readResponses(lines []string) said {
	type event struct {
		Type string
		Item struct {
			Encrypted string `json:"encrypted_content"`
		}
		Response struct {
			Output []struct {
				Type, Name, Arguments string
				CallID                string `json:"call_id"`
				Content, Summary      []struct{ Text string }
			}
			Usage struct {
				Input   int64 `json:"input_tokens"`
				Output  int64 `json:"output_tokens"`
				Details struct {
					Cached int64 `json:"cached_tokens"`
				} `json:"input_tokens_details"`
				Out struct {
					Reasoning *int64 `json:"reasoning_tokens"`
				} `json:"output_tokens_details"`
			}
		}
	}
	var s said
	read(lines, func(e event) {
		if e.Type == "response.output_item.done" && e.Item.Encrypted != "" {
			s.Signatures = append(s.Signatures, e.Item.Encrypted)
		}
		if e.Type != "response.completed" {
			return
		}
		for _, item := range e.Response.Output {
			var summary []string
			for _, c := range item.Summary {
				summary = append(summary, c.Text)
			}
			s.Thinking += strings.Join(summary, "\n\n")
			for _, c := range item.Content {
				s.Text += c.Text
			}
			if item.Type == "function_call" {
				s.Calls = append(s.Calls, saidCall{item.CallID, item.Name, item.Arguments})
			}
		}
		u := e.Response.Usage
		s.Usage = perdure.Usage{Input: u.Input - u.Details.Cached, Output: u.Output, Reasoning: u.Out.Reasoning, CacheRead: u.Details.Cached}
	})
	s.Stop = stopOf("", s.Calls)
	return s
}

func readGemini(lines []string) said {
	type chunk struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text      string
					Thought   bool
					Signature string `json:"thoughtSignature"`
					Call      *struct {
						ID, Name string
						Args     json.RawMessage
					} `json:"functionCall"`
				}
			}
			Reason string `json:"finishReason"`
		}
		Usage struct {
			Prompt     int64  `json:"promptTokenCount"`
			Candidates int64  `json:"candidatesTokenCount"`
			Thoughts   *int64 `json:"thoughtsTokenCount"`
			Cached     int64  `json:"cachedContentTokenCount"`
		} `json:"usageMetadata"`
	}
	var s said
	var reason string
	read(lines, func(c chunk) {
		for _, candidate := range c.Candidates {
			for _, p := range candidate.Content.Parts {
				if p.Thought {
					s.Thinking += p.Text
				} else {
					s.Text += p.Text
				}
				if p.Signature != "" {
					s.Signatures = append(s.Signatures, p.Signature)
				}
				if p.Call != nil {
					s.Calls = append(s.Calls, saidCall{p.Call.ID, p.Call.Name, string(p.Call.Args)})
				}
			}
			reason += candidate.Reason
		}
		u := c.Usage
		s.Usage = perdure.Usage{Input: u.Prompt - u.Cached, Output: u.Candidates, Reasoning: u.Thoughts, CacheRead: u.Cached}
		if u.Thoughts != nil {
			s.Usage.Output += *u.Thoughts
		}
	})
	s.Stop = stopOf(reason, s.Calls)
	return s
}
