package retention

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// sweepStepOfLinks is the maximum number of expired links that SweepLinks reads at once, and that
// one of its commands deletes.
const sweepStepOfLinks = 500

// SweepLinks deletes the links to questions that have expired. Every command that writes or deletes
// a link is a command on the link's execution. The lock of the execution therefore also protects
// its links.
func (p *Pruner) SweepLinks(ctx context.Context) error {
	for {
		expired, err := p.Store.ExpiredLinks(ctx, p.Store.Now(), sweepStepOfLinks)
		if err != nil {
			return err
		}
		swept := 0
		seen := map[uuid.UUID]bool{}
		for _, l := range expired {
			if seen[l.ExecutionID] {
				continue
			}
			seen[l.ExecutionID] = true
			done, err := p.sweepLinksOf(ctx, l)
			if err != nil {
				return err
			}
			swept += done
		}
		if swept == 0 || len(expired) < sweepStepOfLinks {
			return nil
		}
	}
}

// sweepLinksOf deletes the expired links of the execution of l. It returns the number of executions
// that the command has changed: 0 if the execution is being deleted.
func (p *Pruner) sweepLinksOf(ctx context.Context, l *perdure.QuestionLink) (int, error) {
	done, err := p.Do(ctx, store.Command{
		Name: "sweep links", Lane: store.LaneSweeps, Frees: true, Org: l.Org, Execution: l.ExecutionID,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.SweepLinks(s, sweepStepOfLinks) },
	})
	return len(done), err
}
