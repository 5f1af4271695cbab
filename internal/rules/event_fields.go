package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// fields encodes the members of an event. It does the same as encoding/json, but faster, because
// the committer waits for it.
func fields(members map[string]any) json.RawMessage {
	var room [8]string
	names := slices.AppendSeq(room[:0], maps.Keys(members))
	slices.Sort(names)
	raw := append(make([]byte, 0, 128), '{')
	for i, name := range names {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(appendText(raw, name), ':')
		raw = appendMember(raw, members[name])
	}
	return append(raw, '}')
}

func appendMember(raw []byte, member any) []byte {
	switch m := member.(type) {
	case string:
		return appendText(raw, m)
	case perdure.Status:
		return appendText(raw, string(m))
	case perdure.WakeReason:
		return appendText(raw, string(m))
	case uuid.UUID:
		return appendText(raw, m.String())
	case int64:
		return strconv.AppendInt(raw, m, 10)
	}
	return appendEncoded(raw, member)
}

// appendText appends text as a JSON string. Text that needs escapes is encoded by encoding/json.
func appendText(raw []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return appendEncoded(raw, text)
		}
	}
	return append(append(append(raw, '"'), text...), '"')
}

func appendEncoded(raw []byte, member any) []byte {
	encoded, err := json.Marshal(member)
	if err != nil {
		panic(err) // unreachable: callers pass strings, numbers and encodable rows
	}
	return append(raw, encoded...)
}
