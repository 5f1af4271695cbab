package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// line is one part of a message in a conversation. It has no ids and times, so that the lines of two
// executions can be compared.
type line struct {
	text string
	call string // for a result: the internal id of its tool call
}

// transcript returns the current conversation of an execution, with one line for each part of its messages.
func (s *deployment) transcript(id uuid.UUID) []line {
	s.t.Helper()
	var lines []line
	for e, err := range s.Entries(s.t.Context(), id) {
		if err != nil {
			s.t.Fatal(err)
		}
		m, err := e.Message()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, p := range m.Parts {
			lines = append(lines, line{text: fmt.Sprintf("%s %s", m.Role, words(p)), call: p.ToolCallID})
		}
	}
	return lines
}

// words returns a part of a message as text in one line.
func words(p perdure.Part) string {
	switch p.Type {
	case perdure.PartText:
		return p.Text
	case perdure.PartThinking:
		return "thinks: " + p.Thinking
	case perdure.PartToolCall:
		return "calls " + p.Name + " " + canonical(p.Arguments)
	case perdure.PartToolResult:
		text := perdure.Content{Parts: p.Parts}.PlainText()
		return fmt.Sprintf("%s error=%v %s", p.ToolName, p.IsError, strings.TrimSuffix(text, "\n"))
	}
	return string(p.Type)
}

// canonical returns a JSON value in canonical form, so that equal values have equal texts.
func canonical(raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return string(raw)
	}
	return strings.TrimSpace(out.String())
}

func plain(lines []line) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.text)
	}
	return strings.Join(all, "\n")
}
