package log

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func bodiesOf(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT e.number, e.content_blob, e.content FROM " + w.AmongNumbers("agent_entry", "e", "agent_execution_id"))
}

// bodies reads the contents of the entries with these numbers. It needs one query, and further ones
// for contents in blobs.
func bodies(v statement.View, execution uuid.UUID, numbers []int64) (map[int64]json.RawMessage, error) {
	list, err := v.Dialect.Numbers(numbers)
	if err != nil {
		return nil, err
	}
	all, blobs := map[int64]json.RawMessage{}, map[int64]uuid.UUID{}
	err = v.Each(bodiesOf(v.Dialect), []any{execution[:], list}, func(row func(...any) error) error {
		var (
			number  int64
			blob    *uuid.UUID
			content json.RawMessage
		)
		err := row(&number, column.OptIDInto(&blob), column.RawInto(&content))
		all[number] = content
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
		if ref, err = contents.Ref(v, execution, &blob); err == nil {
			all[number], err = contents.Whole(v, execution, ref)
		}
	}
	return all, err
}

// recordSize returns the approximate size of a record, in bytes. It includes event fields that are
// stored in an entry instead of the record's row.
func recordSize(r *log.RecordRow) int {
	if n, err := contents.ParseNamed(r.Of); r.Of != nil && err == nil {
		return size(r.Record) + len(r.Of) + int(n.Length)
	}
	return size(r.Record)
}

// fillRecords converts rows to records, and loads the fields that are stored elsewhere.
func fillRecords(v statement.View, execution uuid.UUID, rows []log.RecordRow) ([]perdure.Record, error) {
	var (
		records []perdure.Record
		names   = make([]contents.Named, len(rows))
		numbers []int64
		said    map[int64]json.RawMessage
		err     error
	)
	for i, r := range rows {
		if r.Of == nil {
			continue
		}
		if names[i], err = contents.ParseNamed(r.Of); err != nil {
			return nil, err
		}
		numbers = append(numbers, names[i].Entry)
	}
	if len(numbers) > 0 {
		if said, err = bodies(v, execution, numbers); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		switch {
		case r.Blob != nil:
			err = joinFields(v, execution, &r.Record)
		case r.Of != nil:
			r.Fields, err = names[i].Of(said[names[i].Entry])
		}
		if err != nil {
			return nil, err
		}
		records = append(records, r.Record)
	}
	return records, nil
}

// joinFields loads the fields of an event from their blob, if they are in one. The reference to a
// withheld blob remains.
func joinFields(v statement.View, execution uuid.UUID, r *perdure.Record) error {
	if err := contents.CompleteRef(v, execution, r.Blob); err != nil {
		return err
	}
	return contents.JoinContent(v, execution, &r.Fields, &r.Blob)
}
