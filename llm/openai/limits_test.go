package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/llm"
)

func TestLimits(t *testing.T) {
	const official, local = "https://api.openai.com/v1", "http://127.0.0.1:8000/v1"
	half := 0.5
	for _, c := range []struct {
		base, model string
		thinking    llm.Thinking
		want        string
	}{
		{official, "gpt-4o", "high", `{"max_completion_tokens": 100, "temperature": 0.5}`},
		{official, "gpt-5-chat-latest", "high", `{"max_completion_tokens": 100, "temperature": 0.5}`},
		{official, "o3", "", `{"max_completion_tokens": 100}`},
		{official, "o4-mini", "low", `{"max_completion_tokens": 100, "reasoning_effort": "low"}`},
		{official, "o4-mini", "off", `{"max_completion_tokens": 100}`},
		{official, "gpt-5", "off", `{"max_completion_tokens": 100, "reasoning_effort": "minimal"}`},
		{official, "gpt-5-mini-2025-08-07", "medium", `{"max_completion_tokens": 100, "reasoning_effort": "medium"}`},
		{official, "gpt-5.1", "off", `{"max_completion_tokens": 100, "reasoning_effort": "none"}`},
		{official, "gpt-5.1-codex", "off", `{"max_completion_tokens": 100}`},
		{official, "gpt-6-sol", "high", `{"max_completion_tokens": 100, "reasoning_effort": "high"}`},
		{local, "llama3.2", "high", `{"max_tokens": 100, "temperature": 0.5}`},
		{local, "openai/gpt-5", "high", `{"max_completion_tokens": 100, "reasoning_effort": "high"}`},
		{local, "gpt-oss-120b", "high", `{"max_completion_tokens": 100, "reasoning_effort": "high"}`},
		{local, "gpt-5x", "high", `{"max_tokens": 100, "temperature": 0.5}`},
	} {
		var p request
		setLimits(&p, llm.Request{Model: c.model, Thinking: c.thinking, MaxTokens: 100, Temperature: &half}, serverAt(c.base))
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "messages") // required, so always present
		delete(got, "model")
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %s, thinking %q (-want +got):\n%s", c.model, c.base, c.thinking, diff)
		}
	}
}

func TestServers(t *testing.T) {
	for base, want := range map[string]server{
		"https://api.openai.com/v1":        {official: true, ids: llm.OpenAIChatIDs},
		"https://eu.api.openai.com/v1":     {official: true, ids: llm.OpenAIChatIDs},
		"https://api.openai.com.evil.test": {ids: llm.CompatibleIDs},
		"https://api.mistral.ai/v1":        {ids: llm.MistralIDs, strict: true},
	} {
		if got := serverAt(base); got != want {
			t.Errorf("%s: got %+v, want %+v", base, got, want)
		}
	}
}
