package llm

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// DeltaKind is the kind of a Delta.
type DeltaKind string

// DeltaText and the constants below it are the kinds of Delta. A tool call is one tool_start, any
// number of tool_arguments and one tool_end. The deltas of parallel calls may interleave.
const (
	DeltaText          DeltaKind = "text"
	DeltaThinking      DeltaKind = "thinking"
	DeltaToolStart     DeltaKind = "tool_start"
	DeltaToolArguments DeltaKind = "tool_arguments"
	DeltaToolEnd       DeltaKind = "tool_end"
)

// Delta is one piece of a streamed answer. Part is the index of the part, in the response, to which
// the Delta belongs. ToolName and ProviderID are set on tool_start and on tool_end. Some servers
// send the id of a call late, so only the values on tool_end are final.
type Delta struct {
	Kind                 DeltaKind
	Part                 int
	Text                 string
	ToolName, ProviderID string
}

// Fold assembles the parts of an answer from its deltas. It omits signatures, native blocks and
// redacted thinking, because these are not streamed. A redacted part becomes an empty thinking part.
func Fold(deltas []Delta) []perdure.Part {
	parts := []perdure.Part{}
	var texts []*GrowingText
	for _, d := range deltas {
		for d.Part >= len(parts) {
			parts, texts = append(parts, perdure.Part{Type: perdure.PartThinking}), append(texts, &GrowingText{})
		}
		fold(&parts[d.Part], texts[d.Part], d)
	}
	return parts
}

func fold(p *perdure.Part, text *GrowingText, d Delta) {
	switch d.Kind {
	case DeltaText:
		p.Type = perdure.PartText
		p.Text = text.Add(d.Text)
	case DeltaThinking:
		p.Thinking = text.Add(d.Text)
	case DeltaToolStart:
		p.Type, p.Name, p.ProviderID = perdure.PartToolCall, d.ToolName, d.ProviderID
	case DeltaToolArguments:
		p.RawArguments = text.Add(d.Text)
	case DeltaToolEnd:
		p.Name, p.ProviderID = d.ToolName, d.ProviderID
		p.Arguments = argumentsOf(p.RawArguments)
	}
}

// argumentsOf returns the arguments of a call as JSON, or nil if they are not valid JSON. An empty text
// means a call without arguments.
func argumentsOf(raw string) json.RawMessage {
	if raw == "" {
		return json.RawMessage("{}")
	}
	if !json.Valid([]byte(raw)) {
		return nil
	}
	return json.RawMessage(raw)
}
