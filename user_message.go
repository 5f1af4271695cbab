package perdure

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// UserMessageMembers are those of the public value of a userMessage signal. Exactly
// one of them is given.
var UserMessageMembers = []string{"text", "parts"}

// ParseUserMessage reads the public value of a userMessage signal: {"text": "..."}
// or {"parts": [...]}, and nothing else. It is the check of every way into an
// execution, by value and by reference. The error is invalid_argument and names the
// member under field.
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

// parseUserParts reads parts as a client sent them.
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

// CheckUserParts refuses parts that a user's message cannot hold: others than texts,
// images and files, and members that a part of its type does not have. No parts are none
// to refuse. The error is invalid_argument and names the part under field.
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

// userMembers are the members of the parts that a user's message takes. Signatures,
// calls and blocks of a provider are what a model says.
var userMembers = map[PartType][]string{
	PartText:  {"type", "text"},
	PartImage: {"type", "data", "mimeType", "url", "detail"},
	PartFile:  {"type", "data", "mimeType", "url", "fileId", "filename"},
}

// checkUserMembers refuses members by their exact names: a decoder that ignores case
// would take what a check has not seen.
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

// checkUserContent runs the check of what is stored.
func checkUserContent(field string, parts []Part) error {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.Type != PartText || p.Text != "" }) {
		return FieldErrorf(field, "say nothing: each text is empty")
	}
	if err := CheckParts(RoleUser, field, parts); err != nil {
		return err
	}
	return CheckMessages(field, nil, []InputMessage{{Role: RoleUser, Parts: parts}})
}

// CheckMessages decides whether messages can follow a conversation in which the
// calls open are not answered yet. Those of them that the results at the beginning
// leave open are answered before anything else is said, in the client's stead; a
// call among the messages must have its result there. The error is invalid_argument
// and names field.
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
		e, err := NewMessageEntry(Message{Role: m.Role, Content: Content{Parts: m.Parts}})
		if err != nil {
			return err
		}
		if err = CheckContent(e); err == nil {
			head.Open, err = CheckAppend(&head, e)
		}
		if err != nil {
			// The entry's id is of no use to who sent the message.
			return FieldErrorf(field, "message %d %s", i, strings.TrimPrefix(messageOf(err), "entry "+e.ID.String()+" "))
		}
	}
	if said && len(head.Open) > 0 {
		return FieldErrorf(field, "tool call %s has no result", head.Open[0])
	}
	return nil
}

// messageOf is what an error says to a client.
func messageOf(err error) string {
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Message
	}
	return err.Error()
}
