package enginetest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// lastOfClaim returns the number of the last commit, including the id of the commit's claim.
func (x *execution) lastOfClaim() perdure.CommitNumber {
	n := x.last
	n.ClaimID = x.lastClaim
	return n
}

// commit applies all of a commit, or nothing. If the commit is a repeat, it returns the stored
// reply before any other check.
func (x *execution) commit(c perdure.Commit, now time.Time) (answer, perdure.Code) {
	number := perdure.CommitNumber{Fence: c.Lease.Fence, Number: c.Number}
	if x.last == number && x.lastClaim == c.Lease.ClaimID {
		return x.answer, ""
	}
	want := int64(1)
	if x.last.Fence == c.Lease.Fence {
		want = x.last.Number + 1
	}
	ends := c.Outcome.Kind != perdure.OutcomeContinue && c.Outcome.Kind != perdure.OutcomeSuspend
	switch {
	case !x.holds(c.Lease):
		return answer{}, perdure.LeaseLost
	case c.Number != want:
		return answer{}, perdure.InvalidArgument
	case x.status == perdure.StatusCancelling && !ends:
		return answer{}, perdure.Conflict
	}
	after, a := x.clone(), answer{adopted: map[uuid.UUID]uuid.UUID{}}
	if code := after.write(c, &a, now); code != "" {
		return answer{}, code
	}
	a.checkpoint = after.checkpoint
	after.last, after.lastClaim, after.answer = number, c.Lease.ClaimID, a
	*x = *after
	return a, ""
}

func (x *execution) write(c perdure.Commit, a *answer, now time.Time) perdure.Code {
	for _, id := range c.Take {
		if _, known := x.names[id]; !known {
			return perdure.InvalidArgument
		}
		if i := slices.Index(x.pending, id); i >= 0 {
			x.pending, x.taken = slices.Delete(x.pending, i, i+1), append(x.taken, id)
		}
	}
	for _, e := range c.Entries {
		if code := x.append(e, a); code != "" {
			return code
		}
	}
	for _, s := range c.Steps {
		if _, known := x.tasks[perdure.TaskID(s.Key)]; !known {
			x.tasks[perdure.TaskID(s.Key)] = task{kind: s.Name, status: perdure.TaskCompleted, attempt: 1, step: true}
		}
	}
	if code := x.ask(c, now); code != "" {
		return code
	}
	for _, t := range c.Tasks {
		if code := x.schedule(t, c.Offer, a, now); code != "" {
			return code
		}
	}
	for _, id := range c.CancelTask {
		t, known := x.tasks[id]
		if !known {
			return perdure.NotFound
		}
		if !t.status.Terminal() {
			t.status = perdure.TaskCancelled
			x.tasks[id] = t
		}
	}
	if c.Checkpoint != nil {
		x.checkpoint++
		x.checkpointLeaf = x.leaf
		x.taken = nil // the checkpoint consumes the signals
	}
	return x.leave(c.Outcome, a, now)
}

// append adds an entry below its parent. If an entry with the same key is already stored, append uses
// that entry instead.
func (x *execution) append(e perdure.NewEntry, a *answer) perdure.Code {
	parent := uuid.Nil
	if e.ParentID != nil {
		parent = *e.ParentID
		if stored, ok := a.adopted[parent]; ok {
			parent = stored
		}
	}
	if known, ok := x.keys[e.Key]; ok && e.Key != "" {
		a.adopted[e.ID] = known
		return ""
	}
	on, known := x.entries[parent]
	if (parent == uuid.Nil && x.leaf != uuid.Nil) || (parent != uuid.Nil && !known) {
		return perdure.InvalidArgument
	}
	added := entry{parent: parent, role: e.Role, open: e.Calls}
	if e.Role == perdure.RoleToolResult {
		i := slices.Index(on.open, e.Answers)
		if i < 0 {
			return perdure.InvalidTranscript
		}
		added.open = slices.Delete(slices.Clone(on.open), i, i+1)
	} else if len(on.open) > 0 {
		return perdure.InvalidTranscript
	}
	x.entries[e.ID], x.leaf = added, e.ID
	if e.Key != "" {
		x.keys[e.Key] = e.ID
	}
	return ""
}

func (x *execution) schedule(n perdure.NewTask, offer perdure.TaskOffer, a *answer, now time.Time) perdure.Code {
	id := perdure.TaskID(n.Key)
	if t, known := x.tasks[id]; known {
		if t.kind != n.Kind || (n.Options.Key != "" && t.hash != n.InputHash) {
			return perdure.IdempotencyKeyReused
		}
		return ""
	}
	o := n.Options.Normal("default")
	t := task{
		kind: n.Kind, hash: n.InputHash, status: perdure.TaskPending, most: o.MaxAttempts, priority: *o.Priority,
		report: o.OnLost == perdure.OnLostReport, created: now,
	}
	if o.ScheduleToClose > 0 {
		t.deadline = now.Add(o.ScheduleToClose)
	}
	if a.eager < offer.Slots && slices.Contains(offer.Kinds, n.Kind) {
		a.eager++
		t = t.claimedAs(perdure.TaskLease{}, now) // the reply to the commit contains the claim's id
	}
	x.tasks[id] = t
	return ""
}

// leave applies the commit's outcome to the execution.
func (x *execution) leave(o perdure.Outcome, a *answer, now time.Time) perdure.Code {
	switch o.Kind {
	case perdure.OutcomeSuspend:
		for _, id := range o.Wait.Tasks() {
			if _, known := x.tasks[id]; !known {
				return perdure.InvalidArgument
			}
		}
		for _, id := range o.Wait.Questions() {
			if _, known := x.questions[id]; !known {
				return perdure.InvalidArgument
			}
		}
		if !x.met(*o.Wait, now) {
			a.suspended = true
			x.endedWell()
			x.status, x.claim, x.wait = perdure.StatusWaiting, uuid.Nil, o.Wait
		}
		return ""
	case perdure.OutcomeComplete:
		cancelling := x.status == perdure.StatusCancelling
		switch {
		case cancelling:
			x.endedWell()
			a.ended = perdure.StatusCancelled
		case slices.ContainsFunc(o.Unless, x.hasPending):
			return ""
		default:
			x.endedWell()
			a.ended = perdure.StatusCompleted
		}
	case perdure.OutcomeFail:
		a.ended = perdure.StatusFailed
	case perdure.OutcomeCancelled:
		a.ended = perdure.StatusCancelled
	default:
		return ""
	}
	x.end(a.ended)
	return ""
}
