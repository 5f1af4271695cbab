package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// fields encodes what an event adds, as encoding/json does. Every command of a task
// has an event or more, with a few plain members, and the committer waits for it.
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
	case perdure.Woke:
		return appendText(raw, string(m))
	case uuid.UUID:
		return appendText(raw, m.String())
	case int64:
		return strconv.AppendInt(raw, m, 10)
	}
	return appendEncoded(raw, member)
}

// appendText leaves what has to be escaped to encoding/json.
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
		panic(err) // the callers' members are strings, numbers and encodable rows
	}
	return append(raw, encoded...)
}
