package enginetest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"pgregory.net/rapid"
)

func (m *machine) finish(t *rapid.T) {
	f := perdure.TaskFinish{
		WorkerID: one(t, "worker", m.workers), Lease: m.attempt(t), Parked: rapid.Bool().Draw(t, "parked"),
		Result:   perdure.Inline([]byte(`3`)),
		Features: perdure.AllFeatures,
	}
	if sometimes(t, "failed", 2) {
		f.Result = perdure.Payload{}
		// The pause of an hour is longer than any backoff, so that the random jitter does not
		// matter.
		f.Error = &perdure.TaskError{Code: "task_failed", Message: "no luck", Permanent: sometimes(t, "permanent", 3), RetryAfter: 70 * time.Second}
	}
	m.finishes = append(m.finishes, f)
	m.end(f)
}

// finishAgain repeats the end of an attempt. If the reply contains a claim, the claim must still be
// valid.
func (m *machine) finishAgain(t *rapid.T) { m.end(recent(t, "finish", m.finishes)) }

func (m *machine) end(f perdure.TaskFinish) {
	m.Helper()
	x := m.of(f.Lease.ExecutionID)
	alone := x.mustBeAlone() // if true, the reply may lack a claim, because the worker may have others
	woken, refused := x.finish(f, m.now())
	reply, err := m.d.FinishTask(m.ctx, f)
	m.code(err, refused)
	switch {
	case reply.Claim == nil && woken && f.Parked && !alone:
		m.Fatal("the end of the task woke the execution, and its answer brings no claim")
	case reply.Claim != nil && woken && f.Parked && !alone:
		m.claimed(*reply.Claim)
	case reply.Claim != nil && !x.holds(reply.Claim.Lease):
		m.Fatalf("the answer brings the claim %+v, which does not hold", reply.Claim.Lease)
	}
}

func (m *machine) cancel(t *rapid.T) {
	if !sometimes(t, "really", 4) {
		return // otherwise all executions end too soon
	}
	x := one(t, "execution", m.xs)
	x.cancel(m.now())
	got, _, err := m.e.Cancel(m.ctx, org, x.id)
	m.must(err)
	if got.Status != x.status {
		m.Fatalf("after the cancel it is %s, the rules say %s", got.Status, x.status)
	}
}

// heartbeat sends a heartbeat for one claim and one attempt, each of which may have ended.
func (m *machine) heartbeat(t *rapid.T) {
	l := m.claim(t)
	h := perdure.Heartbeat{Agents: []perdure.Lease{l}}
	if len(m.attempts) > 0 {
		h.Tasks = []perdure.TaskHeartbeat{{Lease: m.attempt(t)}}
	}
	reply, err := m.d.Heartbeat(m.ctx, h)
	m.must(err)
	x := m.of(l.ExecutionID)
	want := perdure.AgentHeartbeatReply{Lost: true}
	if x.holds(l) {
		want = perdure.AgentHeartbeatReply{CancelRequested: x.status == perdure.StatusCancelling, SignalsPending: len(x.pending) > 0}
		x.lease = m.now().Add(lease)
	}
	if reply.Agents[0] != want {
		m.Fatalf("the heartbeat is told %+v, the rules say %+v", reply.Agents[0], want)
	}
	for i, beat := range h.Tasks {
		x := m.of(beat.Lease.ExecutionID)
		held := x.tasks[beat.Lease.TaskID]
		if reply.Tasks[i].Lost == held.heldBy(beat.Lease) {
			m.Fatalf("the heartbeat is told %+v of an attempt that is held: %v", reply.Tasks[i], !reply.Tasks[i].Lost)
		}
		if held.heldBy(beat.Lease) {
			held.lease = m.now().Add(lease)
			x.tasks[beat.Lease.TaskID] = held
		}
	}
}

func (m *machine) release(t *rapid.T) {
	r := perdure.AgentRelease{Lease: m.claim(t)}
	if sometimes(t, "panic", 2) {
		r.Panic = "boom"
	}
	m.of(r.Lease.ExecutionID).release(r.Lease, r.Panic != "", m.now())
	m.must(m.d.Release(m.ctx, perdure.Release{Agents: []perdure.AgentRelease{r}}))
}

func (m *machine) releaseTask(t *rapid.T) {
	r := perdure.TaskRelease{Lease: m.attempt(t), Started: rapid.Bool().Draw(t, "started")}
	m.of(r.Lease.ExecutionID).releaseTask(r.Lease, r.Started, m.now())
	m.must(m.d.Release(m.ctx, perdure.Release{Tasks: []perdure.TaskRelease{r}}))
}

// timePasses advances the clock, sometimes until all leases have ended, and sweeps.
func (m *machine) timePasses(t *rapid.T) {
	m.clock.advance(one(t, "by", []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second, lease - time.Second, lease, time.Minute}))
	for _, x := range m.xs {
		x.sweep(m.now())
	}
	m.must(m.e.Sweep(m.ctx))
}

// compare compares all stored state with the reference model.
func (m *machine) compare() {
	m.Helper()
	m.clock.advance(time.Millisecond) // later events must have later times
	for _, x := range m.xs {
		m.compareExecution(x)
	}
	invariants.Check(m.tb, m.s)
}

func (m *machine) compareExecution(x *execution) {
	m.Helper()
	got, err := m.s.Execution(m.ctx, org, x.id)
	m.must(err)
	if got.Status != x.status || got.Fence != x.fence || got.ClaimID != x.claim || got.LastCommit != x.last || got.CheckpointSeq != x.checkpoint {
		m.Fatalf("the execution is %s, fence %d, claim %s, last commit %v, checkpoint %d; the rules say %s, %d, %s, %v, %d",
			got.Status, got.Fence, got.ClaimID, got.LastCommit, got.CheckpointSeq, x.status, x.fence, x.claim, x.last, x.checkpoint)
	}
	if got.Crashes != x.crashes || got.Panics != x.panics {
		m.Fatalf("%d crashes and %d panics are counted, the rules say %d and %d", got.Crashes, got.Panics, x.crashes, x.panics)
	}
	if x.status.Held() && !got.LeaseUntil.Equal(x.lease) {
		m.Fatalf("the lease lasts until %s, the rules say %s", got.LeaseUntil, x.lease)
	}
	pending, err := m.s.PendingSignals(m.ctx, x.id, nil, 0, 100)
	m.must(err)
	taken, err := m.s.TakenSignals(m.ctx, x.id)
	m.must(err)
	if !slices.Equal(ids(pending), x.pending) || !slices.Equal(ids(taken), x.taken) {
		m.Fatalf("the signals %v are pending and %v taken; the rules say %v and %v", ids(pending), ids(taken), x.pending, x.taken)
	}
	m.compareTasks(x)
	m.compareQuestions(x, got)
	m.comparePath(x, got)
	if x.checkpoint > 0 {
		c, err := m.s.Checkpoint(m.ctx, x.id, 0)
		m.must(err)
		if idOf(c.LeafEntryID) != x.checkpointLeaf {
			m.Fatalf("the checkpoint is at %v, the rules say %s", c.LeafEntryID, x.checkpointLeaf)
		}
	}
}

func (m *machine) compareTasks(x *execution) {
	m.Helper()
	page, err := m.s.ListTasks(m.ctx, x.id, true, "", 100)
	m.must(err)
	if len(page.Items) != len(x.tasks) {
		m.Fatalf("there are %d tasks, the rules say %d", len(page.Items), len(x.tasks))
	}
	for _, got := range page.Items {
		want := x.tasks[got.ID]
		if got.Status != want.status || got.Attempt != want.attempt || got.Step != want.step || got.Kind != want.kind {
			m.Fatalf("the task is %s at attempt %d of %s, the rules say %s, %d, %s", got.Status, got.Attempt, got.Kind, want.status, want.attempt, want.kind)
		}
		if left := got.Options.MaxAttempts - got.Tries(); !want.step && left != want.most+want.spared-want.attempt {
			m.Fatalf("the task has %d tries left, the rules say %d", left, want.most+want.spared-want.attempt)
		}
	}
}

// comparePath compares the entries of the conversation with the reference model. The stored
// conversation may have more entries at its end: results that the end of the execution has added for
// open tool calls.
func (m *machine) comparePath(x *execution, got *perdure.Execution) {
	m.Helper()
	if got.EntryCount != int64(len(x.entries)+x.closing) {
		m.Fatalf("there are %d entries, the rules say %d and %d that close calls", got.EntryCount, len(x.entries), x.closing)
	}
	if x.leaf == uuid.Nil {
		return
	}
	var path []uuid.UUID
	for e, err := range m.s.Path(m.ctx, x.id, *got.Leaf, nil, 0, true) {
		m.must(err)
		path = append(path, e.ID)
	}
	path = path[:len(path)-x.closing]
	at := x.leaf
	for _, id := range slices.Backward(path) {
		if id != at {
			m.Fatalf("%s is on the path where the rules have %s", id, at)
		}
		at = x.entries[at].parent
	}
	if at != uuid.Nil {
		m.Fatalf("the path begins below %s", at)
	}
}

func idOf(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}
