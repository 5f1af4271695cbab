package contents

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// A text that is repeated is stored once. If the content of a closed block equals a text of an
// entry, the row of the block refers to that text. The result of a task refers to the bytes of the
// entry that was made from the task.

// TextPlace is the place of a text in an entry. If Entry is 0, no entry contains the text.
type TextPlace struct {
	Entry int64 // number of the entry
	Path  string
}

func (p *TextPlace) Scan() []any {
	return []any{column.OptNumberInto(&p.Entry), column.TextInto(&p.Path)}
}

var entryBody = statement.Read("SELECT content_blob, content FROM agent_entry WHERE agent_execution_id = ? AND number = ? AND number > 0")

// EntryTexts caches the texts of the last entry that was read, because several blocks in succession
// often refer to the same entry.
type EntryTexts struct {
	entry int64
	texts []store.EntryText
}

// Of returns the texts of an entry. It caches the texts of the last entry.
func (c *EntryTexts) Of(v statement.View, execution uuid.UUID, number int64) ([]store.EntryText, error) {
	if c.entry == number {
		return c.texts, nil
	}
	content, err := contentOfEntry(v, execution, number)
	if err == nil {
		c.entry, c.texts = number, store.EntryTexts(content)
	}
	return c.texts, err
}

// At returns the text at a place.
func (c *EntryTexts) At(v statement.View, execution uuid.UUID, p TextPlace) ([]byte, error) {
	texts, err := c.Of(v, execution, p.Entry)
	if err != nil {
		return nil, err
	}
	for _, t := range texts {
		if t.Path == p.Path {
			return []byte(t.Text), nil
		}
	}
	return nil, ErrNamed
}

// ErrNamed says that a row refers to a part of an entry, but that the entry has no such part.
var ErrNamed = errors.New("a row names a part of an entry that is not there")

// contentOfEntry reads the content of the entry with that number.
func contentOfEntry(v statement.View, execution uuid.UUID, number int64) (json.RawMessage, error) {
	var (
		blob    *uuid.UUID
		content json.RawMessage
	)
	found, err := v.One(entryBody, []any{execution[:], number}, column.OptIDInto(&blob), column.RawInto(&content))
	if err == nil && !found {
		err = ErrNamed
	}
	if err != nil || blob == nil {
		return content, err
	}
	ref, err := Ref(v, execution, blob)
	if err != nil {
		return nil, err
	}
	return Whole(v, execution, ref)
}
