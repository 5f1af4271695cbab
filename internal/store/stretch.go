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

// Stretch encodes a content as a substring of another content, with the bytes before and after it.
// An example is a task's result that an entry mostly repeats. The encoding is exact, byte for byte,
// whatever the bytes mean.
type Stretch struct {
	Before, After []byte
	At, Length    int64
}

const (
	// leastStretch is the minimum length of a substring, in bytes, that is worth encoding.
	leastStretch = 64
	// mostTries is the maximum number of values of a content that are searched for. deepest is the
	// maximum number of objects around a value.
	mostTries = 8
	deepest   = 3
)

// FindStretch searches for a large JSON value of content that said contains byte for byte, and
// returns content encoded with it. The value is the content itself or a member of its objects; the
// largest ones are tried first. It returns false if none is found.
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

// valuesOf returns the spans of the value in a content and of the members of its objects, down to a
// depth.
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

// Of returns the encoded content. said is the other content, which contains the substring. It
// returns an error if said is too short.
func (s Stretch) Of(said []byte) ([]byte, error) {
	if s.At < 0 || s.Length < 0 || s.At+s.Length > int64(len(said)) {
		return nil, errors.New("a content names bytes that are not there")
	}
	return slices.Concat(s.Before, said[s.At:s.At+s.Length], s.After), nil
}

// ResultRest describes, for audits, how the result of a task that refers to an entry is stored.
type ResultRest struct {
	Task, Entry uuid.UUID
	// Held is the number of bytes that are stored with the task.
	Held int64
}
