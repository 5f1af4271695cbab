// Package load declares the rows of the tables and reads them. Decisions and readers use the same
// functions.
package load

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// ExecutionRows declares the rows of the table of executions. They have no column for
// Execution.MaxSeq, which is stored in the log's head.
var ExecutionRows = row.New("agent_execution", 1, []row.Field[perdure.Execution]{
	row.ID("id", func(x *perdure.Execution) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.Execution) *string { return &x.Org }),
	row.OptID("agent_definition_id", func(x *perdure.Execution) **uuid.UUID { return &x.DefinitionID }),
	row.Text("kind", func(x *perdure.Execution) *string { return &x.Kind }),
	row.Text("persistence_mode", func(x *perdure.Execution) *perdure.PersistenceMode { return &x.PersistenceMode }),
	row.Text("status", func(x *perdure.Execution) *perdure.Status { return &x.Status }),
	row.OptText("wait_reason", func(x *perdure.Execution) *string { return &x.WaitReason }),
	row.JSON("wait", func(x *perdure.Execution) **perdure.Wait { return &x.Wait }, row.IsNil),
	row.NilText("error", func(x *perdure.Execution) **string { return &x.Error }),
	row.NilText("error_code", func(x *perdure.Execution) **perdure.Code { return &x.ErrorCode }),
	row.Text("queue", func(x *perdure.Execution) *string { return &x.Queue }),
	row.OptText("workspace", func(x *perdure.Execution) *string { return &x.Workspace }),
	row.Number("current_checkpoint_seq", func(x *perdure.Execution) *int64 { return &x.CheckpointSeq }),
	row.OptID("worker_id", func(x *perdure.Execution) **uuid.UUID { return &x.WorkerID }),
	row.OptText("traceparent", func(x *perdure.Execution) *string { return &x.Traceparent }),
	row.RawText("metadata", func(x *perdure.Execution) *json.RawMessage { return &x.Metadata }),
	row.Time("created_at", func(x *perdure.Execution) *perdure.Time { return &x.CreatedAt }),
	row.Time("updated_at", func(x *perdure.Execution) *perdure.Time { return &x.UpdatedAt }),
	row.OptTime("started_at", func(x *perdure.Execution) **perdure.Time { return &x.StartedAt }),
	row.OptTime("completed_at", func(x *perdure.Execution) **perdure.Time { return &x.CompletedAt }),
	row.Number("version", func(x *perdure.Execution) *int64 { return &x.Version }),
	row.OptID("leaf_entry_id", func(x *perdure.Execution) **uuid.UUID { return &x.Leaf }),
	row.Number("entry_count", func(x *perdure.Execution) *int64 { return &x.EntryCount }),
	row.Number("records_since_checkpoint", func(x *perdure.Execution) *int64 { return &x.RecordsSinceCheckpoint }),
	row.OptText("response_id", func(x *perdure.Execution) *string { return &x.ResponseID }),
	row.Number("fence", func(x *perdure.Execution) *int64 { return &x.Fence }),
	row.ZeroID("claim_id", func(x *perdure.Execution) *uuid.UUID { return &x.ClaimID }),
	row.Time("lease_until", func(x *perdure.Execution) *perdure.Time { return &x.LeaseUntil }),
	row.Flag("embedded", func(x *perdure.Execution) *bool { return &x.Embedded }),
	row.Number("last_commit_fence", func(x *perdure.Execution) *int64 { return &x.LastCommit.Fence }),
	row.Number("last_commit_number", func(x *perdure.Execution) *int64 { return &x.LastCommit.Number }),
	row.RawBytes("answer", func(x *perdure.Execution) *json.RawMessage { return &x.Answer }),
	row.Time("ready_at", func(x *perdure.Execution) *perdure.Time { return &x.ReadyAt }),
	row.Time("not_before", func(x *perdure.Execution) *perdure.Time { return &x.NotBefore }),
	row.OptText("woke", func(x *perdure.Execution) *perdure.WakeReason { return &x.WakeReason }),
	row.Number("crashes", func(x *perdure.Execution) *int { return &x.Crashes }),
	row.Number("panics", func(x *perdure.Execution) *int { return &x.Panics }),
	row.Time("cancel_by", func(x *perdure.Execution) *perdure.Time { return &x.CancelBy }),
	row.Number("next_signal", func(x *perdure.Execution) *int64 { return &x.NextSignal }),
	row.Time("checkpoint_at", func(x *perdure.Execution) *perdure.Time { return &x.CheckpointAt }),
	row.JSON("asked", func(x *perdure.Execution) *perdure.RecordedWaits { return &x.RecordedWaits },
		func(a *perdure.RecordedWaits) bool { return len(a.Dues) == 0 && len(a.Outcomes) == 0 }),
	row.OptID("home_worker_id", func(x *perdure.Execution) **uuid.UUID { return &x.HomeID }),
	row.Number("unfit", func(x *perdure.Execution) *int { return &x.Unfit }),
	row.OptID("key_id", func(x *perdure.Execution) **uuid.UUID { return &x.KeyID }),
	row.Number("needs_features", func(x *perdure.Execution) *int64 { return (*int64)(&x.NeedsFeatures) }),
	row.Number("open_questions", func(x *perdure.Execution) *int { return &x.OpenQuestions }),
	row.JSON("gate", func(x *perdure.Execution) **perdure.Gate { return &x.Gate }, row.IsNil),
	row.JSON("askers", func(x *perdure.Execution) *[]uuid.UUID { return &x.Askers }, func(ids *[]uuid.UUID) bool { return *ids == nil }),
	row.Blob("input_blob", func(x *perdure.Execution) **perdure.BlobRef { return &x.InputBlob }),
	row.Blob("output_blob", func(x *perdure.Execution) **perdure.BlobRef { return &x.OutputBlob }),
}, "input", "output").Written(
	[]string{"lease_until"}, executionGoesOn,
	slices.Concat(executionMoves, []string{"updated_at", "version", "response_id", "askers"}),
	slices.Concat(executionMoves, executionGoesOn),
)

var (
	// executionGoesOn lists columns that usually change together, when a commit does not end the
	// claim of the execution.
	executionGoesOn = []string{
		"updated_at", "version", "last_commit_fence", "last_commit_number", "answer",
		"current_checkpoint_seq", "checkpoint_at", "leaf_entry_id", "entry_count", "records_since_checkpoint", "response_id", "asked", "askers",
	}
	// executionMoves lists columns that usually change together, when a worker claims or releases
	// the execution.
	executionMoves = []string{
		"status", "wait_reason", "wait", "worker_id", "fence", "claim_id", "lease_until", "embedded", "started_at",
		"ready_at", "not_before", "woke", "crashes", "panics", "cancel_by", "unfit", "next_signal",
	}
)

const (
	// ExecutionHead is the list of the columns of an execution's log head.
	ExecutionHead = ", " + log.HeadColumns + ", h.epoch IS NOT NULL"
	// ExecutionFrom is the FROM clause of a query for executions with their log heads.
	ExecutionFrom = " FROM agent_execution x LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE " + Hidden
)

// ExecutionRow is the stored row of an execution, with the head of its log.
type ExecutionRow struct {
	Row     *perdure.Execution // nil if there is no such execution
	Head    store.Head
	HasHead bool
	Values  []any // column values of Row; only set if this transaction has written the row
}

// Executions reads the rows that a query selects. If withContents is set, it also reads their
// contents.
func Executions(v statement.View, query *statement.Statement, arg any, withContents bool) ([]ExecutionRow, error) {
	var (
		all  []ExecutionRow
		refs []func(statement.View) error
	)
	err := v.Each(query, []any{arg}, func(row func(...any) error) error {
		var (
			l ExecutionRow
			x perdure.Execution
		)
		dest := append(append(ExecutionRows.Scan(nil, &x), log.HeadInto(&l.Head)...), column.FlagInto(&l.HasHead))
		if withContents {
			dest = append(dest, column.RawInto(&x.Input), column.RawInto(&x.Output))
		}
		err := row(dest...)
		x.MaxSeq, l.Row = l.Head.LastSeq, &x
		all = append(all, l)
		refs = append(refs, contents.CompleteRefs(x.ID, x.InputBlob, x.OutputBlob)...)
		return err
	})
	if err != nil || len(refs) == 0 {
		return all, err
	}
	return all, v.Together(refs...)
}

// Hidden is an SQL condition on an execution x. It holds unless the execution is being deleted.
const Hidden = "NOT EXISTS (SELECT 1 FROM pruning gone WHERE gone.agent_execution_id = x.id AND gone.whole = 1)"
