package relational

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

var taskTable = table{name: "task_execution", key: 2, contents: 2, columns: []string{
	"agent_execution_id", "id", "org_id", "kind", "status", "queue", "task_key", "input_hash", "options", "priority",
	"attempt", "max_attempts", "error", "progress", "worker_id", "claim_id", "lease_until", "embedded", "not_before",
	"uncounted", "lost", "attempt_at", "sign_at", "attempt_due", "concurrency_key", "concurrency_limit",
	"deadline_at", "step", "response_id", "turn_id", "message_id", "tool_call_id",
	"created_at", "started_at", "completed_at", "input_blob", "result_blob", "input", "result",
}}.written([]string{"lease_until"}, taskMoves, append(slices.Clone(taskMoves), "result"))

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

var taskOptions = slices.Index(taskTable.columns, "options")

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
	normal := t.Options.Normal("")
	var failure, deadline, attemptDue any
	if t.Error != nil {
		if failure, err = encode(t.Error); err != nil {
			return nil, err
		}
	}
	if t.Options.ScheduleToClose > 0 {
		deadline = millis(t.CreatedAt.Add(t.Options.ScheduleToClose))
	}
	if due, ok := t.AttemptDue(); ok {
		attemptDue = millis(due)
	}
	values := [...]any{
		t.ExecutionID[:], t.ID[:], t.Org, t.Kind, string(t.Status), t.Queue, t.Key, t.InputHash[:], options, int64(*normal.Priority),
		int64(t.Attempt), int64(t.MaxAttempts), failure, rawBytes(t.Progress), optID(t.WorkerID), idOrNull(t.ClaimID),
		millis(t.LeaseUntil), flag(t.Embedded), millis(t.NotBefore),
		int64(t.Uncounted), int64(t.Lost), millis(t.AttemptAt), millis(t.SignAt), attemptDue,
		optText(t.Options.ConcurrencyKey), int64(normal.ConcurrencyLimit),
		deadline, flag(t.Step), optText(t.Place.ResponseID), optText(t.Place.TurnID), optText(t.Place.MessageID), optText(t.Place.ToolCallID),
		millis(t.CreatedAt), optMillis(t.StartedAt), optMillis(t.CompletedAt), refID(t.InputBlob), refID(t.ResultBlob),
		nil, nil,
	}
	return values[:len(values)-taskTable.contents], nil
}

// taskScan returns the destinations for the columns of taskValues, in the same order.
func taskScan(t *perdure.Task, input, result **uuid.UUID) []any {
	var derived any // derived from the other columns
	return []any{
		&t.ExecutionID, &t.ID, &t.Org, &t.Kind,
		text[perdure.TaskStatus]{&t.Status},
		&t.Queue, &t.Key, (*hashCol)(&t.InputHash),
		decoded{&t.Options},
		&derived,
		&t.Attempt, &t.MaxAttempts,
		decoded{&t.Error},
		raw{&t.Progress},
		optUUID{&t.WorkerID},
		&t.ClaimID,
		(*timeCol)(&t.LeaseUntil), (*flagCol)(&t.Embedded), (*timeCol)(&t.NotBefore),
		&t.Uncounted, &t.Lost, (*timeCol)(&t.AttemptAt), (*timeCol)(&t.SignAt), &derived, &derived, &derived,
		&derived, (*flagCol)(&t.Step),
		text[string]{&t.Place.ResponseID},
		text[string]{&t.Place.TurnID},
		text[string]{&t.Place.MessageID},
		text[string]{&t.Place.ToolCallID},
		(*timeCol)(&t.CreatedAt),
		optTime{&t.StartedAt},
		optTime{&t.CompletedAt},
		optUUID{input},
		optUUID{result},
	}
}

// loadTasks reads tasks by a query. The query selects the task's columns, then with withContents
// the input, the result and the entry that the result refers to, then the columns of more.
// References to blobs are loaded, but not the blobs.
func loadTasks(v view, query string, args []any, withContents bool, more ...func() any) ([]*perdure.Task, error) {
	var (
		tasks []*perdure.Task
		refs  []func(view) error
	)
	err := v.each(query, args, func(row func(...any) error) error {
		var (
			t             perdure.Task
			input, result *uuid.UUID
			resultOf      []byte
		)
		dest := taskScan(&t, &input, &result)
		if withContents {
			dest = append(dest, raw{&t.Input}, raw{&t.Result}, &resultOf)
		}
		for _, dst := range more {
			dest = append(dest, dst())
		}
		err := row(dest...)
		tasks = append(tasks, &t)
		refs = append(refs, refInto(t.ExecutionID, input, &t.InputBlob)...)
		refs = append(refs, refInto(t.ExecutionID, result, &t.ResultBlob)...)
		if resultOf != nil {
			refs = append(refs, func(v view) (err error) {
				t.Result, err = compose(v, t.ExecutionID, resultOf)
				return err
			})
		}
		return err
	})
	if err != nil || len(refs) == 0 {
		return tasks, err
	}
	return tasks, v.together(refs...)
}

var (
	taskByID   = "SELECT " + taskTable.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?"
	taskWhole  = "SELECT " + taskTable.list("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?"
	tasksAmong = "SELECT " + taskTable.list("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.id "
	tasksOpen  = "SELECT " + taskTable.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status IN ('PENDING', 'RUNNING') ORDER BY t.number"
	tasksHeld  = "SELECT " + taskTable.list("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status = 'RUNNING' ORDER BY t.number"
	tasksAfter = "SELECT " + taskTable.list("t") + ", t.input, t.result, t.result_of, t.number FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.number > ?2 AND t.number > 0 AND (?3 = 1 OR t.step = 0) ORDER BY t.number LIMIT ?4"
)

// loadTaskPage reads tasks with their numbers, oldest first.
func loadTaskPage(v view, execution uuid.UUID, steps bool, after int64, limit int) (tasks []*perdure.Task, numbers []int64, err error) {
	tasks, err = loadTasks(v, tasksAfter, []any{execution[:], after, flag(steps), limit}, true, func() any {
		numbers = append(numbers, 0)
		return &numbers[len(numbers)-1]
	})
	return tasks, numbers, err
}

// loadTask reads one task without its contents; nil if there is none.
func loadTask(v view, execution, id uuid.UUID) (*perdure.Task, error) {
	tasks, err := loadTasks(v, taskByID, []any{execution[:], id[:]}, false)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	return tasks[0], nil
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
		err = taskTable.insert(v, whole)
	} else {
		var old []any
		if old, err = before.columns(); err == nil {
			err = taskTable.update(v, old, whole)
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
