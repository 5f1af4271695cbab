package rules

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// schedule creates a task of the commit, unless a task with the same key is stored. `at` is the
// index of the task in c.Tasks. If the stored task has ended, its id is added to the reply. Errors:
// idempotency_key_reused, conflict, permission_denied.
func (d *draft) schedule(at int, c perdure.Commit, a *CommitAnswer) error {
	n := c.Tasks[at]
	id := perdure.TaskID(n.Key)
	before, known := d.s.Tasks[id]
	if known && !expired(d.x, before) {
		return foundTask(before, n, a)
	}
	if err := d.pass(at, n); err != nil {
		return err
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
	if options.ReadsContext {
		t.NeedsFeatures = d.x.NeedsFeatures
	}
	if options.Net != "" || options.Requires != "" {
		t.NeedsFeatures |= perdure.FeatureQuestions
	}
	if known {
		renew(t, before)
	}
	d.task(t)
	d.x.RecordsSinceCheckpoint++
	d.taskEvent(perdure.EventTaskScheduled, t, nil)
	if d.eager(t, c, a) {
		d.occupy(t)
		return nil
	}
	d.queueUp(t)
	d.hint(Hint{Kind: HintTasks, Org: t.Org, Queue: t.Queue})
	return nil
}

// expired reports whether a new task may use the key of an ended task: KeyTTL had passed since the
// end of that task when the newest checkpoint was stored. The current time does not matter, because
// a function that is entered again must get the same results as before.
func expired(x *perdure.Execution, t *perdure.Task) bool {
	ttl := t.Options.KeyTTL
	return ttl > 0 && !t.Step && t.CompletedAt != nil && t.CompletedAt.Add(ttl).Reached(x.CheckpointAt)
}

// renew prepares the task t to replace the ended task `before`, which has the same key. The attempt
// numbers of t continue those of the ended task, because they are fences and identify blocks.
func renew(t, before *perdure.Task) {
	t.Attempt, t.Uncounted = before.Attempt, before.Attempt
	t.Result = json.RawMessage("null") // replaces the stored result
}

// foundTask handles a new task whose key the stored task t has. If t has ended, its id is added to
// the reply. Error: idempotency_key_reused, if the kind or the input differs.
func foundTask(t *perdure.Task, n perdure.NewTask, a *CommitAnswer) error {
	if t.Kind != n.Kind || (n.Options.Key != "" && t.InputHash != n.InputHash) {
		return perdure.Errorf(perdure.IdempotencyKeyReused, "the task key of a %s is in use for a %s with other input", n.Kind, t.Kind)
	}
	if t.Status.Terminal() && !slices.Contains(a.Tasks, t.ID) {
		a.Tasks = append(a.Tasks, t.ID)
	}
	return nil
}

// eager claims a new task for the worker that has scheduled it, if the worker has offered a slot
// for the task and the limits allow it. It reports whether it has claimed the task.
func (d *draft) eager(t *perdure.Task, c perdure.Commit, a *CommitAnswer) bool {
	offer := c.Offer
	if len(a.Claims) >= offer.Slots || !d.cfg.fitsAtOnce(d.s, t) || !slices.Contains(offer.Kinds, t.Kind) || !slices.Contains(offer.Queues, t.Queue) ||
		!mayClaim(d.x, offer.WorkerID, true) || offer.Features.Lacks(t.NeedsFeatures) != 0 {
		return false
	}
	claim := derive(c.Lease.ClaimID, t.ID.String()+d.x.ID.String())
	claimed := d.claimTask(t, offer.WorkerID, claim, offer.Embedded, d.s.Now.Add(d.cfg.Lease))
	if len(t.Input) <= perdure.InlineLimit { // a larger input is stored as a blob
		made := *t
		claimed.Task = &made
	}
	a.Claims = append(a.Claims, claimed)
	return true
}

// cancelOne cancels a task of the execution. If `keeps` is true, clients keep the text that the
// task has streamed. Error: not_found.
func (d *draft) cancelOne(id uuid.UUID, keeps bool) error {
	t, ok := d.s.Tasks[id]
	if !ok {
		return perdure.Errorf(perdure.NotFound, "execution %s has no task %s to cancel", d.x.ID, id)
	}
	if t.Status.Terminal() {
		return nil
	}
	d.cancelTask(t, "cancelled: the agent cancelled this task")
	if keeps {
		if err := d.keepText(t); err != nil {
			return err
		}
	}
	return d.closeBlocksOf(t, perdure.BlockSuperseded)
}
