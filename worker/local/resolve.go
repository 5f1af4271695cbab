package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// content sets *place to the content to which ref refers, unless *place is already set. If this
// store does not have the content, the method requests the content from the server. The server may
// still have it: for example, it has the input of an execution until the first commit. Errors:
// not_found, with the ids of execution and worker; internal if the content is damaged.
func (d *Dispatch) content(ctx context.Context, execution uuid.UUID, place *json.RawMessage, ref *perdure.BlobRef) error {
	if *place != nil || ref == nil {
		return nil
	}
	content, err := d.store.Get(ctx, execution, ref.SHA256)
	if perdure.IsCode(err, perdure.NotFound) {
		content, err = d.fromServer(ctx, execution, *ref)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		return perdure.Errorf(perdure.NotFound,
			"the store of worker %s has lost the content %s of execution %s; the run goes on only if the store's files are restored", d.store.id, ref.SHA256, execution)
	}
	*place = content
	return err
}

func (d *Dispatch) fromServer(ctx context.Context, execution uuid.UUID, ref perdure.BlobRef) ([]byte, error) {
	r, err := d.Dispatch.GetBlob(ctx, execution, ref.ID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // the content was only read
	content := bytes.NewBuffer([]byte{})
	if _, err := content.ReadFrom(io.LimitReader(r, ref.Length+1)); err != nil {
		return nil, err
	}
	if perdure.Hash(sha256.Sum256(content.Bytes())) != ref.SHA256 {
		return nil, perdure.Errorf(perdure.Internal, "blob %s of execution %s is not what its reference says", ref.ID, execution)
	}
	_, err = d.store.Put(ctx, execution, content.Bytes())
	return content.Bytes(), err
}

// execution sets those fields of a LOCAL execution whose contents only this worker has.
func (d *Dispatch) execution(ctx context.Context, x *perdure.Execution) error {
	if err := d.content(ctx, x.ID, &x.Input, x.InputBlob); err != nil {
		return err
	}
	if x.Input == nil {
		input, err := d.store.Named(ctx, x.ID, inputName)
		if err != nil {
			return err
		}
		x.Input = input
	}
	return d.content(ctx, x.ID, &x.Output, x.OutputBlob)
}

// taskErrorName returns the name under which the store keeps the error message of a task's attempt.
func taskErrorName(task uuid.UUID, attempt int) string {
	return fmt.Sprintf("error:%s:%d", task, attempt)
}

func (d *Dispatch) tasks(ctx context.Context, execution uuid.UUID, tasks []*perdure.Task) error {
	for _, t := range tasks {
		if t == nil {
			continue
		}
		if err := d.task(ctx, execution, t); err != nil {
			return err
		}
	}
	return nil
}

// task sets those fields of a task whose contents only this worker has. It does not set the input,
// because the code that scheduled the task has it.
func (d *Dispatch) task(ctx context.Context, execution uuid.UUID, t *perdure.Task) error {
	if t.Error == nil || t.Error.Message != "" && t.Error.Message != perdure.KeptByWorker {
		return d.content(ctx, execution, &t.Result, t.ResultBlob)
	}
	failed := *t.Error
	t.Error = &failed
	if t.Step {
		note, err := d.note(ctx, execution, t.ID)
		if err == nil && note != nil && note.Error != nil {
			failed.Message = note.Error.Message
		}
		return err
	}
	message, err := d.store.Named(ctx, execution, taskErrorName(t.ID, t.Attempt))
	failed.Message = string(message)
	return err
}

// note returns what the store has about a step, or nil if it has nothing about the step.
func (d *Dispatch) note(ctx context.Context, execution, step uuid.UUID) (*stepNote, error) {
	raw, err := d.store.Named(ctx, execution, stepName(step))
	if err != nil || raw == nil {
		return nil, err
	}
	var n stepNote
	if err := json.Unmarshal(raw, &n); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "the record of a step does not decode", Err: err}
	}
	return &n, nil
}

// Tasks implements [perdure.Dispatch]. If the commit of a step was lost, Tasks returns the step as this
// worker's store has it. The returned tasks have their inputs, because other tasks of the same execution
// read them.
func (d *Dispatch) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	tasks, err := d.Dispatch.Tasks(ctx, execution, ids)
	k := d.of(execution)
	if err != nil || k == nil {
		return tasks, err
	}
	for i, t := range tasks {
		if t != nil || i >= len(ids) {
			continue
		}
		note, err := d.note(ctx, execution, ids[i])
		if err != nil {
			return nil, err
		}
		if note != nil {
			tasks[i] = k.found(*note)
		}
	}
	for _, t := range tasks {
		if t == nil || t.Step {
			continue
		}
		if err := d.content(ctx, execution, &t.Input, t.InputBlob); err != nil {
			return nil, err
		}
	}
	return tasks, d.tasks(ctx, execution, tasks)
}

// Ended implements [perdure.Dispatch]. It marks the records of a LOCAL execution as partial, because the
// server does not have their contents.
func (d *Dispatch) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	page, err := d.Dispatch.Ended(ctx, q)
	if d.Keeps(q.Lease.ExecutionID) {
		withoutOutcomes(&page)
	}
	return page, err
}

// withoutOutcomes marks the records of a page as partial, so that the caller requests their contents from
// Tasks, which reads the local store. It also marks the page as not whole, because the store may have a
// step whose commit was lost. The caller then also asks Tasks for records that no page lists.
func withoutOutcomes(p *perdure.EndedPage) {
	p.Whole = false
	for i := range p.Heads {
		p.Heads[i].Partial = true
	}
}

// Entries implements [perdure.Dispatch]. For a LOCAL execution, it takes the contents of the entries from
// the local store.
func (d *Dispatch) Entries(ctx context.Context, q perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	if !d.Keeps(q.ExecutionID) {
		return d.Dispatch.Entries(ctx, q)
	}
	return func(yield func(perdure.Entry, error) bool) {
		for e, err := range d.Dispatch.Entries(ctx, q) {
			if err == nil {
				err = d.content(ctx, q.ExecutionID, &e.Content, e.Blob)
			}
			if err != nil {
				yield(perdure.Entry{}, err)
				return
			}
			e.ExtractMetadata()
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Signals implements [perdure.Dispatch]. It stores the values of a LOCAL execution's signals before
// it returns them.
func (d *Dispatch) Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	signals, err := d.Dispatch.Signals(ctx, execution, patterns, after, limit)
	if err != nil {
		return nil, err
	}
	return signals, d.keepSignals(ctx, execution, signals)
}

// keepSignals stores the values of a LOCAL execution's signals in the local store.
func (d *Dispatch) keepSignals(ctx context.Context, execution uuid.UUID, signals []perdure.Signal) error {
	if len(signals) == 0 || !d.Keeps(execution) {
		return nil
	}
	b := NewBatch(execution)
	addSignals(b, signals)
	return d.store.Write(ctx, b)
}
