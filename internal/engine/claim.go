package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// claimAgents claims pending executions, at most p.Slots. If there are none, it waits for one, for
// at most p.Wait.
func (e *Engine) claimAgents(ctx context.Context, org string, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if err := checkPoll(&p); err != nil {
		return nil, err
	}
	if p.Local && p.WorkerID == uuid.Nil {
		return nil, perdure.FieldErrorf("workerId", "is missing; a worker that keeps contents has an id that stays")
	}
	o := e.keepers.Open(org, p)
	defer e.keepers.Close(o)
	topics := topicsOf(org, p, notify.Agents)
	return e.untilClaimed(ctx, o, topics, func(ctx context.Context) ([]perdure.AgentClaim, time.Duration, error) {
		if !e.Claims(ctx, org) {
			return nil, tenants.OrgTTL, nil
		}
		queues, err := e.openQueues(ctx, org, p.Queues)
		if err != nil || len(queues) == 0 {
			return nil, 0, err
		}
		waited := since(o.Began)
		request, first := uuid.New(), e.keepers.FirstClaims(p.WorkerID)
		decisions, err := e.do(ctx, store.Command{
			Name: "claim agents", Lane: store.LaneClaims, Org: org,
			Pick: &store.Pick{
				Kind: store.PickAgents, Queues: queues, Kinds: p.Kinds, Limit: p.Slots, Worker: p.WorkerID, Home: homeOf(p), Features: p.Features,
				AloneOnly: e.drains.Draining(p.WorkerID, e.Store.Now()), Skip: first.Skip,
			},
			Decide: func(s *store.State) (*store.Changes, error) { return rules.Claim(s, e.rules(), p, request) },
		})
		if err != nil {
			return nil, 0, err
		}
		claimed, waits := sortClaims(decisions)
		e.drains.Polled(p.WorkerID, claimed, waits, e.Store.Now())
		claims, err := readable(claimed, func(x *perdure.Execution) (*perdure.AgentClaim, error) {
			claim, err := e.claimOf(ctx, &rules.Woken{Execution: *x, Kept: e.keepers.Claimed(x.ID, p.WorkerID), Waited: waited, Ended: p.Ended})
			if err != nil {
				e.giveBack(ctx, org, agentBack(p.WorkerID, perdure.Lease{ExecutionID: x.ID, Fence: x.Fence, ClaimID: x.ClaimID}))
			}
			return claim, err
		})
		return claims, first.Over(), err
	})
}

// sortClaims returns the executions that were claimed, and the AloneWait among the decisions, or
// nil. An AloneWait stands for an execution that was not claimed: it must run alone on its worker,
// but the worker that polls has other executions.
func sortClaims(decisions []*rules.Decision) (claimed []*perdure.Execution, waits *rules.AloneWait) {
	for _, d := range decisions {
		switch v := d.Value.(type) {
		case *perdure.Execution:
			claimed = append(claimed, v)
		case rules.AloneWait:
			waits = &v
		}
	}
	return claimed, waits
}

// claimTasks claims pending tasks, at most p.Slots. If there are none, it waits for one, for at
// most p.Wait.
func (e *Engine) claimTasks(ctx context.Context, org string, p perdure.Poll) ([]perdure.TaskClaim, error) {
	if err := checkPoll(&p); err != nil {
		return nil, err
	}
	topics := append(topicsOf(org, p, notify.Tasks), notify.Freed(org))
	began := time.Now()
	return poll(ctx, e, p, topics, nil, func(ctx context.Context) ([]perdure.TaskClaim, time.Duration, error) {
		if !e.Claims(ctx, org) {
			return nil, tenants.OrgTTL, nil
		}
		queues, err := e.openQueues(ctx, org, p.Queues)
		if err != nil || len(queues) == 0 {
			return nil, 0, err
		}
		request, waited := uuid.New(), since(began)
		decisions, err := e.do(ctx, store.Command{
			Name: "claim tasks", Lane: store.LaneClaims, Org: org,
			Pick:   &store.Pick{Kind: store.PickTasks, Queues: queues, Kinds: p.Kinds, Limit: p.Slots, QueueLimits: e.QueueLimits, Features: p.Features},
			Decide: func(s *store.State) (*store.Changes, error) { return rules.ClaimTask(s, e.rules(), p, request) },
		})
		if err != nil {
			return nil, 0, err
		}
		claims, err := readable(decisions, func(d *rules.Decision) (*perdure.TaskClaim, error) {
			c := d.Value.(rules.ClaimedTask)
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

func (e *Engine) taskClaim(ctx context.Context, c rules.ClaimedTask) (*perdure.TaskClaim, error) {
	t := c.Task
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

// checkPoll checks a poll before anything is read, and limits the number of its claims.
func checkPoll(p *perdure.Poll) error {
	if err := p.Check(); err != nil {
		return err
	}
	p.Slots = min(p.Slots, perdure.MaxPollSlots)
	return validate.Texts("", *p)
}

func topicsOf(org string, p perdure.Poll, topic func(org, queue string) string) []string {
	topics := []string{notify.Recheck}
	for _, queue := range p.Queues {
		topics = append(topics, topic(org, queue))
	}
	return topics
}

// poll calls the function `try` until `try` returns a claim, p.Wait is over or ctx ends. It calls
// `try` at once, and then at each hint, at each value from the channel `other`, at each tick, and
// after the time that the last call of `try` has returned (0 means unknown). poll subscribes to the
// topics before the first call, so that it misses no hint.
func poll[T any](ctx context.Context, e *Engine, p perdure.Poll, topics []string, other <-chan struct{}, try func(context.Context) ([]T, time.Duration, error)) ([]T, error) {
	hints, unsubscribe := e.Hints.Subscribe(topics...)
	defer unsubscribe()
	over := time.NewTimer(p.Wait)
	defer over.Stop()
	tick := time.NewTicker(e.Tick)
	defer tick.Stop()
	for {
		// A call of `try` is not cancelled with ctx. Otherwise its claims would be lost, and no
		// other poll could claim the same executions or tasks until their leases ended.
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

// homeOf returns the id of the polling worker if the worker can run LOCAL executions, nil
// otherwise.
func homeOf(p perdure.Poll) *uuid.UUID {
	if !p.Local {
		return nil
	}
	return &p.WorkerID
}
