package engine

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
)

// facts are what one event makes known: the event itself and the time. Everything else counts as
// not met yet; conditions that were met before are marked in the wait.
type facts struct {
	now     perdure.Time
	signals []string // names of pending signals
	tasks   map[uuid.UUID]perdure.TaskStatus
}

func (f facts) Now() perdure.Time { return f.now }

func (f facts) SignalPending(pattern string) bool {
	for _, name := range f.signals {
		if perdure.MatchName(pattern, name) {
			return true
		}
	}
	return false
}

func (f facts) TaskStatus(id uuid.UUID) perdure.TaskStatus {
	if status, ok := f.tasks[id]; ok {
		return status
	}
	return perdure.TaskPending
}

// wake sets a waiting execution to PENDING if the facts meet its wait, and reports whether they do.
// Otherwise it marks the met conditions in the wait.
func (d *draft) wake(f facts, why perdure.Woke) bool {
	if d.x.Status != perdure.StatusWaiting || d.x.Wait == nil {
		return false
	}
	f.now = d.s.Now
	marked, met := d.x.Wait.Mark(f)
	d.x.Wait = &marked
	if !met {
		return false
	}
	d.pend(why)
	return true
}

// pend sets the execution to PENDING; it can be claimed at once.
func (d *draft) pend(why perdure.Woke) {
	d.x.Status, d.x.Woke = perdure.StatusPending, why
	d.x.WaitReason = ""
	d.x.ReadyAt, d.x.NotBefore = d.s.Now, perdure.Time{}
	d.dropLease()
	if d.x.Wait.HasTimer() {
		d.c.Timer = &perdure.Time{}
	}
	d.hint(notify.Agents(d.x.Org, d.x.Queue))
}

// dropLease ends the lease. The fence is not changed, so later requests of the former holder are
// refused.
func (d *draft) dropLease() {
	if d.x.WorkerID != nil && mustBeAlone(d.x) {
		d.hint(notify.Recheck) // its worker may hold other executions again
	}
	d.x.WorkerID = nil
	d.x.ClaimID = uuid.Nil
	d.x.LeaseUntil = perdure.Time{}
	d.x.Embedded = false
}

// claimFor claims the execution for a worker. If the same decision made it PENDING, the hint for
// other workers is removed.
func (d *draft) claimFor(worker, claim uuid.UUID, embedded bool, lease perdure.Time) {
	pending := notify.Agents(d.x.Org, d.x.Queue)
	d.hints = slices.DeleteFunc(d.hints, func(topic string) bool { return topic == pending })
	event := perdure.EventResumed
	if d.x.StartedAt == nil {
		now := d.s.Now
		d.x.StartedAt = &now
		event = perdure.EventStarted
	}
	queue, waited, lost := d.x.Queue, d.s.Now.Sub(later(d.x.ReadyAt, d.x.NotBefore).Time), d.x.Woke == perdure.WokeLost
	d.observe(func(o Observer) {
		o.Claimed(WorkExecution, queue, waited)
		if lost {
			o.TakenOver(queue)
		}
	})
	d.x.Status = perdure.StatusRunning
	d.x.WorkerID = &worker
	d.x.Fence++
	d.x.ClaimID, d.x.LeaseUntil, d.x.Embedded = claim, lease, embedded
	d.event(event, d.here(), map[string]any{"status": d.x.Status, "woke": d.x.Woke})
}

// heldBy reports whether the execution is held under this lease.
func heldBy(x *perdure.Execution, l perdure.Lease) bool {
	return x != nil && x.Status.Held() && x.Fence == l.Fence && x.ClaimID == l.ClaimID
}

func leaseLost(x uuid.UUID) error {
	return perdure.Errorf(perdure.LeaseLost, "the lease on execution %s is over", x)
}
