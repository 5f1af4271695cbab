package local

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Commit implements [perdure.Dispatch]. It writes the contents in a commit of a LOCAL execution to
// this worker's disk. Then it sends the commit to the server, with references in place of the
// contents.
func (d *Dispatch) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	if c.Offer.Slots > 0 {
		c.Offer.Queues = d.withLocal(c.Offer.Queues)
	}
	k := d.of(c.Lease.ExecutionID)
	if k == nil {
		return d.Dispatch.Commit(ctx, c)
	}
	if err := d.withholdCommit(ctx, k, &c); err != nil {
		return perdure.CommitReply{}, err
	}
	reply, err := d.Dispatch.Commit(ctx, c)
	// After these errors, the caller repeats the same commit or has lost its claim. The unsent steps
	// therefore stay in memory.
	if perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited) || ctx.Err() != nil && err != nil {
		return reply, err
	}
	k.sent()
	if err != nil {
		return reply, err
	}
	k.forgetEnded(c.Blocks)
	k.decisionsErased(c.Decisions)
	return d.committed(context.WithoutCancel(ctx), c.Lease, reply)
}

// committed fills in those contents of the reply to a commit that the server does not have. If a
// content cannot be read, committed releases the execution and returns lease_lost. The run must end
// then: if it continued, it would commit other data under a number that is already used.
func (d *Dispatch) committed(ctx context.Context, l perdure.Lease, reply perdure.CommitReply) (perdure.CommitReply, error) {
	reply.Claims = d.taskClaims(ctx, reply.Claims)
	err := d.keepSignals(ctx, l.ExecutionID, reply.Signals)
	if err == nil {
		err = d.tasks(ctx, l.ExecutionID, reply.Tasks)
	}
	if err == nil {
		err = d.questions(ctx, l.ExecutionID, reply.Questions)
	}
	if err == nil {
		return reply, nil
	}
	d.giveUp(ctx, l, err)
	for _, c := range reply.Claims {
		d.failTask(ctx, c.Lease, err)
	}
	return perdure.CommitReply{}, &perdure.Error{Code: perdure.LeaseLost, Message: "the execution was given back", Err: err}
}

// withholdCommit stores the contents in a commit on this worker, and replaces them in c by
// references. It does not modify slices of the caller, who may send the commit again.
func (d *Dispatch) withholdCommit(ctx context.Context, k *executionState, c *perdure.Commit) error {
	b := NewBatch(c.Lease.ExecutionID)
	c.Entries = slices.Clone(c.Entries)
	for i := range c.Entries {
		if err := d.withholdEntry(ctx, b, &c.Entries[i]); err != nil {
			return err
		}
	}
	c.Tasks = slices.Clone(c.Tasks)
	for i := range c.Tasks {
		c.Tasks[i].Input = withheld(b, c.Tasks[i].Input)
	}
	var err error
	if c.Steps, err = withholdSteps(b, k.with(c.Steps)); err != nil {
		return err
	}
	if c.Checkpoint != nil {
		checkpoint := *c.Checkpoint
		checkpoint.State = withheld(b, checkpoint.State)
		c.Checkpoint = &checkpoint
	}
	for _, e := range c.Events {
		b.Add(e.Fields)
	}
	withholdQuestions(b, k, c)
	c.Outcome.Output = withheld(b, c.Outcome.Output)
	if c.Outcome.Error != nil {
		b.Name(errorName, []byte(c.Outcome.Error.Message))
		c.Outcome.Error = silent(c.Outcome.Error)
	}
	return d.store.Write(ctx, b)
}

// withholdEntry stores the content of an entry on this worker and replaces it by a reference. It
// first checks the content, because the server cannot. It moves the metadata of the entry into the
// stored content. For a compaction, the server still gets the range of entries that the compaction
// covers.
func (d *Dispatch) withholdEntry(ctx context.Context, b *Batch, e *perdure.NewEntry) error {
	if e.Type == perdure.EntryCompaction {
		covers, err := e.Range()
		if err != nil {
			return err
		}
		e.Covers = &covers
	}
	if e.Blob != nil {
		if len(e.Metadata) == 0 {
			return nil
		}
		content, err := d.store.Get(ctx, b.execution, e.Blob.SHA256)
		if err != nil {
			return err
		}
		e.Content, e.Blob = content, nil
	}
	if e.Content == nil {
		return nil
	}
	if err := perdure.CheckContent(e.Entry); err != nil {
		return err
	}
	if err := e.EmbedMetadata(); err != nil {
		return err
	}
	ref := b.Add(e.Content)
	e.Content, e.Blob = nil, &ref
	return nil
}

// stepNote is what this worker's store has about a step: its result or error, and the data that is
// needed to send its record again.
type stepNote struct {
	Name   string             `json:"name"`
	Key    string             `json:"key"`
	Result *perdure.BlobRef   `json:"result,omitempty"`
	Error  *perdure.TaskError `json:"error,omitempty"`
}

func stepName(task uuid.UUID) string { return "step:" + task.String() }

// withholdSteps stores the result or error of each step under a name that is derived from the step,
// so that the result or error is found even if the commit is lost. The returned records have
// references instead of results, and errors without messages.
func withholdSteps(b *Batch, steps []perdure.StepRecord) ([]perdure.StepRecord, error) {
	for i, s := range steps {
		steps[i].Result, steps[i].Instance = withheld(b, s.Result), "" // the instance may be content
		note, err := json.Marshal(stepNote{Name: s.Name, Key: s.Key, Result: steps[i].Result.Blob, Error: s.Error})
		if err != nil {
			return nil, err
		}
		b.Name(stepName(perdure.TaskID(s.Key)), note)
		steps[i].Error = silent(s.Error)
	}
	return steps, nil
}

// with returns the steps of the next commit: first earlier steps that the server may not have, then
// the given steps.
func (k *executionState) with(steps []perdure.StepRecord) []perdure.StepRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.Clone(k.unsent)
	for _, s := range steps {
		if !slices.ContainsFunc(all, func(known perdure.StepRecord) bool { return known.Key == s.Key }) {
			all = append(all, s)
		}
	}
	return all
}

// sent forgets the unsent steps, because the server has stored or refused them. If a refused step is
// requested again, it is found in the store.
func (k *executionState) sent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unsent = nil
}

// found returns the record of a step whose commit did not reach the server, in the form in which
// the server would return it. It also makes the next commit contain that record.
func (k *executionState) found(note stepNote) *perdure.Task {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.ContainsFunc(k.unsent, func(s perdure.StepRecord) bool { return s.Key == note.Key }) {
		k.unsent = append(k.unsent, perdure.StepRecord{
			Name: note.Name, Key: note.Key, Result: perdure.Payload{Blob: note.Result}, Error: note.Error,
		})
	}
	t := &perdure.Task{
		ID: perdure.TaskID(note.Key), Kind: note.Name, Key: note.Key, Step: true, Status: perdure.TaskCompleted,
		ResultBlob: note.Result, Error: note.Error,
	}
	if note.Error != nil {
		t.Status = perdure.TaskFailed
	}
	return t
}
