package commit

import (
	"time"

	"github.com/perdure/perdure/internal/store"
)

// Observed returns a runner that tells the queue's observer of the batches that r
// has committed; r itself where nobody wants to know.
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

// Attempt implements Runner. What failed is not told of: it runs again.
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
