package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// A claim is durable before the server reads the data that the worker needs. If the data cannot be
// read, the server releases the claim. Otherwise no worker could claim the execution or task until
// the lease ended, and the end of the lease would count as a crash.

// readable calls the function `read` for each claim, to read the data of the claim, and returns the
// results. It leaves out claims whose data cannot be read. If none is left, it returns the last
// error of `read`.
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

// giveBackWithin is the time limit for releasing a claim that the worker does not get. If the release
// fails, the claim ends when its lease expires.
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

// heldClaim returns the claim of a task for the reply to a repeated commit, whose first reply
// contained that claim. It returns nil if the attempt has ended or its lease was lost: the task's code
// must then not start.
func (e *Engine) heldClaim(ctx context.Context, c rules.ClaimedTask) (*perdure.TaskClaim, error) {
	tasks, err := e.refs.Tasks(ctx, c.Lease.ExecutionID, []uuid.UUID{c.Lease.TaskID}, false)
	if err != nil || !rules.TaskHeldBy(tasks[0], c.Lease) {
		return nil, err
	}
	c.Task = tasks[0]
	claim, err := e.taskClaim(ctx, c)
	if err == nil {
		claim.LeaseFor = e.left(c.Task.LeaseUntil)
	}
	return claim, err
}

// left returns the time until the end of a lease, at least 0 and at most e.Lease.
func (e *Engine) left(until perdure.Time) time.Duration {
	return max(0, min(e.Lease, until.Sub(e.Store.Now().Time)))
}

// since returns how long a poll that began at the given time has waited, rounded down to
// waitedStep.
func since(began time.Time) time.Duration { return time.Since(began).Truncate(waitedStep) }

const waitedStep = 100 * time.Millisecond
