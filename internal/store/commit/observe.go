package commit

import (
	"time"

	"github.com/perdure/perdure/internal/store"
)

// observed wraps a Runner so that the queue's observer gets the committed batches. If the observer
// has no function Batch, observed returns the Runner itself.
func (q *Queue) observed(r Runner) Runner {
	if q.Observer == nil || q.Observer.Batch == nil {
		return r
	}
	return observing{r, q.Observer}
}

type observing struct {
	Runner
	observer *store.Observer
}

// Attempt implements [Runner]. It reports only committed batches, because parts of a failed batch
// run again.
func (o observing) Attempt(batch []*Call, careful bool) ([]Outcome, error) {
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
