package llmtest

import "github.com/perdure/perdure"

// Anthropic is the protocol of the Messages API.
var Anthropic = Wire{
	rules:  anthropicRules,
	named:  true,
	before: anthropicBefore,
	text:   anthropicText,
	after:  anthropicCalls,
	end: func(a Answer) []any {
		return []any{
			obj{
				"type": "message_delta", "delta": obj{"stop_reason": a.stop(), "stop_sequence": nil},
				"usage": obj{"output_tokens": a.Usage.Output, "output_tokens_details": details("thinking_tokens", a.Usage.Reasoning)},
			},
			obj{"type": "message_stop"},
		}
	},
}

func anthropicBefore(a Answer) []any {
	events := []any{obj{"type": "message_start", "message": obj{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{},
		"usage": obj{
			"input_tokens": a.Usage.Input, "output_tokens": 0,
			"cache_read_input_tokens": a.Usage.CacheRead, "cache_creation_input_tokens": a.Usage.CacheWrite,
		},
	}}, obj{"type": "ping"}}
	if a.Thinking != "" || a.Signature != "" {
		one, two := halves(a.Thinking)
		events = append(events,
			start(0, obj{"type": "thinking", "thinking": "", "signature": ""}),
			piece(0, obj{"type": "thinking_delta", "thinking": one}),
			piece(0, obj{"type": "thinking_delta", "thinking": two}),
			piece(0, obj{"type": "signature_delta", "signature": a.Signature}),
			stop(0))
	}
	if a.Redacted != "" {
		events = append(events, start(1, obj{"type": "redacted_thinking", "data": a.Redacted}), stop(1))
	}
	return events
}

func anthropicText(a Answer) []any {
	if len(a.Text) == 0 {
		return nil
	}
	events := []any{start(2, obj{"type": "text", "text": ""})}
	for _, text := range a.Text {
		events = append(events, piece(2, obj{"type": "text_delta", "text": text}))
	}
	return append(events, stop(2))
}

func anthropicCalls(a Answer) []any {
	var events []any
	for i, call := range a.Calls {
		one, two := halves(call.Arguments)
		events = append(events,
			start(3+i, obj{"type": "tool_use", "id": call.ID, "name": call.Name, "input": obj{}}),
			piece(3+i, obj{"type": "input_json_delta", "partial_json": ""}),
			piece(3+i, obj{"type": "input_json_delta", "partial_json": one}),
			piece(3+i, obj{"type": "input_json_delta", "partial_json": two}),
			stop(3+i))
	}
	return events
}

// details returns the object with the details of the output tokens; nil if the count is unknown.
func details(member string, count *int64) any {
	if count == nil {
		return nil
	}
	return obj{member: *count}
}

func start(index int, block obj) obj {
	return obj{"type": "content_block_start", "index": index, "content_block": block}
}

func piece(index int, delta obj) obj {
	return obj{"type": "content_block_delta", "index": index, "delta": delta}
}

func stop(index int) obj { return obj{"type": "content_block_stop", "index": index} }

// OpenAIOfficial is the protocol of Chat Completions at OpenAI itself.
var OpenAIOfficial = func() Wire {
	w := OpenAI
	w.rules = openAIRules
	return w
}()

// OpenAI is the Chat Completions protocol of servers that are compatible with OpenAI's.
var OpenAI = Wire{
	rules: compatibleRules,
	done:  "[DONE]",
	before: func(a Answer) []any {
		events := []any{chunk(obj{"role": "assistant", "content": ""}, nil)}
		if a.Thinking != "" {
			one, two := halves(a.Thinking)
			events = append(events, chunk(obj{"reasoning_content": one}, nil), chunk(obj{"reasoning_content": two}, nil))
		}
		return events
	},
	text: func(a Answer) []any {
		var events []any
		for _, text := range a.Text {
			events = append(events, chunk(obj{"content": text}, nil))
		}
		return events
	},
	after: openAICalls,
	end: func(a Answer) []any {
		reason := map[perdure.StopReason]string{
			perdure.StopEndTurn: "stop", perdure.StopToolUse: "tool_calls",
			perdure.StopMaxTokens: "length", perdure.StopRefusal: "content_filter",
		}[a.stop()]
		u := a.Usage
		return []any{chunk(obj{}, reason), obj{
			"id": "chatcmpl_1", "object": "chat.completion.chunk", "choices": []any{},
			"usage": obj{
				"prompt_tokens": u.Input + u.CacheRead + u.CacheWrite, "completion_tokens": u.Output,
				"total_tokens":              u.Input + u.CacheRead + u.CacheWrite + u.Output,
				"prompt_tokens_details":     obj{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
				"completion_tokens_details": details("reasoning_tokens", u.Reasoning),
			},
		}}
	},
}

// openAICalls returns the events of parallel tool calls with interleaved arguments: first the start and
// the first half of each call, then the second halves.
func openAICalls(a Answer) []any {
	var firsts, seconds []any
	for i, call := range a.Calls {
		one, two := halves(call.Arguments)
		firsts = append(firsts,
			chunk(obj{"tool_calls": []any{obj{
				"index": i, "id": call.ID, "type": "function",
				"function": obj{"name": call.Name, "arguments": ""},
			}}}, nil),
			chunk(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": one}}}}, nil))
		seconds = append(seconds, chunk(obj{"tool_calls": []any{obj{"index": i, "function": obj{"arguments": two}}}}, nil))
	}
	return append(firsts, seconds...)
}

func chunk(delta obj, reason any) obj {
	return obj{
		"id": "chatcmpl_1", "object": "chat.completion.chunk", "model": "some-model",
		"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": reason}},
		"usage":   nil,
	}
}
