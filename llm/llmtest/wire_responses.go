package llmtest

import (
	"strings"

	"github.com/perdure/perdure"
)

// OpenAIResponses is the protocol of the Responses API. Its fake server sends the same id for all
// items, as some real servers do.
var OpenAIResponses = Wire{
	rules:  responsesRules,
	named:  true,
	before: responsesBefore,
	text:   responsesText,
	after:  responsesCalls,
	end:    responsesEnd,
}

const responsesItem = "item_1"

func responsesBefore(a Answer) []any {
	events := []any{
		obj{"type": "response.created", "response": obj{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}},
		obj{"type": "response.in_progress", "response": obj{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}},
	}
	if a.Thinking == "" && a.Signature == "" {
		return events
	}
	one, two := halves(a.Thinking)
	block := obj{"type": "reasoning", "id": responsesItem, "summary": []any{}}
	whole := obj{
		"type": "reasoning", "id": responsesItem, "summary": []any{obj{"type": "summary_text", "text": a.Thinking}},
		"encrypted_content": a.Signature,
	}
	return append(events,
		obj{"type": "response.output_item.added", "output_index": 0, "item": block},
		obj{"type": "response.reasoning_summary_part.added", "output_index": 0, "item_id": responsesItem, "summary_index": 0},
		obj{"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": responsesItem, "summary_index": 0, "delta": one},
		obj{"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": responsesItem, "summary_index": 0, "delta": two},
		obj{"type": "response.output_item.done", "output_index": 0, "item": whole})
}

func responsesText(a Answer) []any {
	if len(a.Text) == 0 {
		return nil
	}
	message := func(status string, content ...any) obj {
		return obj{"type": "message", "id": responsesItem, "role": "assistant", "status": status, "content": content}
	}
	events := []any{
		obj{"type": "response.output_item.added", "output_index": 1, "item": message("in_progress")},
		obj{
			"type": "response.content_part.added", "output_index": 1, "content_index": 0, "item_id": responsesItem,
			"part": obj{"type": "output_text", "text": "", "annotations": []any{}},
		},
	}
	for _, text := range a.Text {
		events = append(events, obj{
			"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "item_id": responsesItem, "delta": text,
		})
	}
	whole := obj{"type": "output_text", "text": strings.Join(a.Text, ""), "annotations": []any{}}
	return append(events, obj{"type": "response.output_item.done", "output_index": 1, "item": message("completed", whole)})
}

// responsesCalls returns the events of parallel tool calls, with interleaved arguments.
func responsesCalls(a Answer) []any {
	var starts, ends []any
	for i, call := range a.Calls {
		one, two := halves(call.Arguments)
		item := func(arguments string) obj {
			return obj{"type": "function_call", "id": responsesItem, "call_id": call.ID, "name": call.Name, "arguments": arguments}
		}
		piece := func(text string) obj {
			return obj{"type": "response.function_call_arguments.delta", "output_index": 2 + i, "item_id": responsesItem, "delta": text}
		}
		starts = append(starts, obj{"type": "response.output_item.added", "output_index": 2 + i, "item": item("")}, piece(one))
		ends = append(ends, piece(two),
			obj{"type": "response.function_call_arguments.done", "output_index": 2 + i, "item_id": responsesItem, "arguments": call.Arguments},
			obj{"type": "response.output_item.done", "output_index": 2 + i, "item": item(call.Arguments)})
	}
	return append(starts, ends...)
}

func responsesEnd(a Answer) []any {
	u := a.Usage
	response := obj{
		"id": "resp_1", "object": "response", "status": "completed", "error": nil, "incomplete_details": nil, "output": []any{},
		"usage": obj{
			"input_tokens": u.Input + u.CacheRead + u.CacheWrite, "output_tokens": u.Output,
			"total_tokens":          u.Input + u.CacheRead + u.CacheWrite + u.Output,
			"input_tokens_details":  obj{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": details("reasoning_tokens", u.Reasoning),
		},
	}
	reason := map[perdure.StopReason]string{
		perdure.StopMaxTokens: "max_output_tokens", perdure.StopRefusal: "content_filter",
	}[a.stop()]
	if reason == "" {
		return []any{obj{"type": "response.completed", "response": response}}
	}
	response["status"], response["incomplete_details"] = "incomplete", obj{"reason": reason}
	return []any{obj{"type": "response.incomplete", "response": response}}
}
