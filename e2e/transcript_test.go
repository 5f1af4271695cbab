package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// line is one message part of a conversation in a form for comparison, without ids and times.
type line struct {
	text string
	call string // for a result: the internal id of its tool call
}

// transcript returns the path of an execution, with one line per part.
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

// words returns a part as one line of text.
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

// canonical returns JSON in a canonical form that does not depend on how it was split.
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
