package engine

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// release ends the leases that a worker returns. It ignores leases that are no longer valid.
func (e *Engine) release(ctx context.Context, org string, r perdure.Release) error {
	if len(r.Discarded) > 0 {
		e.keepers.Discarded(r.WorkerID, r.Discarded)
		e.Hints.Publish(notify.Recheck)
	}
	for _, a := range r.Agents {
		_, err := e.do(ctx, store.Command{
			Name: "release", Lane: store.LaneCommits, Org: org, Execution: a.Lease.ExecutionID, Needs: rules.EndNeeds,
			Decide: func(s *store.State) (*store.Changes, error) { return rules.Release(s, a) },
		})
		if err != nil {
			return err
		}
	}
	for _, t := range r.Tasks {
		_, err := e.do(ctx, store.Command{
			Name: "release task", Lane: store.LaneCommits, Org: org, Execution: t.Lease.ExecutionID,
			Needs:  func(*perdure.Execution) store.Needs { return rules.TaskReturnNeeds(t.Lease.TaskID) },
			Decide: func(s *store.State) (*store.Changes, error) { return rules.ReleaseTask(s, t) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// returnEmbedded ends the leases of workers that ran inside an earlier server process on the data
// directory. The caller has the directory's lock, so that process has ended.
func (e *Engine) returnEmbedded(ctx context.Context) error {
	for {
		decisions, err := e.do(ctx, store.Command{
			Name: "return embedded", Lane: store.LaneClaims, Frees: true, Pick: &store.Pick{Kind: store.PickEmbedded},
			Needs:  rules.EmbeddedNeeds,
			Decide: rules.ReturnEmbedded,
		})
		if err != nil || len(decisions) == 0 {
			return err
		}
	}
}
