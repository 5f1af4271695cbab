package engine

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
)

// schedule creates a task, or finds the task that has the key. If that task has ended, the commit
// is answered with its result; otherwise its attempt continues.
func (e *Engine) schedule(d *draft, n perdure.NewTask, c perdure.Commit, a *commitAnswer) error {
	id := perdure.TaskID(n.Key)
	before, known := d.s.Tasks[id]
	if known && !expired(d.x, before) {
		return foundTask(before, n, a)
	}
	if err := d.useContent(n.Input.Blob, uuid.Nil); err != nil {
		return err
	}
	options := n.Options.Normal(d.x.Queue)
	d.place(&options)
	t := &perdure.Task{
		ID: id, ExecutionID: d.x.ID, Org: d.x.Org, Kind: n.Kind, Status: perdure.TaskPending,
		Queue: options.Queue, MaxAttempts: options.MaxAttempts, Input: n.Input.Bytes, InputBlob: n.Input.Blob,
		InputHash: n.InputHash, Key: n.Key, Options: options, Place: d.placed(n.Place), CreatedAt: d.s.Now,
	}
	if known {
		renew(t, before)
	}
	d.task(t)
	d.x.RecordsSinceCheckpoint++
	d.taskEvent(perdure.EventTaskScheduled, t, nil)
	if e.eager(d, t, c, a) {
		d.occupy(t)
		return nil
	}
	d.queueUp(t)
	d.hint(notify.Tasks(t.Org, t.Queue))
	return nil
}

// expired reports whether the key of an ended task can be used for a new task: KeyTTL had passed
// since the task's end when the newest checkpoint was made. The time of the checkpoint decides, not
// the current time, because a function that is entered again must get the same answers as before.
func expired(x *perdure.Execution, t *perdure.Task) bool {
	ttl := t.Options.KeyTTL
	return ttl > 0 && !t.Step && t.CompletedAt != nil && t.CompletedAt.Add(ttl).Reached(x.CheckpointAt)
}

// renew prepares t to replace the ended task that had its key. The attempt numbers continue,
// because they are fences and identify the blocks of the attempts.
func renew(t, before *perdure.Task) {
	t.Attempt, t.Uncounted = before.Attempt, before.Attempt
	t.Result = json.RawMessage("null") // replaces the stored result
}

// foundTask answers a schedule whose key is known. Error: idempotency_key_reused, if kind or input
// differ.
func foundTask(t *perdure.Task, n perdure.NewTask, a *commitAnswer) error {
	if t.Kind != n.Kind || (n.Options.Key != "" && t.InputHash != n.InputHash) {
		return perdure.Errorf(perdure.IdempotencyKeyReused, "the task key of a %s is in use for a %s with other input", n.Kind, t.Kind)
	}
	if t.Status.Terminal() && !slices.Contains(a.Tasks, t.ID) {
		a.Tasks = append(a.Tasks, t.ID)
	}
	return nil
}

// eager claims a new task for the worker that scheduled it, if that worker offered a slot; the task
// then needs no poll. It reports whether it did.
func (e *Engine) eager(d *draft, t *perdure.Task, c perdure.Commit, a *commitAnswer) bool {
	offer := c.Eager
	if len(a.Claims) >= offer.Slots || !e.fitsAtOnce(d.s, t) || !slices.Contains(offer.Kinds, t.Kind) || !slices.Contains(offer.Queues, t.Queue) ||
		!mayClaim(d.x, offer.WorkerID, true) {
		return false
	}
	claim := derive(c.Lease.ClaimID, t.ID.String()+d.x.ID.String())
	claimed := d.claimTask(t, offer.WorkerID, claim, offer.Embedded, d.s.Now.Add(e.Lease))
	if len(t.Input) <= perdure.InlineLimit { // a larger input is stored as a blob
		made := *t
		claimed.task = &made
	}
	a.Claims = append(a.Claims, claimed)
	return true
}

// cancelOne cancels a task of the execution. Error: not_found.
func (d *draft) cancelOne(id uuid.UUID) error {
	t, ok := d.s.Tasks[id]
	if !ok {
		return perdure.Errorf(perdure.NotFound, "execution %s has no task %s to cancel", d.x.ID, id)
	}
	if t.Status.Terminal() {
		return nil
	}
	d.cancelTask(t, "cancelled: the agent cancelled this task")
	return d.closeBlocksOf(t, perdure.BlockSuperseded)
}

// closeBlocksOf closes the open blocks of a task. Terminal output of an ended task is not
// superseded or truncated: it is the tool's output, whatever the outcome of the task.
func (d *draft) closeBlocksOf(t *perdure.Task, reason perdure.BlockReason) error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != t.ID {
			continue
		}
		why := reason
		if b.Type == perdure.EventTerminal && t.Status.Terminal() {
			why = perdure.BlockDone
		}
		if err := d.closeBlock(b, why); err != nil {
			return err
		}
	}
	return nil
}
