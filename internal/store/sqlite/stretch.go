package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// named is a content that is a stretch of the entry of that number. It is stored
// as four varints, the entry and where the stretch is, how long what is before it
// is, and then what is before and after it.
type named struct {
	entry int64
	store.Stretch
}

func (n named) encode() []byte {
	var raw []byte
	for _, number := range []int64{n.entry, n.At, n.Length, int64(len(n.Before))} {
		raw = binary.AppendUvarint(raw, uint64(number))
	}
	return append(append(raw, n.Before...), n.After...)
}

func parseNamed(raw []byte) (n named, err error) {
	var before int64
	for _, number := range []*int64{&n.entry, &n.At, &n.Length, &before} {
		value, size := binary.Uvarint(raw)
		if size <= 0 {
			return n, errNamed
		}
		*number, raw = int64(value), raw[size:]
	}
	if before < 0 || before > int64(len(raw)) {
		return n, errNamed
	}
	n.Before, n.After = raw[:before], raw[before:]
	return n, nil
}

const (
	resultFor    = "SELECT t.result, t.result_blob FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ? AND t.status = 'COMPLETED' AND t.result_of IS NULL"
	setResultOf  = "UPDATE task_execution SET result = NULL, result_of = ? WHERE agent_execution_id = ? AND id = ?"
	unnameResult = "UPDATE task_execution SET result_of = NULL WHERE agent_execution_id = ? AND id = ? AND result_of IS NOT NULL"
	setContentOf = "UPDATE blob SET content_of = ? WHERE agent_execution_id = ? AND id = ?"
	namedByBlob  = "SELECT content_of FROM blob WHERE agent_execution_id = ? AND id = ?"
	isOfEntry    = "SELECT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ? AND content_blob = ?)"
)

// nameResult lets the result of the task that an entry was made from, as its key
// says, name the entry's content. A result that rests in a blob stays one, with
// its id, length and hash: the blob names the entry instead of having rows.
func nameResult(v view, execution uuid.UUID, number int64, e *store.Entry, content json.RawMessage) error {
	task, ok := taskOfKey(e.Key)
	if !ok {
		return nil
	}
	var (
		result json.RawMessage
		blob   *uuid.UUID
	)
	found, err := v.one(resultFor, []any{execution[:], task[:]}, raw{&result}, optUUID{&blob})
	if err != nil || !found {
		return err
	}
	if blob != nil {
		return nameBlob(v, execution, number, *blob, content)
	}
	if stretch, ok := store.FindStretch(result, content); ok {
		_, err = v.exec(setResultOf, named{number, stretch}.encode(), execution[:], task[:])
	}
	return err
}

// taskOfKey gives the task that an entry's key names.
func taskOfKey(key string) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(key, perdure.TaskEntryKey(uuid.Nil)[:len("task:")])
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// nameBlob leaves blobs alone that are an entry's content themselves: so no two
// can come to name each other.
func nameBlob(v view, execution uuid.UUID, number int64, id uuid.UUID, content json.RawMessage) error {
	var ofEntry bool
	if _, err := v.one(isOfEntry, []any{execution[:], id[:]}, (*flagCol)(&ofEntry)); err != nil || ofEntry {
		return err
	}
	ref, err := loadRef(v, execution, &id)
	if err != nil {
		return err
	}
	result, err := searchable(v, execution, ref)
	if err != nil || result == nil {
		return err
	}
	stretch, ok := store.FindStretch(result, content)
	if !ok {
		return nil
	}
	if _, err := v.exec(setContentOf, named{number, stretch}.encode(), execution[:], id[:]); err != nil {
		return err
	}
	_, err = v.exec(dropRows, execution[:], id[:])
	return err
}

// compose gives a content that names an entry.
func compose(v view, execution uuid.UUID, raw []byte) (json.RawMessage, error) {
	n, err := parseNamed(raw)
	if err != nil {
		return nil, err
	}
	content, err := contentOfEntry(v, execution, n.entry)
	if err != nil {
		return nil, err
	}
	return n.Of(content)
}

// composedBlob gives the content of a blob that names an entry, nil for any
// other.
func composedBlob(v view, execution, id uuid.UUID) (json.RawMessage, error) {
	var raw []byte
	found, err := v.one(namedByBlob, []any{execution[:], id[:]}, &raw)
	if err != nil || !found || raw == nil {
		return nil, err
	}
	return compose(v, execution, raw)
}
