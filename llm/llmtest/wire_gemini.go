package llmtest

import (
	"fmt"
	"strconv"

	"github.com/perdure/perdure"
)

// Gemini is the protocol of the Gemini API. The arguments of calls in an Answer are sent as they
// are, so they must be JSON.
var Gemini = Wire{
	rules: geminiRules,
	before: func(a Answer) []any {
		switch {
		case a.Thinking == "" && a.Signature == "":
			return nil
		case a.Signature == "":
			one, two := halves(a.Thinking)
			return []any{geminiParts(obj{"text": one, "thought": true}), geminiParts(obj{"text": two, "thought": true})}
		}
		return []any{geminiParts(obj{"text": a.Thinking, "thought": true, "thoughtSignature": a.Signature})}
	},
	text: func(a Answer) []any {
		var events []any
		for _, text := range a.Text {
			events = append(events, geminiParts(obj{"text": text}))
		}
		return events
	},
	after: func(a Answer) []any {
		var events []any
		for i, call := range a.Calls {
			signed := ""
			if i == 0 && a.CallSignature != "" {
				signed = `,"thoughtSignature":` + strconv.Quote(a.CallSignature)
			}
			events = append(events, verbatim(fmt.Sprintf(
				`{"responseId":"gemini_1","candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{"id":%s,"name":%s,"args":%s}%s}]}}]}`,
				strconv.Quote(call.ID), strconv.Quote(call.Name), call.Arguments, signed)))
		}
		return events
	},
	end: func(a Answer) []any {
		reason := map[perdure.StopReason]string{
			perdure.StopEndTurn: "STOP", perdure.StopToolUse: "STOP",
			perdure.StopMaxTokens: "MAX_TOKENS", perdure.StopRefusal: "SAFETY",
		}[a.stop()]
		u := a.Usage
		usage := obj{
			"promptTokenCount": u.Input + u.CacheRead, "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.CacheRead + u.Output,
		}
		if u.Reasoning != nil {
			usage["candidatesTokenCount"], usage["thoughtsTokenCount"] = u.Output-*u.Reasoning, *u.Reasoning
		}
		return []any{obj{
			"responseId": "gemini_1", "candidates": []any{obj{"index": 0, "finishReason": reason}}, "usageMetadata": usage,
		}}
	},
}

func geminiParts(parts ...any) obj {
	return obj{
		"responseId": "gemini_1",
		"candidates": []any{obj{"index": 0, "content": obj{"role": "model", "parts": parts}}},
	}
}
