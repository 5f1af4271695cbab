package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// BulkRows declares the rows of the table of bulk actions.
var BulkRows = row.New("bulk_action", 2, []row.Field[perdure.BulkAction]{
	row.Text("org_id", func(x *perdure.BulkAction) *string { return &x.Org }),
	row.ID("id", func(x *perdure.BulkAction) *uuid.UUID { return &x.ID }),
	row.Text("action", func(x *perdure.BulkAction) *perdure.BulkActionName { return &x.Action }),
	row.JSON("selection", func(x *perdure.BulkAction) *perdure.BulkFilter { return &x.Filter }, nil),
	row.JSON("statuses", func(x *perdure.BulkAction) *[]perdure.Status { return &x.Statuses }, nil),
	row.Text("reason", func(x *perdure.BulkAction) *string { return &x.Reason }),
	row.Text("status", func(x *perdure.BulkAction) *perdure.BulkActionStatus { return &x.Status }),
	row.Number("matched", func(x *perdure.BulkAction) *int { return &x.Matched }),
	row.Number("done", func(x *perdure.BulkAction) *int { return &x.Done }),
	row.Number("skipped", func(x *perdure.BulkAction) *int { return &x.Skipped }),
	row.Number("failed", func(x *perdure.BulkAction) *int { return &x.Failed }),
	row.JSON("errors", func(x *perdure.BulkAction) *[]perdure.BulkError { return &x.Errors }, nil),
	row.OptID("key_id", func(x *perdure.BulkAction) **uuid.UUID { return &x.KeyID }),
	row.OptText("idempotency_key", func(x *perdure.BulkAction) *string { return &x.IdempotencyKey }),
	row.OptHash("request_hash", func(x *perdure.BulkAction) *perdure.Hash { return &x.RequestHash }),
	row.Time("created_at", func(x *perdure.BulkAction) *perdure.Time { return &x.CreatedAt }),
	row.OptTime("ended_at", func(x *perdure.BulkAction) **perdure.Time { return &x.EndedAt }),
})

// BulkSelect is the beginning of a query for bulk actions.
var BulkSelect = "SELECT " + BulkRows.List("b") + " FROM bulk_action b WHERE "

// BulkByID selects a bulk action of an org.
var BulkByID = statement.Read(BulkSelect + "b.org_id = ?1 AND b.id = ?2")
