package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// facts contains what one event has changed, for example the status of a task, and the current
// time. The conditions of a wait are evaluated with these facts. A condition about something that
// the facts do not contain counts as not met, unless the wait has a mark that an earlier event has
// met this condition.
type facts struct {
	now       perdure.Time
	signals   []string // names of pending signals
	tasks     map[uuid.UUID]perdure.TaskStatus
	questions map[uuid.UUID]bool // ids of questions whose status is final
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

func (f facts) QuestionFinal(id uuid.UUID) bool { return f.questions[id] }

// wake sets a WAITING execution to PENDING if the facts meet its wait, and reports whether it has
// done so. If the facts meet only some conditions of the wait, wake marks these as met.
func (d *draft) wake(f facts, why perdure.WakeReason) bool {
	if d.x.Status != perdure.StatusWaiting || d.x.Wait == nil {
		return false
	}
	f.now = d.s.Now
	marked, met := d.x.Wait.Mark(f)
	d.x.Wait = &marked
	if !met {
		d.waitReason()
		return false
	}
	d.pend(why)
	return true
}

// waitReason updates the stored reason of the wait after some conditions of the wait were met.
func (d *draft) waitReason() {
	reason := d.x.Wait.Reason()
	if reason == d.x.WaitReason {
		return
	}
	d.x.WaitReason = reason
	d.waits()
}

// pend sets the execution to PENDING, so that it can be claimed at once.
func (d *draft) pend(why perdure.WakeReason) {
	d.x.Status, d.x.WakeReason = perdure.StatusPending, why
	d.x.WaitReason = ""
	d.x.ReadyAt, d.x.NotBefore = d.s.Now, perdure.Time{}
	d.dropLease()
	if d.x.Wait.HasTimer() {
		d.c.Timer = &perdure.Time{}
	}
	d.hint(Hint{Kind: HintAgents, Org: d.x.Org, Queue: d.x.Queue})
}

// claimFor claims the execution for a worker. If the execution became PENDING in the same
// transaction, claimFor removes the hint that tells other workers so.
func (d *draft) claimFor(worker, claim uuid.UUID, embedded bool, lease perdure.Time) {
	pending := Hint{Kind: HintAgents, Org: d.x.Org, Queue: d.x.Queue}
	d.hints = slices.DeleteFunc(d.hints, func(h Hint) bool { return h == pending })
	event := perdure.EventResumed
	if d.x.StartedAt == nil {
		now := d.s.Now
		d.x.StartedAt = &now
		event = perdure.EventStarted
	}
	waited := d.s.Now.Sub(later(d.x.ReadyAt, d.x.NotBefore).Time)
	d.observe(Observation{Kind: ObservedClaim, Work: WorkExecution, Queue: d.x.Queue, Waited: waited})
	if d.x.WakeReason == perdure.WakeLost {
		d.observe(Observation{Kind: ObservedTakeover, Queue: d.x.Queue})
	}
	d.x.Status = perdure.StatusRunning
	d.x.WorkerID = &worker
	d.x.Fence++
	d.x.ClaimID, d.x.LeaseUntil, d.x.Embedded = claim, lease, embedded
	d.event(event, d.here(), map[string]any{"status": d.x.Status, "woke": d.x.WakeReason})
}
