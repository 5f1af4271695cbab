package log

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// member is one member of a JSON object. Both the key with its quotes and the value are JSON
// text.
type member struct{ key, value []byte }

// membersOf returns the members of a JSON object, sorted by key. Each key occurs once. For an
// empty text, the result has no members.
func membersOf(fields json.RawMessage) ([]member, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if members, ok := split(fields); ok {
		return members, nil
	}
	return decoded(fields)
}

// decoded returns the same members as membersOf. It decodes the object, so it accepts objects in
// any form.
func decoded(fields json.RawMessage) ([]member, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(perdure.ValidJSON(fields), &values); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "an event's fields are no object", Err: err}
	}
	members := make([]member, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, err := encode(name)
		if err != nil {
			return nil, err
		}
		var value bytes.Buffer
		if err := json.Compact(&value, values[name]); err != nil {
			return nil, &perdure.Error{Code: perdure.Internal, Message: "an event's fields do not parse", Err: err}
		}
		members = append(members, member{key, value.Bytes()})
	}
	return members, nil
}

// split returns the same members as membersOf without decoding the object. It accepts objects in
// compact form with plain keys, as nearly all stored objects are, and returns false for any other
// text. It scans the text once and copies nothing, because decoding a large object for each of a
// thousand readers would be expensive. It does not validate the values.
func split(fields []byte) ([]member, bool) {
	if !bytes.HasPrefix(fields, []byte("{")) || !bytes.HasSuffix(fields, []byte("}")) || !utf8.Valid(fields) {
		return nil, false
	}
	var members []member
	for at := 1; ; at++ {
		key, ok := plainKey(fields[at:])
		if !ok {
			return nil, false
		}
		begin := at + len(key) + 1 // after the colon
		end, ok := endOfValue(fields, begin)
		if !ok {
			return nil, false
		}
		members = append(members, member{key, fields[begin:end]})
		if at = end; at == len(fields)-1 {
			break
		}
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name(), b.name()) })
	doubled := slices.CompactFunc(slices.Clone(members), func(a, b member) bool { return bytes.Equal(a.key, b.key) })
	return members, len(doubled) == len(members)
}

// name returns the key without its quotes.
func (m member) name() []byte { return m.key[1 : len(m.key)-1] }

// plainKey returns the quoted key at the start of text, if a colon follows it. It returns false if
// the key contains an escape, or a byte that is not printable ASCII.
func plainKey(text []byte) ([]byte, bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, false
	}
	n := bytes.IndexByte(text[1:], '"') + 1
	if n == 0 || len(text) == n+1 || text[n+1] != ':' {
		return nil, false
	}
	plain := func(c byte) bool { return c >= ' ' && c < 0x7f && c != '\\' }
	for _, c := range text[1:n] {
		if !plain(c) {
			return nil, false
		}
	}
	return text[:n+1], true
}

// endOfValue returns the end of the JSON value that begins at index i: the index of the comma or
// the brace that follows the value. It returns false if the value contains white space outside
// strings.
func endOfValue(text []byte, i int) (int, bool) {
	begin, depth := i, 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := lengthOfString(text[i:])
			if n == 0 {
				return 0, false
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i, i > begin && i == len(text)-1 && text[i] == '}'
			}
			depth--
		case ',':
			if depth == 0 {
				return i, i > begin
			}
		case ' ', '\t', '\n', '\r':
			return 0, false
		}
	}
	return 0, false
}

// lengthOfString returns the length of the quoted string at the start of text, quotes included; 0
// if the string does not end.
func lengthOfString(text []byte) int {
	for at := 1; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return 0
		}
		at += n + 1
		if escapes := at - 1 - len(bytes.TrimRight(text[:at-1], `\`)); escapes%2 == 0 {
			return at
		}
	}
}
