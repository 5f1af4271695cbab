package perdure

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// UserMessageMembers are the members that the value of a userMessage signal can have in the API. The
// value has exactly one of them.
var UserMessageMembers = []string{"text", "parts"}

// ParseUserMessage parses the value of a userMessage signal in the form of the API: {"text": "..."}
// or {"parts": [...]}, and nothing else. Every API that sends a message to an execution uses it.
// The error is invalid_argument, and its field name begins with the prefix `field`.
func ParseUserMessage(field string, value json.RawMessage) (Message, error) {
	m := Message{Role: RoleUser}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil || members == nil {
		return m, FieldErrorf(field, `of a userMessage must be {"text": "..."} or {"parts": [...]}`)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(UserMessageMembers, name) {
			return m, FieldErrorf(field+"."+name, `is no member of a userMessage; it is {"text": "..."} or {"parts": [...]}`)
		}
	}
	text, parts := members["text"], members["parts"]
	switch {
	case text != nil && parts != nil:
		return m, FieldErrorf(field+".parts", "stands in place of text; give one of them")
	case text != nil:
		var said *string
		if err := json.Unmarshal(text, &said); err != nil || said == nil {
			return m, FieldErrorf(field+".text", "must be a string")
		}
		m.Parts = []Part{Text(*said)}
		if *said == "" {
			return m, FieldErrorf(field+".text", "is empty")
		}
		return m, nil
	case parts != nil:
		var err error
		m.Parts, err = parseUserParts(field+".parts", parts)
		return m, err
	}
	return m, FieldErrorf(field, `of a userMessage must be {"text": "..."} or {"parts": [...]}`)
}

// parseUserParts parses parts that a client sent.
func parseUserParts(field string, value json.RawMessage) ([]Part, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil || raw == nil {
		return nil, FieldErrorf(field, "must be an array of parts")
	}
	if len(raw) == 0 {
		return nil, FieldErrorf(field, "is empty")
	}
	if len(raw) > MaxParts {
		return nil, FieldErrorf(field, "has %d parts; the limit is %d", len(raw), MaxParts)
	}
	parts := make([]Part, len(raw))
	for i, one := range raw {
		at := partAt(field, i)
		if err := json.Unmarshal(one, &parts[i]); err != nil {
			return nil, FieldErrorf(at, `must be {"type": "text", "text": "..."}, {"type": "image", "data": "...", "mimeType": "..."} or {"type": "file", "data": "...", "mimeType": "..."}`)
		}
		if err := checkUserMembers(at, parts[i].Type, one); err != nil {
			return nil, err
		}
	}
	return parts, checkUserContent(field, parts)
}

// CheckUserParts refuses parts that a user's message cannot have. It accepts texts, images and
// files, and only the members that belong to their type. It accepts an empty list. The error is
// invalid_argument, and its field name begins with the prefix `field`.
func CheckUserParts(field string, parts []Part) error {
	if len(parts) == 0 {
		return nil
	}
	if len(parts) > MaxParts {
		return tooManyParts(field, parts)
	}
	for i, p := range parts {
		raw, err := json.Marshal(p)
		if err != nil {
			return FieldErrorf(partAt(field, i), "does not encode: %v", err)
		}
		if err := checkUserMembers(partAt(field, i), p.Type, raw); err != nil {
			return err
		}
	}
	return checkUserContent(field, parts)
}

func partAt(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// userMembers are the allowed members of the parts of a user's message. Signatures, calls and
// native blocks belong to a model's messages.
var userMembers = map[PartType][]string{
	PartText:  {"type", "text"},
	PartImage: {"type", "data", "mimeType", "url", "detail"},
	PartFile:  {"type", "data", "mimeType", "url", "fileId", "filename"},
}

// checkUserMembers refuses members that userMembers does not list for the type of the part. It compares
// exact names, because a decoder that ignores case would accept members that no check has seen.
func checkUserMembers(at string, kind PartType, raw json.RawMessage) error {
	known, ok := userMembers[kind]
	if !ok {
		return FieldErrorf(at+".type", "a user's part is text, image or file, not %q", kind)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return FieldErrorf(at, "is no object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return FieldErrorf(at+"."+name, "is no member of a part of type %s; it has %s", kind, strings.Join(known, ", "))
		}
	}
	return nil
}

// checkUserContent applies the checks of stored content. In addition, it refuses parts that contain
// nothing but empty texts.
func checkUserContent(field string, parts []Part) error {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.Type != PartText || p.Text != "" }) {
		return FieldErrorf(field, "say nothing: each text is empty")
	}
	if err := CheckParts(RoleUser, field, parts); err != nil {
		return err
	}
	return CheckMessages(field, nil, []InputMessage{{Role: RoleUser, Parts: parts}})
}

// CheckMessages checks whether messages can follow a conversation that has the given open tool
// calls. The list may begin with results of these calls. It need not have a result for each of
// them: the receiver adds the missing results before the next message. A tool call inside the list
// must have its result there. The error is invalid_argument and names the given field.
func CheckMessages(field string, open []string, messages []InputMessage) error {
	if len(messages) > MaxMessages {
		return FieldErrorf(field, "has %d messages; the limit is %d", len(messages), MaxMessages)
	}
	head, said := EntryHead{Type: EntryMessage, Open: open}, false
	for i, m := range messages {
		if m.Role != RoleToolResult && !said {
			head.Open, said = nil, true
		}
		if err := CheckParts(m.Role, partAt(field, i)+".parts", m.Parts); err != nil {
			return err
		}
		e, err := m.entry()
		if err != nil {
			return err
		}
		if err = CheckContent(e); err == nil {
			head.Open, err = CheckAppend(&head, e)
		}
		if err != nil {
			// The sender of the message does not know the entry's id, so the error omits it.
			return FieldErrorf(field, "message %d %s", i, strings.TrimPrefix(messageOf(err), "entry "+e.ID.String()+" "))
		}
	}
	if said && len(head.Open) > 0 {
		return FieldErrorf(field, "tool call %s has no result", head.Open[0])
	}
	return nil
}

// entry returns an entry with the message's parts. Its type is EntryCompaction if m.Compaction is
// set, and EntryMessage otherwise.
func (m InputMessage) entry() (Entry, error) {
	e, err := NewMessageEntry(Message{Role: m.Role, Content: Content{Parts: m.Parts}})
	if err != nil || m.Compaction == nil {
		return e, err
	}
	e.Type = EntryCompaction
	e.Metadata, err = json.Marshal(m.Compaction)
	return e, err
}

// messageOf returns the message of an error without its code.
func messageOf(err error) string {
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return err.Error()
}
