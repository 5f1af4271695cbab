package relational

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// named is a content that contains a substring of the entry with that number. It is encoded as four
// varints, followed by the bytes before and after the substring. The varints are the entry's
// number, the offset and length of the substring, and the length of the bytes before it.
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

var (
	resultFor    = read("SELECT t.result, t.result_blob FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ? AND t.status = 'COMPLETED' AND t.result_of IS NULL")
	setResultOf  = update("task_execution", Terms{}.fixed("result", "= NULL").params("result_of"), columns("agent_execution_id, id"))
	unnameResult = update("task_execution", Terms{}.fixed("result_of", "= NULL"), columns("agent_execution_id, id").fixed("result_of", "IS NOT NULL"))
	setContentOf = update("blob", columns("content_of"), columns("agent_execution_id, id"))
	namedByBlob  = read("SELECT content_of FROM blob WHERE agent_execution_id = ? AND id = ?")
	isOfEntry    = read("SELECT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ? AND content_blob = ?)")
)

// fieldsOf returns how the fields of an event are stored: as they are, or as a reference to the
// entry of the same commit that answers the same tool call and contains them.
func fieldsOf(r *perdure.Record, entries []store.Entry, numbers []int64) (fields json.RawMessage, of []byte) {
	if r.Type != perdure.EventData || r.Place.ToolCallID == "" {
		return r.Fields, nil
	}
	for i := range entries {
		if entries[i].Answers != r.Place.ToolCallID || len(entries[i].Content) > store.MostSearched {
			continue
		}
		if stretch, ok := store.FindStretch(r.Fields, entries[i].Content); ok {
			return nil, named{numbers[i], stretch}.encode()
		}
	}
	return r.Fields, nil
}

func bodiesOf(w *Dialect) *Statement {
	return Alone("SELECT e.number, e.content_blob, e.content FROM agent_entry e WHERE e.agent_execution_id = ?1 AND e.number > 0 AND e.number " + w.AmongNumbers)
}

// bodies reads the contents of entries by their numbers, in one query round.
func bodies(v view, execution uuid.UUID, numbers []int64) (map[int64]json.RawMessage, error) {
	list, err := v.Dialect.Numbers(numbers)
	if err != nil {
		return nil, err
	}
	contents, blobs := map[int64]json.RawMessage{}, map[int64]uuid.UUID{}
	err = v.each(bodiesOf(v.Dialect), []any{execution[:], list}, func(row func(...any) error) error {
		var (
			number  int64
			blob    *uuid.UUID
			content json.RawMessage
		)
		err := row(&number, optIDInto(&blob), rawInto(&content))
		contents[number] = content
		if blob != nil {
			blobs[number] = *blob
		}
		return err
	})
	for number, blob := range blobs {
		if err != nil {
			break
		}
		var ref *perdure.BlobRef
		if ref, err = loadRef(v, execution, &blob); err == nil {
			contents[number], err = loadWhole(v, execution, ref)
		}
	}
	return contents, err
}

// recordRow is an event as it is stored. blob and of are references to its fields.
type recordRow struct {
	perdure.Record
	blob *uuid.UUID
	of   []byte
}

// size returns the approximate size of the record with its fields, in bytes.
func (r *recordRow) size() int {
	if n, err := parseNamed(r.of); r.of != nil && err == nil {
		return size(r.Record) + len(r.of) + int(n.Length)
	}
	return size(r.Record)
}

// fillRecords returns the records with their fields.
func fillRecords(v view, execution uuid.UUID, rows []recordRow) ([]perdure.Record, error) {
	var (
		records []perdure.Record
		names   = make([]named, len(rows))
		numbers []int64
		said    map[int64]json.RawMessage
		err     error
	)
	for i, r := range rows {
		if r.of == nil {
			continue
		}
		if names[i], err = parseNamed(r.of); err != nil {
			return nil, err
		}
		numbers = append(numbers, names[i].entry)
	}
	if len(numbers) > 0 {
		if said, err = bodies(v, execution, numbers); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		switch {
		case r.blob != nil:
			err = joinFields(v, execution, &r)
		case r.of != nil:
			r.Fields, err = names[i].Of(said[names[i].entry])
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r.Record)
	}
	return records, nil
}

// joinFields loads the fields of an event from its blob. The reference to a withheld blob remains.
func joinFields(v view, execution uuid.UUID, r *recordRow) (err error) {
	if r.Blob, err = loadRef(v, execution, r.blob); err != nil {
		return err
	}
	return joinContent(v, execution, &r.Fields, &r.Blob)
}

// nameResult stores the result of a task as a reference to the entry that was made from it. The key
// of the entry names the task. A result in a blob keeps its id, length and hash: its blob refers to
// the entry instead of having rows.
func nameResult(v view, execution uuid.UUID, number int64, e *store.Entry, content json.RawMessage) error {
	task, ok := taskOfKey(e.Key)
	if !ok {
		return nil
	}
	var (
		result json.RawMessage
		blob   *uuid.UUID
	)
	found, err := v.one(resultFor, []any{execution[:], task[:]}, rawInto(&result), optIDInto(&blob))
	if err != nil || !found {
		return err
	}
	if blob != nil {
		return nameBlob(v, execution, number, *blob, content)
	}
	if stretch, ok := store.FindStretch(result, content); ok {
		err = v.write(setResultOf, named{number, stretch}.encode(), execution[:], task[:])
	}
	return err
}

// taskOfKey returns the id of the task that an entry's key names.
func taskOfKey(key string) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(key, perdure.TaskEntryKey(uuid.Nil)[:len("task:")])
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// nameBlob stores a blob as a reference to an entry. It leaves out blobs that are the content of an
// entry themselves, so that no two can refer to each other.
func nameBlob(v view, execution uuid.UUID, number int64, id uuid.UUID, content json.RawMessage) error {
	var ofEntry bool
	if _, err := v.one(isOfEntry, []any{execution[:], id[:]}, flagInto(&ofEntry)); err != nil || ofEntry {
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
	if err := v.write(setContentOf, named{number, stretch}.encode(), execution[:], id[:]); err != nil {
		return err
	}
	return v.write(dropRows, execution[:], id[:])
}

// compose returns a content that refers to an entry.
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

// composedBlob returns the content of a blob that refers to an entry; nil for any other blob.
func composedBlob(v view, execution, id uuid.UUID) (json.RawMessage, error) {
	var raw []byte
	found, err := v.one(namedByBlob, []any{execution[:], id[:]}, &raw)
	if err != nil || !found || raw == nil {
		return nil, err
	}
	return compose(v, execution, raw)
}
