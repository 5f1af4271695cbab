package relational

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// executions declares the rows of the table of executions. Execution.MaxSeq is not among their
// fields, because it is stored in the log's head.
var executions = newRows("agent_execution", 1, []field[perdure.Execution]{
	idField("id", func(x *perdure.Execution) *uuid.UUID { return &x.ID }),
	textField("org_id", func(x *perdure.Execution) *string { return &x.Org }),
	optIDField("agent_definition_id", func(x *perdure.Execution) **uuid.UUID { return &x.DefinitionID }),
	textField("kind", func(x *perdure.Execution) *string { return &x.Kind }),
	textField("persistence_mode", func(x *perdure.Execution) *perdure.PersistenceMode { return &x.PersistenceMode }),
	textField("status", func(x *perdure.Execution) *perdure.Status { return &x.Status }),
	optTextField("wait_reason", func(x *perdure.Execution) *string { return &x.WaitReason }),
	jsonField("wait", func(x *perdure.Execution) **perdure.Wait { return &x.Wait }, isNil),
	nilTextField("error", func(x *perdure.Execution) **string { return &x.Error }),
	nilTextField("error_code", func(x *perdure.Execution) **perdure.Code { return &x.ErrorCode }),
	textField("queue", func(x *perdure.Execution) *string { return &x.Queue }),
	optTextField("workspace", func(x *perdure.Execution) *string { return &x.Workspace }),
	numberField("current_checkpoint_seq", func(x *perdure.Execution) *int64 { return &x.CheckpointSeq }),
	optIDField("worker_id", func(x *perdure.Execution) **uuid.UUID { return &x.WorkerID }),
	optTextField("traceparent", func(x *perdure.Execution) *string { return &x.Traceparent }),
	rawTextField("metadata", func(x *perdure.Execution) *json.RawMessage { return &x.Metadata }),
	timeField("created_at", func(x *perdure.Execution) *perdure.Time { return &x.CreatedAt }),
	timeField("updated_at", func(x *perdure.Execution) *perdure.Time { return &x.UpdatedAt }),
	optTimeField("started_at", func(x *perdure.Execution) **perdure.Time { return &x.StartedAt }),
	optTimeField("completed_at", func(x *perdure.Execution) **perdure.Time { return &x.CompletedAt }),
	numberField("version", func(x *perdure.Execution) *int64 { return &x.Version }),
	optIDField("leaf_entry_id", func(x *perdure.Execution) **uuid.UUID { return &x.Leaf }),
	numberField("entry_count", func(x *perdure.Execution) *int64 { return &x.EntryCount }),
	numberField("records_since_checkpoint", func(x *perdure.Execution) *int64 { return &x.RecordsSinceCheckpoint }),
	optTextField("response_id", func(x *perdure.Execution) *string { return &x.ResponseID }),
	numberField("fence", func(x *perdure.Execution) *int64 { return &x.Fence }),
	zeroIDField("claim_id", func(x *perdure.Execution) *uuid.UUID { return &x.ClaimID }),
	timeField("lease_until", func(x *perdure.Execution) *perdure.Time { return &x.LeaseUntil }),
	flagField("embedded", func(x *perdure.Execution) *bool { return &x.Embedded }),
	numberField("last_commit_fence", func(x *perdure.Execution) *int64 { return &x.LastCommit.Fence }),
	numberField("last_commit_number", func(x *perdure.Execution) *int64 { return &x.LastCommit.Number }),
	rawBytesField("answer", func(x *perdure.Execution) *json.RawMessage { return &x.Answer }),
	timeField("ready_at", func(x *perdure.Execution) *perdure.Time { return &x.ReadyAt }),
	timeField("not_before", func(x *perdure.Execution) *perdure.Time { return &x.NotBefore }),
	optTextField("woke", func(x *perdure.Execution) *perdure.Woke { return &x.Woke }),
	numberField("crashes", func(x *perdure.Execution) *int { return &x.Crashes }),
	numberField("panics", func(x *perdure.Execution) *int { return &x.Panics }),
	timeField("cancel_by", func(x *perdure.Execution) *perdure.Time { return &x.CancelBy }),
	numberField("next_signal", func(x *perdure.Execution) *int64 { return &x.NextSignal }),
	timeField("checkpoint_at", func(x *perdure.Execution) *perdure.Time { return &x.CheckpointAt }),
	jsonField("asked", func(x *perdure.Execution) *perdure.Asked { return &x.Asked },
		func(a *perdure.Asked) bool { return len(a.Dues) == 0 && len(a.Outcomes) == 0 }),
	optIDField("home_worker_id", func(x *perdure.Execution) **uuid.UUID { return &x.HomeID }),
	numberField("unfit", func(x *perdure.Execution) *int { return &x.Unfit }),
	optIDField("key_id", func(x *perdure.Execution) **uuid.UUID { return &x.KeyID }),
	blobField("input_blob", func(x *perdure.Execution) **perdure.BlobRef { return &x.InputBlob }),
	blobField("output_blob", func(x *perdure.Execution) **perdure.BlobRef { return &x.OutputBlob }),
}, "input", "output").written(
	[]string{"lease_until"}, executionGoesOn,
	slices.Concat(executionMoves, []string{"updated_at", "version", "response_id"}),
	slices.Concat(executionMoves, executionGoesOn),
)

var (
	// executionGoesOn are columns that change together, with a commit that continues.
	executionGoesOn = []string{
		"updated_at", "version", "last_commit_fence", "last_commit_number", "answer",
		"current_checkpoint_seq", "checkpoint_at", "leaf_entry_id", "entry_count", "records_since_checkpoint", "response_id", "asked",
	}
	// executionMoves are columns that change together, with a change of the execution's holder.
	executionMoves = []string{
		"status", "wait_reason", "wait", "worker_id", "fence", "claim_id", "lease_until", "embedded", "started_at",
		"ready_at", "not_before", "woke", "crashes", "panics", "cancel_by", "unfit", "next_signal",
	}
)

const (
	executionHead = ", coalesce(h.last_seq, 0), coalesce(h.last_pos, 0), coalesce(h.epoch, 0), " + headNonce + ", h.epoch IS NOT NULL"
	executionFrom = " FROM agent_execution x LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE " + hidden
)

var (
	executionSelect = "SELECT " + executions.list("x") + executionHead + executionFrom
	executionWhole  = read("SELECT " + executions.list("x") + executionHead + ", x.input, x.output" + executionFrom + " AND x.id = ?")
	executionByID   = read(executionSelect + " AND x.id = ?")
)

// loadedExecution is an execution's row as stored, with its log's head.
type loadedExecution struct {
	row     *perdure.Execution // nil if there is none
	head    store.Head
	hasHead bool
	values  []any // column values of row, if this transaction wrote it
}

// loadExecution reads the row of an execution without its contents.
func loadExecution(v view, id uuid.UUID) (loadedExecution, error) {
	found, err := loadExecutions(v, executionByID, id[:], false)
	if err != nil || len(found) == 0 {
		return loadedExecution{}, err
	}
	return found[0], nil
}

// loadExecutions reads rows by a query. It reads their contents if withContents is set.
func loadExecutions(v view, query *Statement, arg any, withContents bool) ([]loadedExecution, error) {
	var (
		all  []loadedExecution
		refs []func(view) error
	)
	err := v.each(query, []any{arg}, func(row func(...any) error) error {
		var (
			l loadedExecution
			x perdure.Execution
		)
		dest := append(executions.scan(nil, &x), &l.head.LastSeq, &l.head.LastPos, unsignedInto(&l.head.Epoch), nonceInto(&l.head.Nonce), flagInto(&l.hasHead))
		if withContents {
			dest = append(dest, rawInto(&x.Input), rawInto(&x.Output))
		}
		err := row(dest...)
		x.MaxSeq, l.row = l.head.LastSeq, &x
		all = append(all, l)
		refs = append(refs, completeRefs(x.ID, x.InputBlob, x.OutputBlob)...)
		return err
	})
	if err != nil || len(refs) == 0 {
		return all, err
	}
	return all, v.together(refs...)
}

// cloneExecution copies a row so deeply that a decision can change the copy. JSON bytes are shared,
// because nobody writes into them.
func cloneExecution(x *perdure.Execution) *perdure.Execution {
	if x == nil {
		return nil
	}
	c := *x
	c.Wait = cloneWait(x.Wait)
	c.DefinitionID, c.WorkerID, c.Leaf = clonePtr(x.DefinitionID), clonePtr(x.WorkerID), clonePtr(x.Leaf)
	c.HomeID, c.KeyID = clonePtr(x.HomeID), clonePtr(x.KeyID)
	c.Error, c.ErrorCode = clonePtr(x.Error), clonePtr(x.ErrorCode)
	c.StartedAt, c.CompletedAt = clonePtr(x.StartedAt), clonePtr(x.CompletedAt)
	c.InputBlob, c.OutputBlob = clonePtr(x.InputBlob), clonePtr(x.OutputBlob)
	return &c
}

func cloneWait(w *perdure.Wait) *perdure.Wait {
	if w == nil {
		return nil
	}
	c := *w
	c.Any, c.All = cloneWaits(w.Any), cloneWaits(w.All)
	c.Task, c.Timer = clonePtr(w.Task), clonePtr(w.Timer)
	return &c
}

func cloneWaits(waits []perdure.Wait) []perdure.Wait {
	c := slices.Clone(waits)
	for i := range c {
		c[i] = *cloneWait(&c[i])
	}
	return c
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// putExecution inserts the row, or updates an existing one. It returns the row as it is stored now,
// without contents, and its values.
func putExecution(v view, l loadedExecution, x *perdure.Execution, now perdure.Time) (*perdure.Execution, []any, error) {
	before := l.row
	after := cloneExecution(x)
	after.Input, after.Output = nil, nil
	input, output := planContent(x.Input, x.InputBlob), planContent(x.Output, x.OutputBlob)
	if before != nil {
		input = replaceContent(x.Input, x.InputBlob, before.InputBlob)
		output = replaceContent(x.Output, x.OutputBlob, before.OutputBlob)
	}
	after.InputBlob, after.OutputBlob = input.ref, output.ref
	values, err := executions.values(after)
	if err != nil {
		return nil, nil, err
	}
	whole := append(values, input.column(), output.column())
	if before == nil {
		if err = executions.insert(v, whole); err == nil {
			err = indexMetadata(v, after)
		}
	} else {
		old := l.values
		if old == nil {
			old, err = executions.values(before)
		}
		if err == nil {
			err = executions.update(v, old, whole)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return after, values, spill(v, x.ID, now, input, output)
}
