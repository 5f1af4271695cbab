// Package title derives the titles of executions from their inputs.
package title

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// limit is the maximum length of a title in characters.
const limit = 140

// Of returns the title of an execution, in one line. The title is the beginning of the prompt in
// the input. If the input has no prompt, the title is the kind followed by the beginning of the
// input.
func Of(input json.RawMessage, kind string) string {
	var asked struct {
		Prompt any `json:"userPrompt"`
		Parts  any `json:"parts"`
		Said   any `json:"messages"`
	}
	if json.Unmarshal(input, &asked) == nil {
		if prompt, ok := asked.Prompt.(string); ok && strings.TrimSpace(prompt) != "" {
			return Line(prompt)
		}
		if text := textIn(asked.Parts); text != "" {
			return Line(text)
		}
		if text := saidIn(asked.Said); text != "" {
			return Line(text)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, input) != nil {
		return kind
	}
	switch text := compact.String(); text {
	case "null", "{}":
		return kind
	default:
		return Line(kind + " " + text)
	}
}

// saidIn returns the user's first text in the input messages of a run. The Responses API starts
// runs with such messages.
func saidIn(messages any) string {
	all, _ := messages.([]any)
	for _, m := range all {
		message, _ := m.(map[string]any)
		if message["role"] != string(perdure.RoleUser) {
			continue
		}
		if text := textIn(message["parts"]); text != "" {
			return text
		}
	}
	return ""
}

// textIn returns the first text in the parts of a message.
func textIn(parts any) string {
	all, _ := parts.([]any)
	for _, p := range all {
		part, _ := p.(map[string]any)
		if text, ok := part["text"].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// Line returns the first line of a text, cut to the maximum length of a title.
func Line(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return string([]rune(line)[:limit-1]) + "…"
}
