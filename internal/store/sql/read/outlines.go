package read

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	outlineColumns = "SELECT x.id, x.input_blob, x.input, c.state_blob, c.state"
	// outlinesOf is the rest of a query whose FROM clause looks up the executions by their ids.
	// With a condition on the ids instead, SQLite would read all executions of the org.
	outlinesOf = " LEFT JOIN agent_checkpoint c ON c.agent_execution_id = x.id AND c.sequence = x.current_checkpoint_seq WHERE x.org_id = ?"
)

// outlineRow is an outline, with the ids of the blobs that contain its input or state.
type outlineRow struct {
	id           uuid.UUID
	input, state *uuid.UUID
	store.Outline
}

// Outlines implements [store.Reader].
func (r *Reader) Outlines(ctx context.Context, org string, ids []uuid.UUID) (map[uuid.UUID]store.Outline, error) {
	found := make(map[uuid.UUID]store.Outline, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	from, these, err := r.Dialect.TheseExecutions(ids)
	if err != nil {
		return nil, err
	}
	err = r.Read(ctx, func(v statement.View) error {
		var rows []outlineRow
		err := v.Each(statement.NewAlone(outlineColumns+from+outlinesOf), []any{these, org}, func(row func(...any) error) error {
			var o outlineRow
			err := row(&o.id, column.OptIDInto(&o.input), column.RawInto(&o.Input), column.OptIDInto(&o.state), column.RawInto(&o.State))
			rows = append(rows, o)
			return err
		})
		if err != nil {
			return err
		}
		room := int64(store.PageBytes)
		for _, o := range rows {
			if err := fillOutline(v, &o, &room); err != nil {
				return err
			}
			found[o.id] = o.Outline
		}
		return nil
	})
	return found, err
}

// fillOutline loads the contents that are stored in blobs. Few rows need this: only an input or a
// state over perdure.InlineLimit is in a blob.
func fillOutline(v statement.View, o *outlineRow, room *int64) error {
	for _, c := range []struct {
		id   *uuid.UUID
		into *json.RawMessage
		ref  **perdure.BlobRef
	}{{o.input, &o.Input, &o.InputBlob}, {o.state, &o.State, &o.StateBlob}} {
		var err error
		if *c.ref, err = contents.Ref(v, o.id, c.id); err != nil {
			return err
		}
		ref := *c.ref
		if ref == nil || ref.Length > perdure.ShownLimit || ref.Length > *room {
			continue
		}
		*room -= ref.Length
		if err := contents.JoinContent(v, o.id, c.into, c.ref); err != nil {
			return err
		}
	}
	return nil
}
