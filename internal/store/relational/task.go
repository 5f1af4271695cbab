package relational

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// tasks declares the rows of the table of tasks. Some columns repeat values of the options, for the
// statements of picks and limits.
var tasks = newRows("task_execution", 2, []field[perdure.Task]{
	idField("agent_execution_id", func(t *perdure.Task) *uuid.UUID { return &t.ExecutionID }),
	idField("id", func(t *perdure.Task) *uuid.UUID { return &t.ID }),
	textField("org_id", func(t *perdure.Task) *string { return &t.Org }),
	textField("kind", func(t *perdure.Task) *string { return &t.Kind }),
	textField("status", func(t *perdure.Task) *perdure.TaskStatus { return &t.Status }),
	textField("queue", func(t *perdure.Task) *string { return &t.Queue }),
	textField("task_key", func(t *perdure.Task) *string { return &t.Key }),
	hashField("input_hash", func(t *perdure.Task) *perdure.Hash { return &t.InputHash }),
	jsonField("options", func(t *perdure.Task) *perdure.TaskOptions { return &t.Options }, nil),
	derivedField("priority", func(t *perdure.Task) any { return int64(*t.Options.Normal("").Priority) }),
	numberField("attempt", func(t *perdure.Task) *int { return &t.Attempt }),
	numberField("max_attempts", func(t *perdure.Task) *int { return &t.MaxAttempts }),
	jsonField("error", func(t *perdure.Task) **perdure.TaskError { return &t.Error }, isNil),
	rawBytesField("progress", func(t *perdure.Task) *json.RawMessage { return &t.Progress }),
	optIDField("worker_id", func(t *perdure.Task) **uuid.UUID { return &t.WorkerID }),
	zeroIDField("claim_id", func(t *perdure.Task) *uuid.UUID { return &t.ClaimID }),
	timeField("lease_until", func(t *perdure.Task) *perdure.Time { return &t.LeaseUntil }),
	flagField("embedded", func(t *perdure.Task) *bool { return &t.Embedded }),
	timeField("not_before", func(t *perdure.Task) *perdure.Time { return &t.NotBefore }),
	numberField("uncounted", func(t *perdure.Task) *int { return &t.Uncounted }),
	numberField("lost", func(t *perdure.Task) *int { return &t.Lost }),
	timeField("attempt_at", func(t *perdure.Task) *perdure.Time { return &t.AttemptAt }),
	timeField("sign_at", func(t *perdure.Task) *perdure.Time { return &t.SignAt }),
	derivedField("attempt_due", attemptDue),
	derivedField("concurrency_key", func(t *perdure.Task) any { return optText(t.Options.ConcurrencyKey) }),
	derivedField("concurrency_limit", concurrencyLimit),
	derivedField("deadline_at", deadline),
	flagField("step", func(t *perdure.Task) *bool { return &t.Step }),
	optTextField("response_id", func(t *perdure.Task) *string { return &t.Place.ResponseID }),
	optTextField("turn_id", func(t *perdure.Task) *string { return &t.Place.TurnID }),
	optTextField("message_id", func(t *perdure.Task) *string { return &t.Place.MessageID }),
	optTextField("tool_call_id", func(t *perdure.Task) *string { return &t.Place.ToolCallID }),
	timeField("created_at", func(t *perdure.Task) *perdure.Time { return &t.CreatedAt }),
	optTimeField("started_at", func(t *perdure.Task) **perdure.Time { return &t.StartedAt }),
	optTimeField("completed_at", func(t *perdure.Task) **perdure.Time { return &t.CompletedAt }),
	blobField("input_blob", func(t *perdure.Task) **perdure.BlobRef { return &t.InputBlob }),
	blobField("result_blob", func(t *perdure.Task) **perdure.BlobRef { return &t.ResultBlob }),
}, "input", "result").written([]string{"lease_until"}, taskMoves, append(slices.Clone(taskMoves), "result"))

// attemptDue returns the time at which the attempt must have ended; NULL if there is no limit.
func attemptDue(t *perdure.Task) any {
	if due, ok := t.AttemptDue(); ok {
		return millis(due)
	}
	return nil
}

// concurrencyLimit returns the limit of the task's concurrency key, or its default.
func concurrencyLimit(t *perdure.Task) any {
	options := t.Options
	options.Priority = &anyPriority // Normal would allocate one
	return int64(options.Normal("").ConcurrencyLimit)
}

var anyPriority int

// deadline returns the time at which the task must have ended; NULL if there is no limit.
func deadline(t *perdure.Task) any {
	if t.Options.ScheduleToClose <= 0 {
		return nil
	}
	return millis(t.CreatedAt.Add(t.Options.ScheduleToClose))
}

// taskMoves are columns that change together, with a claim or with the end of one.
var taskMoves = []string{
	"status", "attempt", "error", "progress", "worker_id", "claim_id", "lease_until", "embedded", "not_before",
	"uncounted", "lost", "attempt_at", "sign_at", "attempt_due", "started_at", "completed_at",
}

// taskRow is a task as it is stored, without contents. values are the values of its columns, if
// this transaction wrote it. Both are immutable.
type taskRow struct {
	*perdure.Task
	values []any
}

// rowOf returns a task's row; nil for nil.
func rowOf(t *perdure.Task) *taskRow {
	if t == nil {
		return nil
	}
	return &taskRow{Task: t}
}

// task returns the row's task; nil for nil.
func (r *taskRow) task() *perdure.Task {
	if r == nil {
		return nil
	}
	return r.Task
}

// columns returns the values of the row's columns, without contents.
func (r *taskRow) columns() ([]any, error) {
	if r.values != nil {
		return r.values, nil
	}
	return taskValues(r.Task, nil)
}

var taskOptions = slices.Index(tasks.columns, "options")

// optionsText returns the stored form of a task's options. It is taken from the previous row if
// possible, because options hardly ever change.
func optionsText(t *perdure.Task, before *taskRow) (any, error) {
	if before != nil && before.values != nil && sameOptions(before.Options, t.Options) {
		return before.values[taskOptions], nil
	}
	return encode(t.Options)
}

func sameOptions(a, b perdure.TaskOptions) bool {
	p, q := a.Priority, b.Priority
	a.Priority, b.Priority = nil, nil
	return a == b && (p == q || p != nil && q != nil && *p == *q)
}

// taskValues returns the column values of the row, without contents, but with room for them at the
// end. before is the row that it replaces, or nil.
func taskValues(t *perdure.Task, before *taskRow) ([]any, error) {
	options, err := optionsText(t, before)
	if err != nil {
		return nil, err
	}
	return tasks.valuesWith(t, taskOptions, options)
}

// loadTasks reads tasks by a query. The query selects the task's columns, then with withContents
// the input, the result and the entry that the result refers to, then the columns of more.
// References to blobs are loaded, but not the blobs.
func loadTasks(v view, query *Statement, args []any, withContents bool, more ...func() any) ([]*perdure.Task, error) {
	var (
		found []*perdure.Task
		refs  []func(view) error
	)
	err := v.each(query, args, func(row func(...any) error) error {
		var (
			t        perdure.Task
			resultOf []byte
		)
		dest := tasks.scan(nil, &t)
		if withContents {
			dest = append(dest, rawInto(&t.Input), rawInto(&t.Result), &resultOf)
		}
		for _, dst := range more {
			dest = append(dest, dst())
		}
		err := row(dest...)
		found = append(found, &t)
		refs = append(refs, completeRefs(t.ExecutionID, t.InputBlob, t.ResultBlob)...)
		if resultOf != nil {
			refs = append(refs, func(v view) (err error) {
				t.Result, err = compose(v, t.ExecutionID, resultOf)
				return err
			})
		}
		return err
	})
	if err != nil || len(refs) == 0 {
		return found, err
	}
	return found, v.together(refs...)
}

var (
	taskByID   = read("SELECT " + tasks.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")
	taskWhole  = read("SELECT " + tasks.list("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")
	tasksOpen  = read("SELECT " + tasks.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status IN ('PENDING', 'RUNNING') ORDER BY t.number")
	tasksHeld  = read("SELECT " + tasks.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status = 'RUNNING' ORDER BY t.number")
	tasksAfter = read("SELECT " + tasks.list("t") + ", t.input, t.result, t.result_of, t.number FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.number > ?2 AND t.number > 0 AND (?3 = 1 OR t.step = 0) ORDER BY t.number LIMIT ?4")
)

func tasksAmong(w *Dialect) *Statement {
	return Alone("SELECT " + tasks.list("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.id " + w.AmongIDs)
}

// loadTaskPage reads tasks with their numbers, oldest first.
func loadTaskPage(v view, execution uuid.UUID, steps bool, after int64, limit int) (found []*perdure.Task, numbers []int64, err error) {
	found, err = loadTasks(v, tasksAfter, []any{execution[:], after, flag(steps), limit}, true, func() any {
		numbers = append(numbers, 0)
		return &numbers[len(numbers)-1]
	})
	return found, numbers, err
}

// loadTask reads one task without its contents; nil if there is none.
func loadTask(v view, execution, id uuid.UUID) (*perdure.Task, error) {
	found, err := loadTasks(v, taskByID, []any{execution[:], id[:]}, false)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func cloneTask(t *perdure.Task) *perdure.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Error, c.WorkerID = clonePtr(t.Error), clonePtr(t.WorkerID)
	c.StartedAt, c.CompletedAt = clonePtr(t.StartedAt), clonePtr(t.CompletedAt)
	c.Options.Priority = clonePtr(t.Options.Priority)
	c.InputBlob, c.ResultBlob = clonePtr(t.InputBlob), clonePtr(t.ResultBlob)
	return &c
}

// putTask inserts the row, or updates an existing one. It returns the row as it is stored now,
// without contents.
func putTask(v view, before *taskRow, t *perdure.Task, now perdure.Time) (*taskRow, error) {
	after := cloneTask(t)
	after.Input, after.Result = nil, nil
	input, result := planContent(t.Input, t.InputBlob), planContent(t.Result, t.ResultBlob)
	if before != nil {
		input = replaceContent(t.Input, t.InputBlob, before.InputBlob)
		result = replaceContent(t.Result, t.ResultBlob, before.ResultBlob)
	}
	after.InputBlob, after.ResultBlob = input.ref, result.ref
	values, err := taskValues(after, before)
	if err != nil {
		return nil, err
	}
	whole := append(values, input.column(), result.column())
	if before == nil {
		err = tasks.insert(v, whole)
	} else {
		var old []any
		if old, err = before.columns(); err == nil {
			err = tasks.update(v, old, whole)
		}
		// Only the result of an ended task can be stored elsewhere.
		if err == nil && !result.kept && before.Status.Terminal() {
			err = v.write(unnameResult, t.ExecutionID[:], t.ID[:])
		}
	}
	if err != nil {
		return nil, err
	}
	if err := makeRoom(v, before.task(), after); err != nil {
		return nil, err
	}
	return &taskRow{after, values}, spill(v, t.ExecutionID, now, input, result)
}
