package commit

import (
	"time"

	"github.com/perdure/perdure/internal/store"
)

// Observed returns a runner that reports the batches that r has committed to the queue's observer.
// It returns r itself if there is no observer for batches.
func (q *Queue) Observed(r Runner) Runner {
	if q.Observer == nil || q.Observer.Batch == nil {
		return r
	}
	return observed{r, q.Observer}
}

type observed struct {
	Runner
	observer *store.Observer
}

// Attempt implements [Runner]. It does not report failed batches, because they run again.
func (o observed) Attempt(batch []*Call, careful bool) ([]Outcome, error) {
	began := time.Now()
	outcomes, err := o.Runner.Attempt(batch, careful)
	if err != nil {
		return outcomes, err
	}
	var commands [store.Lanes]int
	for i, c := range batch {
		if !outcomes[i].Missed {
			commands[c.Lane]++
		}
	}
	o.observer.Batch(commands, time.Since(began))
	return outcomes, nil
}
