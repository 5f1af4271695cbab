package grpcapi

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// waitFor calls the function `poll`, which waits for claims. When the server begins to stop,
// waitFor ends this wait, and returns no error even if the poll has found no claims.
func waitFor[T any](ctx context.Context, draining <-chan struct{}, p perdure.Poll, poll func(context.Context, perdure.Poll) ([]T, error)) ([]T, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-draining:
			cancel()
		case <-waiting.Done():
		}
	}()
	claims, err := poll(waiting, p)
	over := waiting.Err() != nil && ctx.Err() == nil
	cancel()
	<-stopped
	if over && len(claims) == 0 {
		return nil, nil
	}
	return claims, err
}

// giveBack releases claims that cannot be sent to the worker, so that their leases end at once. If
// that fails, the leases expire. giveBack returns the parameter `reason`, which is the error of the
// call.
func giveBack(ctx context.Context, c caller, reason error, r perdure.Release) error {
	if len(r.Agents)+len(r.Tasks) == 0 {
		return reason
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = c.Release(ctx, r)
	return reason
}

func agentReleases(p perdure.Poll, claims []perdure.AgentClaim) perdure.Release {
	r := perdure.Release{WorkerID: p.WorkerID}
	for _, claim := range claims {
		r.Agents = append(r.Agents, perdure.AgentRelease{Lease: claim.Lease})
	}
	return r
}

func taskReleases(p perdure.Poll, claims []perdure.TaskClaim) perdure.Release {
	r := perdure.Release{WorkerID: p.WorkerID}
	for _, claim := range claims {
		r.Tasks = append(r.Tasks, perdure.TaskRelease{Lease: claim.Lease})
	}
	return r
}
