package commit

import (
	"time"

	"github.com/perdure/perdure/internal/store"
)

// observed wraps the runner r so that the queue's observer gets the batches that r commits. It
// returns r itself if the observer does not observe batches.
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

// Attempt implements [Runner]. It reports only committed batches, because a failed batch runs again.
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
