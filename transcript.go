package perdure

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// The transcript rules keep a stored conversation such that a request to any provider
// can be made of it; package llm adapts what a single provider refuses. Each tool call is
// answered exactly once before the next assistant or user message, and a result answers
// a call on its path. Every entry stores the calls that are open after it, so a check
// needs only the parent.

// CheckAppend decides whether e may hang on parent (nil for a root), and returns
// the calls that are open after it, in call order.
func CheckAppend(parent *EntryHead, e Entry) ([]string, error) {
	if e.Type == EntryLLMCall {
		return nil, nil
	}
	var open []string
	if parent != nil {
		if parent.Type == EntryLLMCall {
			return nil, invalidTranscript(e, "hangs on an llm_call entry, which is no message")
		}
		open = parent.Open
	}
	switch e.Role {
	case RoleToolResult:
		return answerCall(open, e)
	case RoleUser, RoleAssistant, RoleSystem:
		if len(open) > 0 {
			return nil, invalidTranscript(e, "comes before tool call %s is answered", open[0])
		}
		return openCalls(e)
	}
	return nil, invalidTranscript(e, "has no known role (%q)", e.Role)
}

func answerCall(open []string, e Entry) ([]string, error) {
	i := slices.Index(open, e.Answers)
	if i < 0 {
		return nil, invalidTranscript(e, "answers %q, which is no open tool call on its path", e.Answers)
	}
	return slices.Delete(slices.Clone(open), i, i+1), nil
}

func openCalls(e Entry) ([]string, error) {
	if e.Role != RoleAssistant {
		if len(e.Calls) > 0 {
			return nil, invalidTranscript(e, "has tool calls, but its role is %s", e.Role)
		}
		return nil, nil
	}
	seen := map[string]bool{}
	for _, id := range e.Calls {
		if id == "" || seen[id] {
			return nil, invalidTranscript(e, "has two tool calls with the id %q", id)
		}
		seen[id] = true
	}
	return e.Calls, nil
}

// CheckContent decides whether the content of a message entry is well formed for
// its role, holds what providers take (CheckParts), and agrees with the calls that
// stand beside it. The content of an llm_call entry is any JSON. The worker checks
// each content when it is appended, and the server checks it again. An entry whose
// content is in a blob alone passes: who reads the blob checks it.
func CheckContent(e Entry) error {
	switch {
	case e.Content == nil && e.Blob != nil:
		return nil
	case e.Content == nil && e.Type != EntryLLMCall:
		return invalidTranscript(e, "has no content")
	}
	if e.Content != nil {
		if err := CheckDocumentBytes("content", e.Content, contentRules(e)); err != nil {
			return transcriptField(e, err)
		}
	}
	if e.Type == EntryLLMCall {
		return nil
	}
	m, err := decodeStrictly(e)
	if err != nil {
		return err
	}
	if err := CheckParts(m.Role, "content.parts", m.Parts); err != nil {
		return transcriptField(e, err)
	}
	calls, answers := callsOf(m)
	if !slices.Equal(calls, e.Calls) || answers != e.Answers {
		return invalidTranscript(e, "names other tool calls than its content holds")
	}
	if e.Role == RoleToolResult && len(m.Parts) != 1 {
		return invalidTranscript(e, "must hold exactly one tool result")
	}
	return nil
}

// CheckContentText is that part of CheckContent that needs no content in memory: it
// is JSON in UTF-8, and no message has more than MaxParts parts. Error:
// invalid_transcript, or the reader's own.
func CheckContentText(e Entry, content io.Reader) error {
	err := CheckDocument("content", content, contentRules(e))
	if err == nil {
		return nil
	}
	return transcriptField(e, err)
}

func contentRules(e Entry) DocumentRules {
	rules := DocumentRules{Workers: true}
	if e.Type != EntryLLMCall {
		rules.Arrays = MessageParts
	}
	return rules
}

func decodeStrictly(e Entry) (Message, error) {
	m := Message{Role: e.Role}
	// What a model and its provider have written stays as it is.
	if err := checkNoDoubledKeys("content", e.Content, "arguments", "native"); err != nil {
		return m, transcriptField(e, err)
	}
	if err := json.Unmarshal(e.Content, &m.Content); err != nil {
		return m, invalidTranscript(e, "has content that is not {parts: [...]}")
	}
	if m.Parts == nil {
		return m, invalidTranscript(e, "has no parts")
	}
	return m, nil
}

// ClosingResults makes the results that close the open calls when an execution
// ends, or a turn fails, before they are answered. names are the tools of the calls
// by call id, as far as they are known.
func ClosingResults(parent Entry, open []string, names map[string]string, why string) ([]Entry, error) {
	var results []Entry
	for _, call := range open {
		e, err := NewMessageEntry(Message{Role: RoleToolResult, Content: Content{Parts: []Part{{
			Type: PartToolResult, ToolCallID: call, ToolName: names[call], Parts: []Part{Text(why)}, IsError: true,
		}}}})
		if err != nil {
			return nil, err
		}
		at := parent.ID
		e.ParentID, e.TurnID, e.ResponseID, e.MessageID = &at, parent.TurnID, parent.ResponseID, e.ID.String()
		results = append(results, e)
		parent = e
	}
	return results, nil
}

// AddCallNames adds the tools of the calls among parts to names, by call id.
func AddCallNames(names map[string]string, parts []Part) {
	for _, p := range parts {
		if p.Type == PartToolCall {
			names[p.ID] = p.Name
		}
	}
}

func invalidTranscript(e Entry, format string, args ...any) error {
	err := Errorf(InvalidTranscript, "entry "+e.ID.String()+" "+format, args...)
	err.Fields = []FieldError{{Location: "entries." + e.ID.String(), Message: err.Message}}
	return err
}

// transcriptField creates an error of CheckParts one of the entry, at its field.
func transcriptField(e Entry, err error) error {
	var at *Error
	if !errors.As(err, &at) || len(at.Fields) == 0 {
		return err
	}
	made := Errorf(InvalidTranscript, "entry %s: %s", e.ID, at.Message)
	made.Fields = []FieldError{{Location: "entries." + e.ID.String() + "." + at.Fields[0].Location, Message: at.Fields[0].Message}}
	return made
}
