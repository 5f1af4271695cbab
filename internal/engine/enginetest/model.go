package enginetest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// The reference model implements the rules of executions a second time, without a store and a log,
// and slowly. Tests compare the engine and a store with it. Each method stands for a command of the
// engine: it changes the reference model as the command must change the execution, or returns the
// code with which the engine must refuse the command.

// execution is an execution in the reference model.
type execution struct {
	id                   uuid.UUID
	status               perdure.Status
	wait                 *perdure.Wait
	fence                int64
	claim                uuid.UUID // claim id of the worker that has the lease; Nil if none
	lease, cancelBy      time.Time
	ready, notBefore     time.Time // only while the execution is PENDING
	crashes, panics      int       // scores of the crash guard
	checkpoint           int64
	checkpointLeaf, leaf uuid.UUID // Nil for none
	last                 perdure.CommitNumber
	lastClaim            uuid.UUID
	answer               answer              // reply to the last commit
	eager                []perdure.TaskLease // the tasks that the last commit claimed
	pending, taken       []string
	names                map[string]string // names of signals, by id
	tasks                map[uuid.UUID]task
	entries              map[uuid.UUID]entry
	questions            map[uuid.UUID]question
	keys                 map[string]uuid.UUID
	closing              int // number of results that were added at the end of the execution
}

type task struct {
	kind                      string
	hash                      perdure.Hash
	status                    perdure.TaskStatus
	attempt, spared, lost     int // spared counts the attempts that do not count as tries
	most, priority            int
	claim                     uuid.UUID
	report, step              bool
	created, lease, notBefore time.Time
	deadline                  time.Time // zero for none
}

type entry struct {
	parent uuid.UUID
	role   perdure.Role
	open   []string // ids of tool calls that have no result yet
}

// answer is the part of a commit's reply that is the same for each repeat of the commit.
type answer struct {
	ended      perdure.Status
	suspended  bool
	checkpoint int64
	eager      int
	adopted    map[uuid.UUID]uuid.UUID
}

func created(id uuid.UUID, now time.Time) *execution {
	return &execution{
		id: id, status: perdure.StatusPending, ready: now, names: map[string]string{},
		tasks: map[uuid.UUID]task{}, entries: map[uuid.UUID]entry{}, keys: map[string]uuid.UUID{}, questions: map[uuid.UUID]question{},
	}
}

func (x *execution) clone() *execution {
	c := *x
	c.pending, c.taken = slices.Clone(x.pending), slices.Clone(x.taken)
	c.names, c.tasks, c.entries, c.keys = maps.Clone(x.names), maps.Clone(x.tasks), maps.Clone(x.entries), maps.Clone(x.keys)
	c.questions = maps.Clone(x.questions)
	return &c
}

func (x *execution) holds(l perdure.Lease) bool {
	return x.status.Held() && x.fence == l.Fence && x.claim == l.ClaimID
}

func (x *execution) claimable(now time.Time) bool {
	return x.status == perdure.StatusPending && !x.notBefore.After(now)
}

func (x *execution) claimed(l perdure.Lease, now time.Time) {
	x.fence++
	x.status, x.claim, x.lease = perdure.StatusRunning, l.ClaimID, now.Add(lease)
}

func (x *execution) pend(now time.Time) {
	x.status, x.claim, x.ready, x.notBefore = perdure.StatusPending, uuid.Nil, now, time.Time{}
}

// wake sets the execution to PENDING if its wait is met, and reports whether it did. It must be
// called after each event that may meet a wait.
func (x *execution) wake(now time.Time) bool {
	woken := x.status == perdure.StatusWaiting && x.met(*x.wait, now)
	if woken {
		x.pend(now)
	}
	return woken
}

func (x *execution) met(w perdure.Wait, now time.Time) bool {
	met := func(w perdure.Wait) bool { return x.met(w, now) }
	switch w.Kind() {
	case perdure.WaitKindAny:
		return slices.ContainsFunc(w.Any, met)
	case perdure.WaitKindAll:
		return !slices.ContainsFunc(w.All, func(w perdure.Wait) bool { return !met(w) })
	case perdure.WaitKindSignal:
		return x.hasPending(w.Signal)
	case perdure.WaitKindTimer:
		return !w.Timer.After(now)
	case perdure.WaitKindTask:
		status := x.tasks[*w.Task].status
		return status.Terminal() && (w.On == "" || w.On == perdure.TaskEnded || (w.On == perdure.TaskSucceeded) == (status == perdure.TaskCompleted))
	case perdure.WaitKindQuestion:
		return x.questions[*w.Question].status.Final()
	default:
		panic("the model knows no wait of the kind " + w.Kind().String())
	}
}

func (x *execution) hasPending(pattern string) bool {
	return slices.ContainsFunc(x.pending, func(id string) bool { return perdure.MatchName(pattern, x.names[id]) })
}

func (x *execution) signal(id, name string, now time.Time) perdure.Code {
	if _, known := x.names[id]; known {
		return ""
	}
	if x.status.Terminal() {
		return perdure.ExecutionEnded
	}
	x.names[id], x.pending = name, append(x.pending, id)
	x.wake(now)
	return ""
}

func (x *execution) cancel(now time.Time) {
	switch {
	case x.status == perdure.StatusRunning:
		x.status, x.cancelBy = perdure.StatusCancelling, now.Add(grace)
		x.withdrawOpen()
		for id, t := range x.tasks {
			if t.status == perdure.TaskPending {
				t.status = perdure.TaskCancelled
				x.tasks[id] = t
			}
		}
	case !x.status.Held() && !x.status.Terminal():
		x.end(perdure.StatusCancelled)
	}
}

// end ends the execution. This also ends its tasks, open calls, taken signals and lease.
func (x *execution) end(status perdure.Status) {
	x.status, x.claim = status, uuid.Nil
	for id, t := range x.tasks {
		if !t.status.Terminal() {
			t.status = perdure.TaskCancelled
			x.tasks[id] = t
		}
	}
	x.withdrawOpen()
	x.closing = len(x.entries[x.leaf].open)
	x.taken = nil // consumed
}

func (x *execution) release(l perdure.Lease, panicked bool, now time.Time) {
	if !x.holds(l) {
		return
	}
	if !panicked {
		x.giveBack(now)
		return
	}
	x.panics += 2
	if x.panics >= 6 && x.status == perdure.StatusRunning {
		x.end(perdure.StatusFailed)
		return
	}
	x.giveBack(now)
	x.rest(x.panics, now)
}

// rest is called when the end of a claim has raised a score of the crash guard to the given value.
// It sets the pause before the next claim.
func (x *execution) rest(score int, now time.Time) {
	if x.status == perdure.StatusPending {
		x.notBefore = now.Add(min(time.Second<<(score/2-1), time.Minute))
	}
}

// endedWell reduces the scores of the crash guard when a claim ends with a suspend or a complete.
func (x *execution) endedWell() {
	x.crashes, x.panics = max(0, x.crashes-1), max(0, x.panics-1)
}

func (x *execution) giveBack(now time.Time) {
	if x.status == perdure.StatusCancelling {
		x.end(perdure.StatusCancelled)
		return
	}
	x.pend(now)
}

// sweep applies the effects of time to the execution.
func (x *execution) sweep(now time.Time) {
	x.wake(now)
	if x.status == perdure.StatusCancelling && !x.cancelBy.After(now) {
		x.fence++
		x.end(perdure.StatusCancelled)
	}
	for id, t := range x.tasks {
		if !t.status.Terminal() && !t.deadline.IsZero() && !t.deadline.After(now) {
			t.status, t.claim = perdure.TaskFailed, uuid.Nil
			x.tasks[id] = t
			x.wake(now)
		}
	}
	x.expire(now)
	if x.status.Held() && !x.lease.After(now) {
		x.lost(now)
	}
	for id, t := range x.tasks {
		if t.status == perdure.TaskRunning && !t.lease.After(now) {
			x.loseAttempt(id, now)
		}
	}
}

// mustBeAlone reports whether only a worker without other executions may claim this one, because it
// has often lost its worker.
func (x *execution) mustBeAlone() bool { return x.crashes >= 6 }

// lost applies the end of a lease that was not renewed. From the second loss in a row on, a growing
// pause delays the next claim. The tenth loss fails the execution.
func (x *execution) lost(now time.Time) {
	x.crashes += 2
	if x.crashes >= 20 && x.status == perdure.StatusRunning {
		x.end(perdure.StatusFailed)
		return
	}
	x.giveBack(now)
	if x.crashes > 2 {
		x.rest(x.crashes, now)
	}
}

// again returns the next status of a task whose attempt is to be repeated.
func (x *execution) again() perdure.TaskStatus {
	if x.status == perdure.StatusCancelling {
		return perdure.TaskCancelled
	}
	return perdure.TaskPending
}

func (x *execution) loseAttempt(id uuid.UUID, now time.Time) {
	t := x.tasks[id]
	t.spared++
	t.lost++
	t.claim = uuid.Nil
	switch {
	case t.report:
		t.status = perdure.TaskInterrupted
	case t.lost > 10:
		t.status = perdure.TaskFailed
	default:
		t.status, t.notBefore = x.again(), now
	}
	x.tasks[id] = t
	if t.status.Terminal() {
		x.wake(now)
	}
}

func (t task) heldBy(l perdure.TaskLease) bool {
	return t.status == perdure.TaskRunning && t.attempt == l.Attempt && t.claim == l.ClaimID
}

func (t task) claimedAs(l perdure.TaskLease, now time.Time) task {
	t.attempt++
	t.status, t.claim, t.lease = perdure.TaskRunning, l.ClaimID, now.Add(lease)
	return t
}

// finish ends an attempt of a task, and reports whether the end woke the execution.
func (x *execution) finish(f perdure.TaskFinish, now time.Time) (woken bool, refused perdure.Code) {
	t, known := x.tasks[f.Lease.TaskID]
	switch {
	case !known:
		return false, perdure.NotFound
	case t.attempt != f.Lease.Attempt || t.claim != f.Lease.ClaimID || t.status == perdure.TaskCancelled || t.status == perdure.TaskInterrupted:
		return false, perdure.LeaseLost
	case t.status != perdure.TaskRunning:
		return false, "" // a repeat
	case f.Error == nil:
		t.status = perdure.TaskCompleted
	case f.Error.Permanent || t.attempt-t.spared >= t.most || (!t.deadline.IsZero() && !now.Add(f.Error.RetryAfter).Before(t.deadline)):
		t.status = perdure.TaskFailed
	default:
		t.status, t.notBefore = x.again(), now.Add(f.Error.RetryAfter)
	}
	x.tasks[f.Lease.TaskID] = t
	return t.status.Terminal() && x.wake(now), ""
}

func (x *execution) releaseTask(l perdure.TaskLease, started bool, now time.Time) {
	t := x.tasks[l.TaskID]
	switch {
	case !t.heldBy(l):
	case started:
		x.loseAttempt(l.TaskID, now)
	default:
		t.spared++
		t.status, t.claim, t.notBefore = x.again(), uuid.Nil, now
		x.tasks[l.TaskID] = t
	}
}

// order compares two tasks by the order in which they are claimed: by priority, then by age.
func (t task) order(other task) int {
	return cmp.Or(cmp.Compare(t.priority, other.priority), t.created.Compare(other.created))
}
