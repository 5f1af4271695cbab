package relational

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var executionTable = table{name: "agent_execution", key: 1, contents: 2, columns: []string{
	"id", "org_id", "agent_definition_id", "kind", "persistence_mode", "status", "wait_reason", "wait",
	"error", "error_code", "queue", "workspace", "current_checkpoint_seq", "worker_id", "traceparent", "metadata",
	"created_at", "updated_at", "started_at", "completed_at", "version", "leaf_entry_id", "entry_count", "records_since_checkpoint", "response_id",
	"fence", "claim_id", "lease_until", "embedded", "last_commit_fence", "last_commit_number", "answer",
	"ready_at", "not_before", "woke", "crashes", "panics", "cancel_by", "next_signal", "checkpoint_at", "asked", "home_worker_id", "unfit", "key_id",
	"input_blob", "output_blob", "input", "output",
}}.written(
	[]string{"lease_until"}, executionGoesOn,
	slices.Concat(executionMoves, []string{"updated_at", "version", "response_id"}),
	slices.Concat(executionMoves, executionGoesOn),
)

// Groups of columns that change together: with a commit that continues, and with a change of the
// execution's holder.
var (
	executionGoesOn = []string{
		"updated_at", "version", "last_commit_fence", "last_commit_number", "answer",
		"current_checkpoint_seq", "checkpoint_at", "leaf_entry_id", "entry_count", "records_since_checkpoint", "response_id", "asked",
	}
	executionMoves = []string{
		"status", "wait_reason", "wait", "worker_id", "fence", "claim_id", "lease_until", "embedded", "started_at",
		"ready_at", "not_before", "woke", "crashes", "panics", "cancel_by", "unfit", "next_signal",
	}
)

// executionValues returns the column values of the row, without contents, but with room for them at
// the end. MaxSeq is not among them, because it belongs to the log's head.
func executionValues(x *perdure.Execution) ([]any, error) {
	var wait any
	if x.Wait != nil {
		encoded, err := encode(x.Wait)
		if err != nil {
			return nil, err
		}
		wait = encoded
	}
	var asked any
	if len(x.Asked.Dues) > 0 || len(x.Asked.Outcomes) > 0 {
		encoded, err := encode(x.Asked)
		if err != nil {
			return nil, err
		}
		asked = encoded
	}
	values := [...]any{
		x.ID[:], x.Org, optID(x.DefinitionID), x.Kind, string(x.PersistenceMode), string(x.Status), optText(x.WaitReason), wait,
		textOf(x.Error), textOf(x.ErrorCode), x.Queue, optText(x.Workspace), x.CheckpointSeq, optID(x.WorkerID),
		optText(x.Traceparent), rawText(x.Metadata),
		millis(x.CreatedAt), millis(x.UpdatedAt), optMillis(x.StartedAt), optMillis(x.CompletedAt), x.Version,
		optID(x.Leaf), x.EntryCount, x.RecordsSinceCheckpoint, optText(x.ResponseID),
		x.Fence, idOrNull(x.ClaimID), millis(x.LeaseUntil), flag(x.Embedded), x.LastCommit.Fence, x.LastCommit.Number, rawBytes(x.Answer),
		millis(x.ReadyAt), millis(x.NotBefore), optText(x.Woke), int64(x.Crashes), int64(x.Panics), millis(x.CancelBy), x.NextSignal, millis(x.CheckpointAt), asked,
		optID(x.HomeID), int64(x.Unfit), optID(x.KeyID),
		refID(x.InputBlob), refID(x.OutputBlob),
		nil, nil,
	}
	return values[:len(values)-executionTable.contents], nil
}

// executionScan returns the destinations for the columns of executionValues, in the same order. The
// ids of blobs go to input and output.
func executionScan(x *perdure.Execution, input, output **uuid.UUID) []any {
	return []any{
		&x.ID, &x.Org,
		optUUID{&x.DefinitionID},
		&x.Kind,
		text[perdure.PersistenceMode]{&x.PersistenceMode},
		text[perdure.Status]{&x.Status},
		text[string]{&x.WaitReason},
		decoded{&x.Wait},
		optString[string]{&x.Error},
		optString[perdure.Code]{&x.ErrorCode},
		&x.Queue,
		text[string]{&x.Workspace},
		&x.CheckpointSeq,
		optUUID{&x.WorkerID},
		text[string]{&x.Traceparent},
		raw{&x.Metadata},
		(*timeCol)(&x.CreatedAt), (*timeCol)(&x.UpdatedAt),
		optTime{&x.StartedAt},
		optTime{&x.CompletedAt},
		&x.Version,
		optUUID{&x.Leaf},
		&x.EntryCount, &x.RecordsSinceCheckpoint,
		text[string]{&x.ResponseID},
		&x.Fence, &x.ClaimID, (*timeCol)(&x.LeaseUntil), (*flagCol)(&x.Embedded), &x.LastCommit.Fence, &x.LastCommit.Number,
		raw{&x.Answer},
		(*timeCol)(&x.ReadyAt), (*timeCol)(&x.NotBefore),
		text[perdure.Woke]{&x.Woke},
		&x.Crashes, &x.Panics, (*timeCol)(&x.CancelBy), &x.NextSignal, (*timeCol)(&x.CheckpointAt),
		decoded{&x.Asked},
		optUUID{&x.HomeID},
		&x.Unfit,
		optUUID{&x.KeyID},
		optUUID{input},
		optUUID{output},
	}
}

const (
	executionHead = ", coalesce(h.last_seq, 0), coalesce(h.last_pos, 0), coalesce(h.epoch, 0), " + headNonce + ", h.epoch IS NOT NULL"
	executionFrom = " FROM agent_execution x LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE " + hidden
)

var (
	executionSelect = "SELECT " + executionTable.list("x") + executionHead + executionFrom
	executionWhole  = "SELECT " + executionTable.list("x") + executionHead + ", x.input, x.output" + executionFrom + " AND x.id = ?"
	executionByID   = executionSelect + " AND x.id = ?"
)

// loadedExecution is an execution's row as stored, with its log's head.
type loadedExecution struct {
	row     *perdure.Execution // nil if there is none
	head    store.Head
	hasHead bool
	values  []any // of row, if this transaction wrote it
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
func loadExecutions(v view, query string, arg any, withContents bool) ([]loadedExecution, error) {
	var (
		all  []loadedExecution
		refs []func(view) error
	)
	err := v.each(query, []any{arg}, func(row func(...any) error) error {
		var (
			l             loadedExecution
			x             perdure.Execution
			input, output *uuid.UUID
		)
		dest := append(executionScan(&x, &input, &output), &l.head.LastSeq, &l.head.LastPos, (*unsigned)(&l.head.Epoch), (*nonceCol)(&l.head.Nonce), (*flagCol)(&l.hasHead))
		if withContents {
			dest = append(dest, raw{&x.Input}, raw{&x.Output})
		}
		err := row(dest...)
		x.MaxSeq, l.row = l.head.LastSeq, &x
		all = append(all, l)
		refs = append(refs, refInto(x.ID, input, &x.InputBlob)...)
		refs = append(refs, refInto(x.ID, output, &x.OutputBlob)...)
		return err
	})
	if err != nil || len(refs) == 0 {
		return all, err
	}
	return all, v.together(refs...)
}

// refInto returns a function that reads the reference, or none if id is nil.
func refInto(execution uuid.UUID, id *uuid.UUID, into **perdure.BlobRef) []func(view) error {
	if id == nil {
		return nil
	}
	return []func(view) error{func(v view) (err error) {
		*into, err = loadRef(v, execution, id)
		return err
	}}
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
	values, err := executionValues(after)
	if err != nil {
		return nil, nil, err
	}
	whole := append(values, input.column(), output.column())
	if before == nil {
		if err = executionTable.insert(v, whole); err == nil {
			err = indexMetadata(v, after)
		}
	} else {
		old := l.values
		if old == nil {
			old, err = executionValues(before)
		}
		if err == nil {
			err = executionTable.update(v, old, whole)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return after, values, spill(v, x.ID, now, input, output)
}
