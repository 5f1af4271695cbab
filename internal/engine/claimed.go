package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// What is claimed is durable before what it needs is read. A claim that cannot
// be read is given back: until its lease had run out nobody else could have it,
// and that would count as a crash.

// readable returns those of the claims that could be read; the error, where there
// are none.
func readable[C, T any](claimed []C, read func(C) (*T, error)) (claims []T, err error) {
	for _, c := range claimed {
		claim, failed := read(c)
		if failed != nil {
			err = failed
			continue
		}
		claims = append(claims, *claim)
	}
	if len(claims) > 0 {
		err = nil
	}
	return claims, err
}

// giveBackWithin bounds how long a claim is tried to be given back. If that
// fails, too, it comes back with the end of its lease.
const giveBackWithin = 5 * time.Second

func (e *Engine) giveBack(ctx context.Context, org string, r perdure.Release) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
	defer cancel()
	if err := e.release(ctx, org, r); err != nil {
		e.Logger.Warn("a claim that cannot be read could not be given back", "worker", r.WorkerID, "error", err)
	}
}

func agentBack(worker uuid.UUID, l perdure.Lease) perdure.Release {
	return perdure.Release{WorkerID: worker, Agents: []perdure.AgentRelease{{Lease: l}}}
}

func taskBack(worker uuid.UUID, l perdure.TaskLease) perdure.Release {
	return perdure.Release{WorkerID: worker, Tasks: []perdure.TaskRelease{{Lease: l}}}
}

// heldClaim is taskClaim for an answer that is given again: nil if the attempt
// has ended or was lost meanwhile, since its code must not begin any more.
func (e *Engine) heldClaim(ctx context.Context, c claimedTask) (*perdure.TaskClaim, error) {
	tasks, err := e.refs.Tasks(ctx, c.Lease.ExecutionID, []uuid.UUID{c.Lease.TaskID}, false)
	if err != nil || !taskHeldBy(tasks[0], c.Lease) {
		return nil, err
	}
	c.task = tasks[0]
	claim, err := e.taskClaim(ctx, c)
	if err == nil {
		claim.LeaseFor = e.left(c.task.LeaseUntil)
	}
	return claim, err
}

// left is how long a lease lasts from now on.
func (e *Engine) left(until perdure.Time) time.Duration {
	return max(0, min(e.Lease, until.Sub(e.Store.Now().Time)))
}

// since is how long a poll has waited, a little less rather than more.
func since(began time.Time) time.Duration { return time.Since(began).Truncate(waitedStep) }

const waitedStep = 100 * time.Millisecond
