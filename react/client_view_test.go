package react_test

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// event is the data of a stored event as a client reads it.
type event struct {
	Seq        int64           `json:"seq"`
	ResponseID string          `json:"responseId"`
	MessageID  string          `json:"messageId"`
	TaskID     *uuid.UUID      `json:"taskExecutionId"`
	Attempt    int             `json:"attempt"`
	Offset     int             `json:"offset"`
	Data       json.RawMessage `json:"data"`
	BlockSeq   int64           `json:"blockSeq"`
	Reason     string          `json:"reason"`

	// SignalID is a member of events of type signal.received.
	SignalID string `json:"signalId"`

	// EntryType and the fields after it are members of events of type entry.appended.
	EntryType perdure.EntryType `json:"entryType"`
	Role      perdure.Role      `json:"role"`
	Content   perdure.Content   `json:"content"`
}

// toolData is the content of a data event about a tool call.
type toolData struct {
	Type string `json:"type"`
	Call struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"tool_call"`
	Delta string `json:"delta"`
}

// shownMessage is a message as a client displays it.
type shownMessage struct {
	id, response string
	role         perdure.Role
	pieces       []*shownPiece // pieces of a message that is being streamed
	attempt      int           // the attempt that has streamed these pieces
	parts        []perdure.Part
}

// shownPiece is a streamed block, or the announcement of a tool call, as a client displays it.
type shownPiece struct {
	seq  int64
	kind perdure.EventType
	call toolData
	text string
}

// clientView assembles messages from events, as a client does.
type clientView struct{ messages []*shownMessage }

func fold(items []eventlog.Item) (*clientView, error) {
	s := &clientView{}
	for _, item := range items {
		var e event
		if err := json.Unmarshal(item.Data(), &e); err != nil {
			return nil, err
		}
		s.take(item.Event, e)
	}
	return s, nil
}

func (s *clientView) take(kind perdure.EventType, e event) {
	switch kind {
	case perdure.EventEntry:
		if e.EntryType != perdure.EntryMessage {
			return
		}
		m := s.message(e)
		m.role, m.parts = e.Role, e.Content.Parts
	case perdure.EventToken, perdure.EventThinking, perdure.EventData:
		if call := (toolData{}); kind != perdure.EventData || json.Unmarshal(e.Data, &call) == nil && (call.Type == "tool_call_start" || call.Type == "tool_call_delta") {
			s.grow(kind, e, call)
		}
	case perdure.EventBlockClosed:
		if e.Reason == string(perdure.BlockSuperseded) {
			for _, m := range s.messages {
				m.pieces = slices.DeleteFunc(m.pieces, func(p *shownPiece) bool { return p.seq == e.BlockSeq })
			}
		}
	}
}

func (s *clientView) message(e event) *shownMessage {
	for _, m := range s.messages {
		if m.id == e.MessageID {
			return m
		}
	}
	m := &shownMessage{id: e.MessageID, response: e.ResponseID, role: perdure.RoleAssistant}
	s.messages = append(s.messages, m)
	return m
}

// grow appends a chunk to its message. The first chunk of a new attempt replaces everything that
// earlier attempts have streamed.
func (s *clientView) grow(kind perdure.EventType, e event, call toolData) {
	m := s.message(e)
	if e.Attempt > m.attempt {
		m.pieces, m.attempt = nil, e.Attempt
	}
	if e.Attempt < m.attempt {
		return
	}
	text := call.Delta
	if kind != perdure.EventData {
		if json.Unmarshal(e.Data, &text) != nil {
			return // the data of a superseded chunk has another form
		}
	}
	for _, p := range m.pieces {
		if p.seq == e.Seq {
			if len(p.text) == e.Offset {
				p.text += text
			}
			return
		}
	}
	m.pieces = append(m.pieces, &shownPiece{seq: e.Seq, kind: kind, call: call, text: text})
}

// streamed returns the message parts that result from the streamed pieces.
func (m *shownMessage) streamed() []perdure.Part {
	var parts []perdure.Part
	last := func(kind perdure.PartType) *perdure.Part {
		if n := len(parts); n > 0 && parts[n-1].Type == kind {
			return &parts[n-1]
		}
		parts = append(parts, perdure.Part{Type: kind})
		return &parts[len(parts)-1]
	}
	for _, p := range m.pieces {
		switch {
		case p.kind == perdure.EventToken:
			last(perdure.PartText).Text += p.text
		case p.kind == perdure.EventThinking:
			last(perdure.PartThinking).Thinking += p.text
		case p.call.Type == "tool_call_start":
			parts = append(parts, perdure.Part{Type: perdure.PartToolCall, ID: p.call.Call.ID, Name: p.call.Call.Name})
		default:
			for i := range parts {
				if parts[i].ID == p.call.Call.ID {
					parts[i].RawArguments += p.text
				}
			}
		}
	}
	return parts
}
