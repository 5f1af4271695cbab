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

// Stretch writes a content as bytes of another one with what stands before and
// after them: a task's result, of which an entry says most again. It is exact,
// byte for byte, whatever the bytes mean.
type Stretch struct {
	Before, After []byte
	At, Length    int64
}

const (
	// leastStretch is what has to be saved for a content to be written so.
	leastStretch = 64
	// mostTries bounds how many values of a content are looked for, and deepest
	// how many objects around them.
	mostTries = 8
	deepest   = 3
)

// FindStretch looks for the largest JSON value of content, itself or a member of
// the objects in it, that stands in said byte for byte. It reports whether that
// saves enough.
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

// span is where a value stands.
type span struct{ start, end int }

// valuesOf gives where a value stands in a content, and the members of objects
// to a depth.
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

// Of returns the content, from what it is a stretch of.
func (s Stretch) Of(said []byte) ([]byte, error) {
	if s.At < 0 || s.Length < 0 || s.At+s.Length > int64(len(said)) {
		return nil, errors.New("a content names bytes that are not there")
	}
	return slices.Concat(s.Before, said[s.At:s.At+s.Length], s.After), nil
}

// ResultRest says, for audits, how the result of a task rests that names an
// entry.
type ResultRest struct {
	Task, Entry uuid.UUID
	// Held is how many bytes rest with the task.
	Held int64
}
