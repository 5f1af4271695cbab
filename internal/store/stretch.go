package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Stretch encodes one content as a substring of another content, with the bytes before and after
// the substring. It saves space if, for example, an entry repeats most of the result of a task.
// Decoding restores every byte.
type Stretch struct {
	Before, After []byte
	At, Length    int64
}

const (
	// leastStretch is the minimum length of a substring, in bytes, that is worth encoding.
	leastStretch = 64
	// mostTries is the maximum number of JSON values of a content that FindStretch looks for in the
	// bytes `said`. The constant `deepest` is the maximum number of JSON objects in which such a
	// value is nested.
	mostTries = 8
	deepest   = 3
)

// FindStretch looks for a large JSON value of a content in the bytes `said`, where the value must
// occur unchanged. It returns the content encoded with the largest value that it finds, or false if
// it finds none. The value is the whole content or a member of one of the objects in the content.
func FindStretch(content, said []byte) (Stretch, bool) {
	values := valuesOf(content, 0, deepest)
	slices.SortStableFunc(values, func(a, b span) int { return cmp.Compare(b.end-b.start, a.end-a.start) })
	for _, v := range values[:min(len(values), mostTries)] {
		value := content[v.start:v.end]
		if len(value) < leastStretch || len(content)-len(value) > perdure.InlineLimit {
			break
		}
		if at := bytes.Index(said, value); at >= 0 {
			return Stretch{Before: content[:v.start], After: content[v.end:], At: int64(at), Length: int64(len(value))}, true
		}
	}
	return Stretch{}, false
}

// span is the start and the end (exclusive) of a value in a content, in bytes.
type span struct{ start, end int }

// valuesOf returns the span of the JSON value in a content, and the spans of the members of its
// objects, down to a depth.
func valuesOf(content []byte, offset, depth int) []span {
	trimmed := bytes.TrimSpace(content)
	if len(trimmed) == 0 {
		return nil
	}
	offset += bytes.Index(content, trimmed)
	all := []span{{offset, offset + len(trimmed)}}
	if depth == 0 || trimmed[0] != '{' {
		return all
	}
	d := json.NewDecoder(bytes.NewReader(trimmed))
	if _, err := d.Token(); err != nil {
		return all
	}
	for d.More() {
		var value json.RawMessage
		if _, err := d.Token(); err != nil {
			return all
		}
		if err := d.Decode(&value); err != nil {
			return all
		}
		start := int(d.InputOffset()) - len(value)
		all = append(all, valuesOf(value, offset+start, depth-1)...)
	}
	return all
}

// Of decodes the content. The parameter `said` is the other content, which contains the substring.
// Of returns an error if `said` is too short.
func (s Stretch) Of(said []byte) ([]byte, error) {
	if s.At < 0 || s.Length < 0 || s.At+s.Length > int64(len(said)) {
		return nil, errors.New("a content names bytes that are not there")
	}
	return slices.Concat(s.Before, said[s.At:s.At+s.Length], s.After), nil
}

// ResultRest describes, for audits, how the result of a task is stored if the result refers to an
// entry.
type ResultRest struct {
	Task, Entry uuid.UUID
	// Held is the number of bytes that are stored in the row of the task.
	Held int64
}
