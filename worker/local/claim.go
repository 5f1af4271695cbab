package local

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// PollAgents implements [perdure.Dispatch]. For a claim of a LOCAL execution, it stores the
// contents of the claim on this worker, and fills in contents that the server does not have. It
// releases a claim whose contents cannot be read, and returns an error if no claim is left.
func (d *Dispatch) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	p.Local = true
	claims, err := d.Dispatch.PollAgents(ctx, p)
	ctx = context.WithoutCancel(ctx) // claims that have arrived are processed even if ctx ends
	usable := claims[:0]
	for _, c := range claims {
		if failed := d.agentClaim(ctx, &c); failed != nil {
			d.giveUp(ctx, c.Lease, failed)
			err = errors.Join(err, failed)
			continue
		}
		usable = append(usable, c)
	}
	if len(usable) > 0 {
		err = nil
	}
	return usable, err
}

// agentClaim stores the contents of a claim of a LOCAL execution on this worker, and fills in
// contents that the server does not have. The server has the input only until the first commit, so
// the input is stored before any code runs.
func (d *Dispatch) agentClaim(ctx context.Context, c *perdure.AgentClaim) error {
	x := c.Execution
	if x.PersistenceMode != perdure.Local {
		d.release(x.ID)
		return nil
	}
	if c.Ended != nil {
		withoutOutcomes(c.Ended)
	}
	k := d.keep(x.ID)
	k.begin(c.Lease.Fence)
	b := NewBatch(x.ID)
	if x.Input != nil {
		b.Name(inputName, x.Input)
	}
	addSignals(b, c.Signals)
	addSignals(b, c.Again)
	if err := d.store.Write(ctx, b); err != nil {
		return err
	}
	if err := d.execution(ctx, x); err != nil {
		return err
	}
	if c.Checkpoint != nil {
		if err := d.content(ctx, x.ID, &c.Checkpoint.State, c.Checkpoint.Blob); err != nil {
			return err
		}
	}
	if err := d.questions(ctx, x.ID, c.Questions); err != nil {
		return err
	}
	return d.tasks(ctx, x.ID, c.Results)
}

// begin removes what earlier claims of the execution have left in memory: unsent steps and blocks.
// The leases of these claims have ended, and the agent's function, which is entered again, requests
// its steps again.
func (k *executionState) begin(fence int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unsent = nil
	current := agentSource(fence)
	for key := range k.blocks {
		if isAgentSource(key.source) && key.source != string(current) {
			delete(k.blocks, key)
		}
	}
}

// addSignals adds the values of signals to the batch. The server erases its copies of the values
// once the signals are consumed; its log contains only hashes.
func addSignals(b *Batch, signals []perdure.Signal) {
	for _, s := range signals {
		if s.Value != nil {
			b.Name("signal:"+s.ID, s.Value)
		}
	}
}

// PollTasks implements [perdure.Dispatch]. It also polls the queue with the tasks of this worker's
// LOCAL executions, which no other worker polls.
func (d *Dispatch) PollTasks(ctx context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	p.Local = true
	p.Queues = d.withLocal(p.Queues)
	claims, err := d.Dispatch.PollTasks(ctx, p)
	return d.taskClaims(context.WithoutCancel(ctx), claims), err
}

// taskClaims fills in the inputs of claimed attempts that belong to LOCAL executions. It returns the
// attempts that can run, and ends those whose input cannot be read.
func (d *Dispatch) taskClaims(ctx context.Context, claims []perdure.TaskClaim) []perdure.TaskClaim {
	usable := claims[:0]
	for _, c := range claims {
		if c.Task.Queue == perdure.LocalQueue(d.store.id) {
			d.keep(c.Lease.ExecutionID).beginTask(c.Lease)
			if err := d.content(ctx, c.Lease.ExecutionID, &c.Task.Input, c.Task.InputBlob); err != nil {
				d.failTask(ctx, c.Lease, err)
				continue
			}
		}
		usable = append(usable, c)
	}
	return usable
}

// beginTask removes the blocks of earlier attempts of the task from memory.
func (k *executionState) beginTask(l perdure.TaskLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.blocks {
		if isSourceOf(key.source, l.TaskID) {
			delete(k.blocks, key)
		}
	}
}

// FinishTask implements [perdure.Dispatch]. For a LOCAL execution, it stores the result or error message on
// this worker before it sends the end of the task. The server gets only a reference.
func (d *Dispatch) FinishTask(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	k := d.of(f.Lease.ExecutionID)
	if k != nil {
		if err := d.withholdFinish(ctx, &f); err != nil {
			return perdure.FinishReply{}, err
		}
	}
	reply, err := d.Dispatch.FinishTask(ctx, f)
	if k != nil && err == nil {
		k.forgetEnded(f.Blocks)
	}
	if err != nil || reply.Claim == nil {
		return reply, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := d.agentClaim(ctx, reply.Claim); err != nil {
		d.giveUp(ctx, reply.Claim.Lease, err)
		reply.Claim = nil
	}
	return reply, nil
}

// withholdFinish stores the contents of f on this worker, and replaces them in f by references.
func (d *Dispatch) withholdFinish(ctx context.Context, f *perdure.TaskFinish) error {
	b := NewBatch(f.Lease.ExecutionID)
	f.Result = withheld(b, f.Result)
	if f.Error != nil {
		b.Name(taskErrorName(f.Lease.TaskID, f.Lease.Attempt), []byte(f.Error.Message))
		f.Error = silent(f.Error)
	}
	for _, e := range f.Events {
		b.Add(e.Fields)
	}
	return d.store.Write(ctx, b)
}

// silent returns a copy of the error without its message, which is content that the server must not have.
// It returns nil for nil.
func silent(e *perdure.TaskError) *perdure.TaskError {
	if e == nil {
		return nil
	}
	quiet := *e
	quiet.Message = perdure.KeptByWorker
	return &quiet
}

// withheld adds the content of the payload p to the batch, and returns a payload that only refers
// to the content.
func withheld(b *Batch, p perdure.Payload) perdure.Payload {
	if p.Bytes == nil {
		return p
	}
	ref := b.Add(p.Bytes)
	return perdure.Payload{Blob: &ref}
}

// Execution implements [perdure.Dispatch]. For a LOCAL execution, it fills in contents that the server does
// not have.
func (d *Dispatch) Execution(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	x, err := d.Dispatch.Execution(ctx, id)
	if err != nil || x.PersistenceMode != perdure.Local || !d.Keeps(id) {
		return x, err
	}
	return x, d.execution(ctx, x)
}
