package relational

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Repeated texts are stored once. The row of a closed block refers to the equal text of an entry,
// and the result of a task refers to the bytes of the entry that was made from it.

// place is the place of a text in an entry. Without an entry, there is no such text.
type place struct {
	entry int64 // number of the entry
	path  string
}

func (p *place) scan() []any { return []any{optNumberInto(&p.entry), textInto(&p.path)} }

var (
	nameBlocks = update("log_block", columns("entry, path").fixed("content", "= NULL"), columns("agent_execution_id, sha256").fixed("content", "IS NOT NULL"))
	noteText   = insert("agent_entry_text", "agent_execution_id, hash, entry", ignoring)
	entryOf    = read("SELECT entry FROM agent_entry_text WHERE agent_execution_id = ? AND hash = ?")
	entryBody  = read("SELECT content_blob, content FROM agent_entry WHERE agent_execution_id = ? AND number = ? AND number > 0")
)

// standFor replaces repeated texts by references to a new entry: the contents of closed blocks that
// equal one of its texts, and the result of the task that the entry was made from. It also records
// the entry's texts for blocks that close later.
func standFor(v view, execution uuid.UUID, number int64, e *store.Entry) error {
	content := e.Content
	if e.Blob != nil {
		var err error
		if content, err = searchable(v, execution, e.Blob); err != nil {
			return err
		}
	}
	if len(content) == 0 || len(content) > store.MostSearched {
		return nil
	}
	if err := nameResult(v, execution, number, e, content); err != nil {
		return err
	}
	for _, t := range store.EntryTexts(content) {
		sum := sha256.Sum256([]byte(t.Text))
		if err := v.write(nameBlocks, number, t.Path, execution[:], sum[:]); err != nil {
			return err
		}
		if err := v.write(noteText, execution[:], shortHash(sum), number); err != nil {
			return err
		}
	}
	return nil
}

// searchable loads a blob; nil if it is withheld or too large to be searched.
func searchable(v view, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	if ref.Length > store.MostSearched {
		return nil, nil
	}
	return loadWhole(v, execution, ref)
}

func shortHash(sum perdure.Hash) int64 { return int64(binary.BigEndian.Uint64(sum[:8])) }

// findText returns the place of a text of an earlier entry with that SHA-256 and length.
func findText(v view, execution uuid.UUID, sum perdure.Hash, length int64) (place, error) {
	var number int64
	found, err := v.one(entryOf, []any{execution[:], shortHash(sum)}, &number)
	if err != nil || !found {
		return place{}, err
	}
	var texts entryTexts
	all, err := texts.of(v, execution, number)
	if err != nil {
		return place{}, err
	}
	for _, t := range all {
		if int64(len(t.Text)) == length && sha256.Sum256([]byte(t.Text)) == sum {
			return place{number, t.Path}, nil
		}
	}
	return place{}, nil
}

// entryTexts caches the texts of the last examined entry, because blocks that refer to the same
// entry are adjacent.
type entryTexts struct {
	entry int64
	texts []store.EntryText
}

func (c *entryTexts) of(v view, execution uuid.UUID, number int64) ([]store.EntryText, error) {
	if c.entry == number {
		return c.texts, nil
	}
	content, err := contentOfEntry(v, execution, number)
	if err == nil {
		c.entry, c.texts = number, store.EntryTexts(content)
	}
	return c.texts, err
}

// at returns the text that a block refers to.
func (c *entryTexts) at(v view, execution uuid.UUID, p place) ([]byte, error) {
	texts, err := c.of(v, execution, p.entry)
	if err != nil {
		return nil, err
	}
	for _, t := range texts {
		if t.Path == p.path {
			return []byte(t.Text), nil
		}
	}
	return nil, errNamed
}

var errNamed = errors.New("a row names a part of an entry that is not there")

// contentOfEntry reads the content of the entry with that number.
func contentOfEntry(v view, execution uuid.UUID, number int64) (json.RawMessage, error) {
	var (
		blob    *uuid.UUID
		content json.RawMessage
	)
	found, err := v.one(entryBody, []any{execution[:], number}, optIDInto(&blob), rawInto(&content))
	if err == nil && !found {
		err = errNamed
	}
	if err != nil || blob == nil {
		return content, err
	}
	ref, err := loadRef(v, execution, blob)
	if err != nil {
		return nil, err
	}
	return loadWhole(v, execution, ref)
}
