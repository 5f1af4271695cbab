package apply

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	resultFor    = statement.Read("SELECT t.result, t.result_blob FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ? AND t.status = 'COMPLETED' AND t.result_of IS NULL")
	setResultOf  = statement.Update("task_execution", statement.Terms{}.Fixed("result", "= NULL").Params("result_of"), statement.Columns("agent_execution_id, id"))
	unnameResult = statement.Update("task_execution", statement.Terms{}.Fixed("result_of", "= NULL"), statement.Columns("agent_execution_id, id").Fixed("result_of", "IS NOT NULL"))
	setContentOf = statement.Update("blob", statement.Columns("content_of"), statement.Columns("agent_execution_id, id"))
	isOfEntry    = statement.Read("SELECT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ? AND content_blob = ?)")
)

// fieldsOf returns the stored form of an event's fields. If `entries` contains the result of the
// event's tool call, fieldsOf searches that result for the fields. If it finds the fields, `of` is
// an encoded reference to the entry, and `fields` is nil. Otherwise `fields` contains the fields
// unchanged, and `of` is nil.
func fieldsOf(r *perdure.Record, entries []store.Entry, numbers []int64) (fields json.RawMessage, of []byte) {
	if r.Type != perdure.EventData || r.Place.ToolCallID == "" {
		return r.Fields, nil
	}
	for i := range entries {
		if entries[i].Answers != r.Place.ToolCallID || len(entries[i].Content) > store.MostSearched {
			continue
		}
		if stretch, ok := store.FindStretch(r.Fields, entries[i].Content); ok {
			return nil, contents.Named{Entry: numbers[i], Stretch: stretch}.Encode()
		}
	}
	return r.Fields, nil
}

// nameResult replaces the stored result of a task by a reference to the entry that was made from
// that result. The entry's key contains the task's id. If the result is in a blob, only the rows
// with the blob's bytes are replaced; the blob's id, length and hash remain.
func nameResult(v statement.View, execution uuid.UUID, number int64, e *store.Entry, content json.RawMessage) error {
	task, ok := taskOfKey(e.Key)
	if !ok {
		return nil
	}
	var (
		result json.RawMessage
		blob   *uuid.UUID
	)
	found, err := v.One(resultFor, []any{execution[:], task[:]}, column.RawInto(&result), column.OptIDInto(&blob))
	if err != nil || !found {
		return err
	}
	if blob != nil {
		return nameBlob(v, execution, number, *blob, content)
	}
	if stretch, ok := store.FindStretch(result, content); ok {
		err = v.Write(setResultOf, contents.Named{Entry: number, Stretch: stretch}.Encode(), execution[:], task[:])
	}
	return err
}

// taskOfKey returns the id of the task that an entry's key contains.
func taskOfKey(key string) (uuid.UUID, bool) {
	text, ok := strings.CutPrefix(key, perdure.TaskEntryKey(uuid.Nil)[:len("task:")])
	if !ok {
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// nameBlob replaces the bytes of a blob by a reference to an entry. A blob that is the content of
// an entry remains unchanged, so that two blobs never refer to each other.
func nameBlob(v statement.View, execution uuid.UUID, number int64, id uuid.UUID, content json.RawMessage) error {
	var ofEntry bool
	if _, err := v.One(isOfEntry, []any{execution[:], id[:]}, column.FlagInto(&ofEntry)); err != nil || ofEntry {
		return err
	}
	ref, err := contents.Ref(v, execution, &id)
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
	if err := v.Write(setContentOf, contents.Named{Entry: number, Stretch: stretch}.Encode(), execution[:], id[:]); err != nil {
		return err
	}
	return v.Write(dropRows, execution[:], id[:])
}
