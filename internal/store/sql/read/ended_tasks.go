package read

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// endedAfter selects what the heads (perdure.EndedHead) of ended tasks and steps contain. It does
// not read results that are too long for a head: to compute length(), the database need not read
// the bytes.
var endedAfter = statement.Read(fmt.Sprintf(`SELECT t.number, t.id, t.kind, t.step, t.status, t.error,
 coalesce(length(t.result), 0), CASE WHEN length(t.result) <= %d THEN t.result END,
 CASE WHEN t.result_of IS NULL THEN 0 ELSE 1 END, t.result_blob, b.length, b.sha256, coalesce(i.length, length(t.input), 0)
 FROM task_execution t LEFT JOIN blob b ON b.agent_execution_id = t.agent_execution_id AND b.id = t.result_blob
 LEFT JOIN blob i ON i.agent_execution_id = t.agent_execution_id AND i.id = t.input_blob
 WHERE t.agent_execution_id = ? AND t.number > ? AND t.number > 0 AND t.status NOT IN ('PENDING', 'RUNNING')
 ORDER BY t.number LIMIT ?`, perdure.EndedInline))

var endedBefore = statement.Read("SELECT t.number FROM task_execution t WHERE t.agent_execution_id = ? AND t.number > 0 AND t.created_at < ?" +
	" ORDER BY t.number DESC LIMIT 1")

// Ended implements [store.Reader].
func (r *Reader) Ended(ctx context.Context, execution uuid.UUID, after int64, limit, bytes int) (perdure.EndedPage, error) {
	page := perdure.EndedPage{From: after, Next: after}
	err := r.Read(ctx, func(v statement.View) error {
		size := 0
		return v.Each(endedAfter, []any{execution[:], after, limit + 1}, func(row func(...any) error) error {
			h, number, err := scanEnded(row)
			if err != nil {
				return err
			}
			size += len(h.Result.Bytes)
			if h.Error != nil {
				size += len(h.Error.Message)
			}
			if n := len(page.Heads); n == limit || n > 0 && size > bytes {
				page.More = true
				return statement.ErrStop
			}
			page.Heads, page.Next = append(page.Heads, h), number
			return nil
		})
	})
	return page, err
}

func scanEnded(row func(...any) error) (perdure.EndedHead, int64, error) {
	var (
		h              perdure.EndedHead
		number, length int64
		elsewhere      bool
		blob           *uuid.UUID
		ref            perdure.BlobRef
		inline         json.RawMessage
	)
	err := row(&number, &h.ID, &h.Kind, column.FlagInto(&h.Step), column.TextInto(&h.Status), column.JSONInto(&h.Error),
		&h.Size, column.RawInto(&inline), column.FlagInto(&elsewhere), column.OptIDInto(&blob), column.OptNumberInto(&length), column.HashInto(&ref.SHA256), &h.InputSize)
	h.Result.Bytes = inline
	if blob != nil {
		ref.ID, ref.Length = *blob, length
		h.Result.Blob, h.Size = &ref, length
	}
	h.Partial = elsewhere || inline == nil && h.Size > 0 || blob != nil
	return h, number, err
}

// EndedBefore implements [store.Reader].
func (r *Reader) EndedBefore(ctx context.Context, execution uuid.UUID, moment perdure.Time) (number int64, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		_, err := v.One(endedBefore, []any{execution[:], column.Millis(moment)}, &number)
		return err
	})
	return number, err
}
