package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// inlineSignals is the approximate number of bytes of signals that a claim carries.
const inlineSignals = 1 << 20

// claimAgents claims up to p.Slots pending executions. It waits up to p.Wait until there is one.
func (e *Engine) claimAgents(ctx context.Context, org string, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if err := checkPoll(&p); err != nil {
		return nil, err
	}
	if p.Local && p.WorkerID == uuid.Nil {
		return nil, perdure.FieldErrorf("workerId", "is missing; a worker that keeps contents has an id that stays")
	}
	o := e.parked.opens(org, p)
	defer e.parked.closes(o)
	topics := topicsOf(org, p, notify.Agents)
	return e.untilClaimed(ctx, o, topics, func(ctx context.Context) ([]perdure.AgentClaim, time.Duration, error) {
		if !e.claims(ctx, org) {
			return nil, orgTTL, nil
		}
		waited := since(o.began)
		request, first := uuid.New(), e.parked.firstClaims(e, p.WorkerID)
		decisions, err := e.do(ctx, store.Command{
			Name: "claim agents", Lane: store.LaneClaims, Org: org,
			Pick: &store.Pick{
				Kind: store.PickAgents, Queues: p.Queues, Kinds: p.Kinds, Limit: p.Slots, Worker: p.WorkerID, Home: homeOf(p),
				AloneOnly: e.alone.drains(p.WorkerID, e.Store.Now()), Skip: first.skip,
			},
			Decide: func(s *store.State) (*store.Changes, error) { return e.decideClaim(s, p, request) },
		})
		if err != nil {
			return nil, 0, err
		}
		claimed, waits := sortClaims(decisions)
		e.alone.polled(p.WorkerID, claimed, waits, e.Store.Now())
		claims, err := readable(claimed, func(x *perdure.Execution) (*perdure.AgentClaim, error) {
			claim, err := e.claimOf(ctx, &woken{execution: *x, kept: e.parked.claimed(x.ID, p.WorkerID), waited: waited, ended: p.Ended})
			if err != nil {
				e.giveBack(ctx, org, agentBack(p.WorkerID, perdure.Lease{ExecutionID: x.ID, Fence: x.Fence, ClaimID: x.ClaimID}))
			}
			return claim, err
		})
		return claims, first.over(), err
	})
}

// sortClaims separates the claims from the answer that an execution waits to be alone.
func sortClaims(decisions []*decided) (claimed []*perdure.Execution, waits *aloneWait) {
	for _, d := range decisions {
		switch v := d.value.(type) {
		case *perdure.Execution:
			claimed = append(claimed, v)
		case aloneWait:
			waits = &v
		}
	}
	return claimed, waits
}

func (e *Engine) decideClaim(s *store.State, p perdure.Poll, request uuid.UUID) (*store.Changes, error) {
	x := s.Execution
	if x == nil || x.Status != perdure.StatusPending || !x.NotBefore.Reached(s.Now) || s.Holds.Alone || !mayClaim(x, p.WorkerID, p.Local) {
		return nil, nil
	}
	if mustBeAlone(x) && s.Holds.Executions {
		return answerOf(aloneWait{execution: x.ID, since: later(x.ReadyAt, x.NotBefore)}), nil
	}
	d := begin(s)
	d.settle(p.WorkerID)
	d.claimFor(p.WorkerID, derive(request, x.ID.String()), p.Embedded, s.Now.Add(e.Lease))
	changes := d.done(nil)
	claimed := *d.x
	changes.Answer.(*decided).value = &claimed
	return changes, nil
}

// agentClaim reads the data that a worker needs to resume an execution. Its cost does not depend on
// the length of the conversation, because it does not read the path of entries.
func (e *Engine) agentClaim(ctx context.Context, claimed *perdure.Execution, ended bool) (claim *perdure.AgentClaim, err error) {
	err = e.refs.Together(ctx, func(refs store.Reader) error {
		claim, err = e.claimRead(ctx, refs, claimed)
		if err == nil && ended {
			claim.Ended, err = firstEnded(ctx, refs, claimed, claim.Checkpoint)
		}
		return err
	})
	return claim, err
}

// claimRead is agentClaim with all reads from one snapshot.
func (e *Engine) claimRead(ctx context.Context, refs store.Reader, claimed *perdure.Execution) (*perdure.AgentClaim, error) {
	x, err := refs.Execution(ctx, claimed.Org, claimed.ID)
	if err != nil {
		return nil, err
	}
	claim := e.claimFor(claimed)
	claim.Execution = x
	if x.CheckpointSeq > 0 {
		if claim.Checkpoint, err = refs.Checkpoint(ctx, x.ID, 0); err != nil {
			return nil, err
		}
	}
	if claim.Again, err = refs.TakenSignals(ctx, x.ID); err != nil {
		return nil, err
	}
	if claim.Results, err = tasksOf(ctx, refs, x.ID, waitedFor(claimed)); err != nil {
		return nil, err
	}
	claim.SignalsTo = x.NextSignal
	return claim, laterSignals(ctx, refs, claim, 0)
}

func tasksOf(ctx context.Context, refs store.Reader, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := refs.Tasks(ctx, execution, ids, false)
	if err != nil {
		return nil, err
	}
	var tasks []*perdure.Task
	for _, t := range found {
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// pendingSignals returns the oldest pending signals after an order, up to about a mebibyte, and
// reports whether there are more.
func pendingSignals(ctx context.Context, refs store.Reader, execution uuid.UUID, patterns []string, after int64) ([]perdure.Signal, bool, error) {
	const most = 200
	signals, err := refs.PendingSignals(ctx, execution, patterns, after, most+1)
	if err != nil {
		return nil, false, err
	}
	size := 0
	for i, s := range signals {
		if size += int(perdure.Payload{Bytes: s.Value, Blob: s.Blob}.Size()); i > 0 && (size > inlineSignals || i == most) {
			return signals[:i], true, nil
		}
	}
	return signals, false, nil
}

// claimTasks claims up to p.Slots pending tasks. It waits up to p.Wait until there is one.
func (e *Engine) claimTasks(ctx context.Context, org string, p perdure.Poll) ([]perdure.TaskClaim, error) {
	if err := checkPoll(&p); err != nil {
		return nil, err
	}
	topics := append(topicsOf(org, p, notify.Tasks), notify.Freed(org))
	began := time.Now()
	return poll(ctx, e, p, topics, nil, func(ctx context.Context) ([]perdure.TaskClaim, time.Duration, error) {
		if !e.claims(ctx, org) {
			return nil, orgTTL, nil
		}
		request, waited := uuid.New(), since(began)
		decisions, err := e.do(ctx, store.Command{
			Name: "claim tasks", Lane: store.LaneClaims, Org: org,
			Pick:   &store.Pick{Kind: store.PickTasks, Queues: p.Queues, Kinds: p.Kinds, Limit: p.Slots, QueueLimits: e.QueueLimits},
			Decide: func(s *store.State) (*store.Changes, error) { return e.decideTaskClaim(s, p, request) },
		})
		if err != nil {
			return nil, 0, err
		}
		claims, err := readable(decisions, func(d *decided) (*perdure.TaskClaim, error) {
			c := d.value.(claimedTask)
			claim, err := e.taskClaim(ctx, c)
			if err != nil {
				e.giveBack(ctx, org, taskBack(p.WorkerID, c.Lease))
				return nil, err
			}
			claim.Waited = waited
			return claim, nil
		})
		return claims, 0, err
	})
}

// claimedTask is a claim of a task, with the data of the execution that its worker needs.
type claimedTask struct {
	Lease       perdure.TaskLease
	Workspace   string
	Traceparent string
	// task is set if the same decision created and claimed the task; it then equals the stored row.
	// Otherwise, and in a repeated answer, it is nil.
	task *perdure.Task
}

func (e *Engine) decideTaskClaim(s *store.State, p perdure.Poll, request uuid.UUID) (*store.Changes, error) {
	if s.PickedTask == nil || s.Execution == nil || s.Execution.Status.Terminal() {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil || t.Status != perdure.TaskPending || !t.NotBefore.Reached(s.Now) || !e.fits(s, t) {
		return nil, nil
	}
	d := begin(s)
	return d.done(d.claimTask(t, p.WorkerID, derive(request, t.ID.String()), p.Embedded, s.Now.Add(e.Lease))), nil
}

// claimTask assigns a pending task to a worker as its next attempt.
func (d *draft) claimTask(t *perdure.Task, worker, claim uuid.UUID, embedded bool, lease perdure.Time) claimedTask {
	queue, waited := t.Queue, d.s.Now.Sub(later(t.CreatedAt, t.NotBefore).Time)
	d.observe(func(o Observer) { o.Claimed(WorkTask, queue, waited) })
	t.Status, t.WorkerID, t.ClaimID, t.LeaseUntil = perdure.TaskRunning, &worker, claim, lease
	t.Embedded = embedded
	t.Attempt++
	t.Progress = nil
	t.AttemptAt, t.SignAt = d.s.Now, d.s.Now
	if t.StartedAt == nil {
		now := d.s.Now
		t.StartedAt = &now
	}
	d.task(t)
	d.taskEvent(perdure.EventTaskStarted, t, nil)
	return claimedTask{
		Lease:     perdure.TaskLease{ExecutionID: d.x.ID, TaskID: t.ID, Attempt: t.Attempt, ClaimID: claim},
		Workspace: d.x.Workspace, Traceparent: d.x.Traceparent,
	}
}

func (e *Engine) taskClaim(ctx context.Context, c claimedTask) (*perdure.TaskClaim, error) {
	t := c.task
	if t == nil {
		tasks, err := e.refs.Tasks(ctx, c.Lease.ExecutionID, []uuid.UUID{c.Lease.TaskID}, false)
		if err != nil {
			return nil, err
		}
		if t = tasks[0]; t == nil {
			return nil, perdure.Errorf(perdure.NotFound, "task %s is gone", c.Lease.TaskID)
		}
	}
	t.Attempt, t.ClaimID = c.Lease.Attempt, c.Lease.ClaimID
	return &perdure.TaskClaim{
		Lease: c.Lease, LeaseFor: e.Lease, Task: t, Workspace: c.Workspace, Traceparent: c.Traceparent,
	}, nil
}

// checkPoll checks a poll before anything is read, and bounds the number of its claims.
func checkPoll(p *perdure.Poll) error {
	if err := p.Check(); err != nil {
		return err
	}
	p.Slots = min(p.Slots, perdure.MaxPollSlots)
	return checkTexts("", *p)
}

func topicsOf(org string, p perdure.Poll, topic func(org, queue string) string) []string {
	topics := []string{notify.Recheck}
	for _, queue := range p.Queues {
		topics = append(topics, topic(org, queue))
	}
	return topics
}

// poll tries to claim until it has a claim, p.Wait is over or ctx ends. It subscribes before the
// first try, so that it misses no hint. A try may return the time after which another try is
// useful; 0 means unknown. poll tries again, too, when it receives from other.
func poll[T any](ctx context.Context, e *Engine, p perdure.Poll, topics []string, other <-chan struct{}, try func(context.Context) ([]T, time.Duration, error)) ([]T, error) {
	hints, unsubscribe := e.Hints.Subscribe(topics...)
	defer unsubscribe()
	over := time.NewTimer(p.Wait)
	defer over.Stop()
	tick := time.NewTicker(e.Tick)
	defer tick.Stop()
	for {
		// A claim in progress is not cancelled: its answer would be lost, and the claim with it
		// until the lease ends.
		claims, soon, err := try(context.WithoutCancel(ctx))
		if err != nil || len(claims) > 0 {
			return claims, err
		}
		var again <-chan time.Time
		if soon > 0 {
			again = time.After(soon)
		}
		select {
		case <-hints:
		case <-other:
		case <-again:
		case <-tick.C:
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}
