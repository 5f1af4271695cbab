package perdure

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// The transcript rules keep a stored conversation in a form from which a request to any provider
// can be created; package llm makes the adaptations that single providers need. Each tool call is
// answered exactly once before the next assistant or user message. A result answers a call that is
// on the path to the result. Every entry stores the tool calls that are still open after it, so a
// check of the next entry needs only its parent.

// CheckAppend checks whether the entry e may follow parent (nil if e is a root). It returns the tool
// calls that are open after e, in call order.
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

// CheckContent checks the content of a message entry. The content must be valid for the role of the
// message, providers must accept it (CheckParts), and it must match the entry's Calls and Answers.
// The content of an llm_call entry may be any JSON. The worker checks the content of each entry
// that it appends, and the server checks it again. CheckContent accepts an entry whose content is
// only in a blob; the reader of the blob checks the content.
func CheckContent(e Entry) error {
	onWorker := e.Content == nil && e.Blob != nil && e.Metadata == nil // LOCAL execution: see NewEntry.Covers
	if e.Type == EntryCompaction && !onWorker {
		if _, err := e.Compaction(); err != nil {
			return transcriptField(e, err)
		}
	}
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
	if err := checkCompaction(e, m); err != nil {
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

// checkCompaction checks that an entry of type compaction has a summary, and that an entry of another
// type has none.
func checkCompaction(e Entry, m Message) error {
	summary := len(m.Parts) == 1 && m.Parts[0].Type == PartCompaction
	if e.Type != EntryCompaction {
		if summary {
			return invalidTranscript(e, "has a part of type compaction, but its type is %s", e.Type)
		}
		return nil
	}
	if !summary || m.Role != RoleUser {
		return invalidTranscript(e, "must be a user's message with one part of type compaction")
	}
	if strings.TrimSpace(m.Parts[0].Text) == "" {
		return invalidTranscript(e, "has an empty summary")
	}
	return nil
}

// CheckContentText performs the checks of CheckContent that need no content in memory. It checks that
// the content is JSON in UTF-8, and that a message and its tool results have at most MaxParts parts.
// Errors: invalid_transcript, or the reader's error.
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
	// A key may occur twice inside the members `arguments` and `native`: a model or its provider
	// wrote these members, and they are stored unchanged.
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

// ClosingResults creates a result for each open tool call when an execution ends or a turn fails.
// Each result has the text `why`. The map `names` has the names of the called tools by the ids of
// the calls.
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

// AddCallNames adds the tool calls among `parts` to the map `names`: the name of the tool, by the id of
// the call.
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

// transcriptField converts an error that names a field to an invalid_transcript error about the
// entry e. Other errors are returned unchanged.
func transcriptField(e Entry, err error) error {
	var at *Error
	if !errors.As(err, &at) || len(at.Fields) == 0 {
		return err
	}
	made := Errorf(InvalidTranscript, "entry %s: %s", e.ID, at.Message)
	made.Fields = []FieldError{{Location: "entries." + e.ID.String() + "." + at.Fields[0].Location, Message: at.Fields[0].Message}}
	return made
}
