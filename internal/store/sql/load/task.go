package load

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// TaskRows declares the rows of the table of tasks. Some options also have a column of their own,
// which statements use to select tasks.
var TaskRows = row.New("task_execution", 2, []row.Field[perdure.Task]{
	row.ID("agent_execution_id", func(t *perdure.Task) *uuid.UUID { return &t.ExecutionID }),
	row.ID("id", func(t *perdure.Task) *uuid.UUID { return &t.ID }),
	row.Text("org_id", func(t *perdure.Task) *string { return &t.Org }),
	row.Text("kind", func(t *perdure.Task) *string { return &t.Kind }),
	row.Text("status", func(t *perdure.Task) *perdure.TaskStatus { return &t.Status }),
	row.Text("queue", func(t *perdure.Task) *string { return &t.Queue }),
	row.Text("task_key", func(t *perdure.Task) *string { return &t.Key }),
	row.Hash("input_hash", func(t *perdure.Task) *perdure.Hash { return &t.InputHash }),
	row.JSON("options", func(t *perdure.Task) *perdure.TaskOptions { return &t.Options }, nil),
	row.Derived("priority", func(t *perdure.Task) any { return int64(*t.Options.Normal("").Priority) }),
	row.Number("attempt", func(t *perdure.Task) *int { return &t.Attempt }),
	row.Number("max_attempts", func(t *perdure.Task) *int { return &t.MaxAttempts }),
	row.JSON("error", func(t *perdure.Task) **perdure.TaskError { return &t.Error }, row.IsNil),
	row.RawBytes("progress", func(t *perdure.Task) *json.RawMessage { return &t.Progress }),
	row.OptID("worker_id", func(t *perdure.Task) **uuid.UUID { return &t.WorkerID }),
	row.ZeroID("claim_id", func(t *perdure.Task) *uuid.UUID { return &t.ClaimID }),
	row.Time("lease_until", func(t *perdure.Task) *perdure.Time { return &t.LeaseUntil }),
	row.Flag("embedded", func(t *perdure.Task) *bool { return &t.Embedded }),
	row.Time("not_before", func(t *perdure.Task) *perdure.Time { return &t.NotBefore }),
	row.Number("uncounted", func(t *perdure.Task) *int { return &t.Uncounted }),
	row.Number("lost", func(t *perdure.Task) *int { return &t.Lost }),
	row.Time("attempt_at", func(t *perdure.Task) *perdure.Time { return &t.AttemptAt }),
	row.Time("sign_at", func(t *perdure.Task) *perdure.Time { return &t.SignAt }),
	row.Derived("attempt_due", attemptDue),
	row.Derived("concurrency_key", func(t *perdure.Task) any { return column.OptText(t.Options.ConcurrencyKey) }),
	row.Derived("concurrency_limit", concurrencyLimit),
	row.Derived("deadline_at", deadline),
	row.Flag("step", func(t *perdure.Task) *bool { return &t.Step }),
	row.OptText("response_id", func(t *perdure.Task) *string { return &t.Place.ResponseID }),
	row.OptText("turn_id", func(t *perdure.Task) *string { return &t.Place.TurnID }),
	row.OptText("message_id", func(t *perdure.Task) *string { return &t.Place.MessageID }),
	row.OptText("tool_call_id", func(t *perdure.Task) *string { return &t.Place.ToolCallID }),
	row.Time("created_at", func(t *perdure.Task) *perdure.Time { return &t.CreatedAt }),
	row.OptTime("started_at", func(t *perdure.Task) **perdure.Time { return &t.StartedAt }),
	row.OptTime("completed_at", func(t *perdure.Task) **perdure.Time { return &t.CompletedAt }),
	row.Number("needs_features", func(t *perdure.Task) *int64 { return (*int64)(&t.NeedsFeatures) }),
	row.Blob("input_blob", func(t *perdure.Task) **perdure.BlobRef { return &t.InputBlob }),
	row.Blob("result_blob", func(t *perdure.Task) **perdure.BlobRef { return &t.ResultBlob }),
}, "input", "result").Written([]string{"lease_until"}, taskMoves, append(slices.Clone(taskMoves), "result"))

// attemptDue returns the column value for the time at which the attempt must have ended; NULL if
// there is no limit.
func attemptDue(t *perdure.Task) any {
	if due, ok := t.AttemptDue(); ok {
		return column.Millis(due)
	}
	return nil
}

// concurrencyLimit returns the column value for the limit of the task's concurrency key: that of
// the task's options, or the default limit.
func concurrencyLimit(t *perdure.Task) any {
	options := t.Options
	options.Priority = &anyPriority // otherwise Normal would allocate a priority
	return int64(options.Normal("").ConcurrencyLimit)
}

var anyPriority int

// deadline returns the column value for the time at which the task must have ended; NULL if there is
// no limit.
func deadline(t *perdure.Task) any {
	if t.Options.ScheduleToClose <= 0 {
		return nil
	}
	return column.Millis(t.CreatedAt.Add(t.Options.ScheduleToClose))
}

// taskMoves lists columns that usually change together, when a worker claims the task or when the
// attempt ends.
var taskMoves = []string{
	"status", "attempt", "error", "progress", "worker_id", "claim_id", "lease_until", "embedded", "not_before",
	"uncounted", "lost", "attempt_at", "sign_at", "attempt_due", "started_at", "completed_at",
}

// TaskRow is the row of a task, without contents. If the transaction that uses the TaskRow has
// written the row, Values contains its column values. Task and Values must not be changed.
type TaskRow struct {
	*perdure.Task
	Values []any
}

// RowOf returns the row of a task; nil for a nil task.
func RowOf(t *perdure.Task) *TaskRow {
	if t == nil {
		return nil
	}
	return &TaskRow{Task: t}
}

// OrNil returns the row's task; nil for a nil row.
func (r *TaskRow) OrNil() *perdure.Task {
	if r == nil {
		return nil
	}
	return r.Task
}

// Columns returns the values of the row's columns, without contents.
func (r *TaskRow) Columns() ([]any, error) {
	if r.Values != nil {
		return r.Values, nil
	}
	return TaskValues(r.Task, nil)
}

var taskOptions = slices.Index(TaskRows.Columns, "options")

// optionsText returns the column value for a task's options. If the options equal those of
// `before`, as they nearly always do, it returns the value in that row without encoding the options
// again.
func optionsText(t *perdure.Task, before *TaskRow) (any, error) {
	if before != nil && before.Values != nil && sameOptions(before.Options, t.Options) {
		return before.Values[taskOptions], nil
	}
	return column.Encode(t.Options)
}

func sameOptions(a, b perdure.TaskOptions) bool {
	p, q := a.Priority, b.Priority
	a.Priority, b.Priority = nil, nil
	return a == b && (p == q || p != nil && q != nil && *p == *q)
}

// TaskValues returns the column values of a task, without contents; the slice has capacity for the
// contents. The parameter `before` is the row that is replaced, or nil.
func TaskValues(t *perdure.Task, before *TaskRow) ([]any, error) {
	options, err := optionsText(t, before)
	if err != nil {
		return nil, err
	}
	return TaskRows.ValuesWith(t, taskOptions, options)
}

// Tasks reads the tasks that a query selects, without the contents of blobs. The rows of the query
// begin with the columns of TaskRows. If withContents is set, three columns follow: the input, the
// result, and the entry to which the result refers. For the columns after these, Tasks calls each
// function in `more` once for each row, to get the destination.
func Tasks(v statement.View, query *statement.Statement, args []any, withContents bool, more ...func() any) ([]*perdure.Task, error) {
	var (
		found []*perdure.Task
		refs  []func(statement.View) error
	)
	err := v.Each(query, args, func(row func(...any) error) error {
		var (
			t        perdure.Task
			resultOf []byte
		)
		dest := TaskRows.Scan(nil, &t)
		if withContents {
			dest = append(dest, column.RawInto(&t.Input), column.RawInto(&t.Result), &resultOf)
		}
		for _, dst := range more {
			dest = append(dest, dst())
		}
		err := row(dest...)
		found = append(found, &t)
		refs = append(refs, contents.CompleteRefs(t.ExecutionID, t.InputBlob, t.ResultBlob)...)
		if resultOf != nil {
			refs = append(refs, func(v statement.View) (err error) {
				t.Result, err = contents.Compose(v, t.ExecutionID, resultOf)
				return err
			})
		}
		return err
	})
	if err != nil || len(refs) == 0 {
		return found, err
	}
	return found, v.Together(refs...)
}
